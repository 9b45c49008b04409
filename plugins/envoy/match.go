package envoy

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// istioProxy is Istio's sidecar, which starts Envoy by itself.
const istioProxy = "istio-proxy"

// Match gives the container that runs Envoy: one whose command is envoy, or whose
// image is Envoy's own and starts it unless told otherwise. Native sidecars (init
// containers that are restarted always) count.
func (Adapter) Match(pod *corev1.Pod) (string, bool) {
	c, _ := container(pod)
	if c == nil {
		return "", false
	}
	return c.Name, true
}

// Sidecar says whether Envoy stands in front of the app: it does as a native
// sidecar, and beside a container that other pods are meant to reach. Beside helpers
// of its own (a gateway's shutdown manager) it is the server itself.
func (Adapter) Sidecar(pod *corev1.Pod) bool {
	c, native := container(pod)
	if c == nil {
		return false
	}
	if native {
		return true
	}
	for i := range pod.Spec.Containers {
		other := &pod.Spec.Containers[i]
		if other.Name == c.Name || strings.Contains(other.Name, "shutdown-manager") {
			continue
		}
		if len(other.Ports) > 0 {
			return true
		}
	}
	return false
}

// container finds Envoy's; native says that it is a native sidecar.
func container(pod *corev1.Pod) (found *corev1.Container, native bool) {
	if pod == nil {
		return nil, false
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; runsEnvoy(c) {
			return c, false
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if runsEnvoy(c) && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			return c, true
		}
	}
	return nil, false
}

// runsEnvoy looks at what the container starts. Where it names nothing itself, its
// image decides.
func runsEnvoy(c *corev1.Container) bool {
	if c.Name == istioProxy {
		return false
	}
	line := commandLine(c)
	if len(line) > 0 && !strings.HasPrefix(line[0], "-") {
		return path.Base(line[0]) == "envoy"
	}
	return len(c.Command) == 0 && isEnvoyImage(c.Image)
}

// commandLine is what is started, with the arguments. A shell that is handed a
// simple line is looked into; what it does beyond words is not understood, and then
// the words are not Envoy's either.
func commandLine(c *corev1.Container) []string {
	line := slices.Concat(c.Command, c.Args)
	if len(line) >= 3 && isShell(line[0]) && strings.HasPrefix(line[1], "-") && strings.HasSuffix(line[1], "c") {
		line = strings.Fields(line[2])
		for len(line) > 0 && (line[0] == "exec" || strings.Contains(line[0], "=") && !strings.HasPrefix(line[0], "-")) {
			line = line[1:]
		}
	}
	return line
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash"}, path.Base(name))
}

// isEnvoyImage takes the images whose entry point is Envoy. A control plane's
// (envoyproxy/gateway, envoyproxy/ratelimit) is none.
func isEnvoyImage(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	name = path.Base(name)
	name, _, _ = strings.Cut(name, ":")
	return slices.Contains([]string{
		"envoy", "envoy-dev", "envoy-debug", "envoy-debug-dev", "envoy-contrib", "envoy-contrib-dev", "envoy-contrib-debug",
		"envoy-distroless", "envoy-distroless-dev", "envoy-alpine", "envoy-google-vrp", "aws-appmesh-envoy",
	}, name)
}
