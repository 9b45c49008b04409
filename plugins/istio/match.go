package istio

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// containerName is what the injector calls the proxy, in sidecars and gateways.
const containerName = "istio-proxy"

// Match gives the proxy's container: one called istio-proxy among the containers, or
// a native sidecar of that name (an init container that is restarted always). The
// node proxy of the ambient mode has a container of that name too, but is no Envoy.
func (Adapter) Match(pod *corev1.Pod) (string, bool) {
	if c, _ := container(pod); c == nil {
		return "", false
	}
	return containerName, true
}

// Sidecar is true wherever there is somebody to stand in front of: in a gateway's
// pod the proxy is alone, and the server itself.
func (Adapter) Sidecar(pod *corev1.Pod) bool {
	c, native := container(pod)
	return c != nil && (native || len(pod.Spec.Containers) > 1)
}

func container(pod *corev1.Pod) (found *corev1.Container, native bool) {
	if pod == nil {
		return nil, false
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == containerName && !isZtunnel(c) {
			return c, false
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == containerName && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return c, true
		}
	}
	return nil, false
}

func isZtunnel(c *corev1.Container) bool {
	name, _, _ := strings.Cut(path.Base(c.Image), ":")
	return name == "ztunnel" || slices.Contains(c.Args, "ztunnel")
}
