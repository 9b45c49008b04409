package nginx

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}
}

func TestMatch(t *testing.T) {
	for name, c := range map[string]struct {
		container corev1.Container
		want      bool
	}{
		"the official image":        {corev1.Container{Image: "nginx"}, true},
		"with a tag":                {corev1.Container{Image: "docker.io/library/nginx:1.29-alpine"}, true},
		"from a registry with port": {corev1.Container{Image: "localhost:5000/nginx"}, true},
		"with a digest":             {corev1.Container{Image: "nginxinc/nginx-unprivileged:1@sha256:abc"}, true},
		"openresty":                 {corev1.Container{Image: "openresty/openresty:alpine"}, true},
		"flags alone":               {corev1.Container{Image: "nginx", Args: []string{"-g", "daemon off;"}}, true},
		"arguments name it":         {corev1.Container{Image: "nginx", Args: []string{"nginx", "-g", "daemon off;"}}, true},
		"arguments name another":    {corev1.Container{Image: "nginx", Args: []string{"sleep", "1d"}}, false},
		"command":                   {corev1.Container{Image: "example.com/web:1", Command: []string{"/usr/sbin/nginx", "-g", "daemon off;"}}, true},
		"command is another":        {corev1.Container{Image: "nginx", Command: []string{"sleep", "1d"}}, false},
		"through a shell":           {corev1.Container{Image: "web", Command: []string{"sh", "-c", "envsubst </a >/b && exec nginx -g 'daemon off;'"}}, true},
		"a shell that talks of it":  {corev1.Container{Image: "web", Command: []string{"sh", "-c", "tail -f /var/log/nginx/access.log"}}, false},
		"behind an init":            {corev1.Container{Image: "web", Command: []string{"/usr/bin/dumb-init", "--", "nginx"}}, true},
		"ingress-nginx": {corev1.Container{
			Image: "registry.k8s.io/ingress-nginx/controller:v1.11.2@sha256:d56f", Args: []string{"/nginx-ingress-controller", "--election-id=x"},
		}, true},
		"ingress-nginx, flags alone": {corev1.Container{Image: "mirror.example/ingress-nginx/controller:v1", Args: []string{"--election-id=x"}}, true},
		"its exporter":               {corev1.Container{Image: "nginx/nginx-prometheus-exporter:1"}, false},
		"another controller":         {corev1.Container{Image: "example.com/controller:v1"}, false},
		"another server":             {corev1.Container{Image: "redis:7"}, false},
		"no image and empty words":   {corev1.Container{Command: []string{""}}, false},
	} {
		c.container.Name = "web"
		got, ok := New().Match(podOf(corev1.Container{Name: "log", Image: "busybox"}, c.container))
		if ok != c.want || ok && got != "web" {
			t.Errorf("%s: %q %v, want %v", name, got, ok, c.want)
		}
	}
	if _, ok := New().Match(nil); ok {
		t.Error("no pod has nginx")
	}
	if New().Sidecar(podOf(corev1.Container{Image: "nginx"})) {
		t.Error("nginx is the server itself")
	}
}

func TestAdmin(t *testing.T) {
	ingress := corev1.Container{Image: "registry.k8s.io/ingress-nginx/controller:v1.11.2", Args: []string{"/nginx-ingress-controller"}}
	other := ingress
	other.Args = []string{"/nginx-ingress-controller", "--status-port=18080"}
	apart := ingress
	apart.Args = []string{"/nginx-ingress-controller", "--status-port", "18081"}
	bad := ingress
	bad.Args = []string{"/nginx-ingress-controller", "--status-port=x\x1b[31m"}
	for name, c := range map[string]struct {
		container  corev1.Container
		annotation string
		port       uint16
		page, why  string
	}{
		"ingress-nginx":           {container: ingress, port: 10246, page: "/nginx_status"},
		"another port":            {container: other, port: 18080, page: "/nginx_status"},
		"another port, two words": {container: apart, port: 18081, page: "/nginx_status"},
		"no port":                 {container: bad, why: `--status-port is "x\x1b[31m", which is no port`},
		"nginx alone":             {container: corev1.Container{Image: "nginx"}},
		"annotation":              {container: corev1.Container{Image: "nginx"}, annotation: "8081/status/nginx", port: 8081, page: "/status/nginx"},
		"annotation without path": {container: corev1.Container{Image: "nginx"}, annotation: "8081", port: 8081, page: "/"},
		"annotation is none":      {container: corev1.Container{Image: "nginx"}, annotation: "yes", why: `annotation kubectl-backlog.io/nginx-status is "yes", want PORT/PATH as in 8081/nginx_status`},
		"annotation is hostile":   {container: corev1.Container{Image: "nginx"}, annotation: "1/a b\r\nHost: x", why: `annotation kubectl-backlog.io/nginx-status is "1/a b\r\nHost: x", want PORT/PATH as in 8081/nginx_status`},
	} {
		pod := podOf(c.container)
		if c.annotation != "" {
			pod.Annotations = map[string]string{AnnotationStatus: c.annotation}
		}
		e := New().Admin(pod)
		if e.Port != c.port || e.Metrics != c.page || e.Why != c.why {
			t.Errorf("%s: %+v", name, e)
		}
		if pages := New().Pages(pod); (len(pages) == 1) != (c.port != 0) || c.port != 0 && pages[0] != c.page {
			t.Errorf("%s: pages %q", name, pages)
		}
	}
}
