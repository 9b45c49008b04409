package linkerd

import corev1 "k8s.io/api/core/v1"

// containerName is what the injector calls the proxy, and what every tool of
// Linkerd looks for.
const containerName = "linkerd-proxy"

// Match gives the proxy's container: one called linkerd-proxy among the
// containers, or a native sidecar of that name (an init container that is
// restarted always; the default since Linkerd 2.20). An init container of that
// name which runs to its end is not a proxy. A pod that only carries the
// annotation linkerd.io/inject is not injected yet, and does not match.
func (Adapter) Match(pod *corev1.Pod) (string, bool) {
	if proxyContainer(pod) == nil {
		return "", false
	}
	return containerName, true
}

// Sidecar is always true: the proxy stands in front of the app's own server.
func (Adapter) Sidecar(*corev1.Pod) bool { return true }

func proxyContainer(pod *corev1.Pod) *corev1.Container {
	if pod == nil {
		return nil
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == containerName {
			return c
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == containerName && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return c
		}
	}
	return nil
}
