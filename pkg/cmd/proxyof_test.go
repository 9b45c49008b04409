package cmd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// What decides on the selection, on the default target and on notes is a proxy in
// front of the app's server, and not that some adapter knows the server.
func TestProxyOfIsASidecar(t *testing.T) {
	app := corev1.Container{Name: "app", Image: "app", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}
	for name, c := range map[string]struct {
		containers []corev1.Container
		want       string
	}{
		"Linkerd's":         {[]corev1.Container{app, {Name: "linkerd-proxy", Image: "cr.l5d.io/linkerd/proxy:edge-26.1.1"}}, "linkerd-proxy"},
		"Envoy beside":      {[]corev1.Container{app, {Name: "envoy", Image: "envoyproxy/envoy:v1.36.0"}}, "envoy"},
		"Envoy alone":       {[]corev1.Container{{Name: "envoy", Image: "envoyproxy/envoy:v1.36.0"}}, ""},
		"nginx":             {[]corev1.Container{app, {Name: "web", Image: "nginx"}}, ""},
		"an unknown server": {[]corev1.Container{app}, ""},
		"nothing":           {nil, ""},
	} {
		if got := proxyOf(plugins.All(), &corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
