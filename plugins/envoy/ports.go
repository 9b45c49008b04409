package envoy

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// AnnotationAdminPort names Envoy's admin port where its bootstrap lies in a file.
const AnnotationAdminPort = "kubectl-backlog.io/envoy-admin-port"

// usualAdmin is the port that Envoy's own images and examples give the admin
// listener.
const usualAdmin = 9901

// Admin tells where Envoy's admin port is: from the bootstrap where that stands in
// the spec, from the annotation, from the container's declared ports, else the usual
// one, which is then a guess.
func (Adapter) Admin(pod *corev1.Pod) model.Endpoint {
	c, _ := container(pod)
	if c == nil {
		return model.Endpoint{}
	}
	port, why := adminPort(pod, c)
	return model.Endpoint{Port: port, Metrics: "/stats/prometheus", Ready: "/ready", Why: why}
}

func adminPort(pod *corev1.Pod, c *corev1.Container) (port uint16, why string) {
	args := readArguments(c)
	if args.inline.AdminPort != 0 {
		return args.inline.AdminPort, ""
	}
	if text, ok := pod.Annotations[AnnotationAdminPort]; ok {
		if n, err := strconv.ParseUint(text, 10, 16); err == nil && n > 0 {
			return uint16(n), ""
		}
		return 0, "annotation " + AnnotationAdminPort + " is " + quote(text) + ", which is no port"
	}
	if args.hasInline && args.inlineErr == nil && !args.file {
		return 0, "Envoy's bootstrap (--config-yaml) has no admin listener on TCP, so nothing tells how busy its workers are"
	}
	for _, p := range c.Ports {
		if strings.Contains(p.Name, "admin") && isPort(p.ContainerPort) {
			return uint16(p.ContainerPort), ""
		}
	}
	for _, p := range c.Ports {
		// What Envoy, Istio and Envoy Gateway call their admin port.
		if p.ContainerPort == usualAdmin || p.ContainerPort == 15000 || p.ContainerPort == 19000 {
			return uint16(p.ContainerPort), ""
		}
	}
	return usualAdmin, strconv.Itoa(usualAdmin) + " is a guess, since Envoy's bootstrap does not stand in the pod's spec; " +
		"annotation " + AnnotationAdminPort + " on the pod names the port"
}

func isPort(n int32) bool { return n > 0 && n < 1<<16 }

// Roles tells what Envoy's own ports are for: the admin port, and listeners whose
// direction the bootstrap in the spec tells. Others keep the app's role: without a
// sidecar, Envoy is the server.
func (Adapter) Roles(pod *corev1.Pod) map[uint16]model.Role {
	c, _ := container(pod)
	if c == nil {
		return nil
	}
	roles := make(map[uint16]model.Role)
	for _, l := range readArguments(c).inline.Listeners {
		if l.Role != "" {
			roles[l.Port] = l.Role
		}
	}
	// A guess is no reason to take a port away from the app.
	if port, why := adminPort(pod, c); port != 0 && why == "" {
		roles[port] = model.RoleAdmin
	}
	return roles
}
