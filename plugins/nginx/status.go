package nginx

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// AnnotationStatus names where nginx serves stub_status: "8081/nginx_status".
// Nothing else in a pod's spec tells of it.
const AnnotationStatus = "kubectl-backlog.io/nginx-status"

// ingressStatus is where ingress-nginx has its own, on the pod's loopback
// (--status-port).
const (
	ingressStatus     = 10246
	ingressStatusPath = "/nginx_status"
)

// Admin tells where stub_status is: ingress-nginx always has it, of others only an
// annotation tells.
func (Adapter) Admin(pod *corev1.Pod) model.Endpoint {
	port, page, why := status(pod)
	return model.Endpoint{Port: port, Metrics: page, Why: why}
}

// Pages is stub_status alone.
func (Adapter) Pages(pod *corev1.Pod) []string {
	port, page, _ := status(pod)
	if port == 0 {
		return nil
	}
	return []string{page}
}

// ReadPages reads stub_status.
func (Adapter) ReadPages(bodies [][]byte) (model.Runtime, model.Value[string], error) {
	version := model.Unknown[string]("nginx's stub_status does not tell its version")
	var page []byte
	if len(bodies) > 0 {
		page = bodies[0]
	}
	r, err := parse.ReadStubStatusRuntime(page)
	return r, version, err
}

func status(pod *corev1.Pod) (port uint16, page, why string) {
	c := container(pod)
	if c == nil {
		return 0, "", ""
	}
	if text, ok := pod.Annotations[AnnotationStatus]; ok {
		number, path, _ := strings.Cut(text, "/")
		n, ok := portNumber(number)
		if !ok || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' }) || len(path) > 200 {
			return 0, "", "annotation " + AnnotationStatus + " is " + quote(text) + ", want PORT/PATH as in 8081/nginx_status"
		}
		return n, "/" + path, ""
	}
	if !isIngress(c) {
		return 0, "", ""
	}
	const flag = "--status-port"
	words := slices.Concat(c.Command, c.Args)
	for i, w := range words {
		text, ok := strings.CutPrefix(w, flag+"=")
		if w == flag && i+1 < len(words) {
			text, ok = words[i+1], true
		}
		if !ok {
			continue
		}
		n, ok := portNumber(text)
		if !ok {
			return 0, "", flag + " is " + quote(text) + ", which is no port"
		}
		return n, ingressStatusPath, ""
	}
	return ingressStatus, ingressStatusPath, ""
}

func portNumber(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n > 0
}

// quote makes foreign text fit for a line on a terminal.
func quote(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.QuoteToGraphic(text)
}

// Roles tells ingress-nginx's own ports from those that it serves.
func (Adapter) Roles(pod *corev1.Pod) map[uint16]model.Role {
	if port, _, _ := status(pod); port != 0 {
		return map[uint16]model.Role{port: model.RoleAdmin}
	}
	return nil
}
