package nginx

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Match gives the container that runs nginx: one whose command is nginx, or whose
// image is nginx's own, or ingress-nginx's controller, and starts it unless told
// otherwise.
func (Adapter) Match(pod *corev1.Pod) (string, bool) {
	c := container(pod)
	if c == nil {
		return "", false
	}
	return c.Name, true
}

// Sidecar is false: nginx is the server itself.
func (Adapter) Sidecar(*corev1.Pod) bool { return false }

func container(pod *corev1.Pod) *corev1.Container {
	if pod == nil {
		return nil
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; runsNginx(c) {
			return c
		}
	}
	return nil
}

// runsNginx goes by the command where there is one, else by the image: an image of
// nginx may be started to do something else, and nginx-prometheus-exporter is none.
func runsNginx(c *corev1.Container) bool {
	words := c.Command
	if len(words) == 0 {
		// The images' entrypoints run what the arguments name.
		if !isImage(c.Image) {
			return false
		}
		return len(c.Args) == 0 || strings.HasPrefix(c.Args[0], "-") || named(c.Args[:1])
	}
	words = slices.Concat(words, c.Args)
	if named(words[:1]) {
		return true
	}
	switch base(words[0]) {
	case "sh", "bash", "ash", "dash":
		return slices.ContainsFunc(words[1:], func(w string) bool { return named(strings.FieldsFunc(w, separates)) })
	case "dumb-init", "tini", "docker-entrypoint.sh":
		// What they start comes behind their own flags.
		return named(words[1:])
	}
	return false
}

// separates splits a line of a shell into words, well enough to find a command.
func separates(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"", r) }

// named says whether one of the words names the program.
func named(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		switch base(w) {
		case "nginx", "nginx-debug", "openresty", "nginx-ingress-controller":
			return true
		}
		return false
	})
}

func base(w string) string {
	if w == "" {
		return ""
	}
	return path.Base(w)
}

// isImage goes by the last part of the image's name, without tag and digest.
func isImage(image string) bool {
	switch name := imageName(image); base(name) {
	case "nginx", "nginx-unprivileged", "openresty":
		return true
	}
	return isController(image)
}

func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// isController: registry.k8s.io/ingress-nginx/controller, also from a mirror.
func isController(image string) bool {
	name := imageName(image)
	return name == "ingress-nginx/controller" || strings.HasSuffix(name, "/ingress-nginx/controller") ||
		base(name) == "nginx-ingress-controller" || base(name) == "controller-chroot" && strings.Contains(name, "ingress-nginx/")
}

// isIngress says whether the container is ingress-nginx's controller.
func isIngress(c *corev1.Container) bool {
	return isController(c.Image) || slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(w string) bool { return base(w) == "nginx-ingress-controller" })
}
