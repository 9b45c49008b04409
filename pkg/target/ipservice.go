package target

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serviceAt means the pods behind a service, and of them the port that the
// service's leads to.
func (s *Selection) serviceAt(l *lookup, a address, service *corev1.Service, how string) []part {
	name := service.Namespace + "/" + service.Name
	if len(service.Spec.Selector) == 0 {
		s.problems = append(s.problems, fmt.Errorf("%s is %s service %s, which has no selector, so no pods can be told from it (its endpoints are set by hand)", a.text, how, name))
		return nil
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	note := fmt.Sprintf("%s is %s service %s", a.text, how, name)
	if a.port != 0 {
		port := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(a.port) })
		if port < 0 {
			note += fmt.Sprintf(", which has no port %d (it has %s)", a.port, portList(service.Spec.Ports))
		} else {
			target := service.Spec.Ports[port].TargetPort
			if target.Type == intstr.Int && target.IntVal == 0 {
				target = intstr.FromInt32(service.Spec.Ports[port].Port)
			}
			note += fmt.Sprintf(": its port %d is port %s of its pods", a.port, target.String())
			s.asked = append(s.asked, askedPort{namespace: service.Namespace, selector: selector, port: target})
		}
	}
	l.note("%s", note)
	query := "service/" + service.Name
	return []part{{
		namespace: service.Namespace, labelSelector: selector.String(), query: query,
		noPods: fmt.Sprintf("%s has no pods (no pod in namespace %s has %s)", query, service.Namespace, selector),
	}}
}

func portList(ports []corev1.ServicePort) string {
	if len(ports) == 0 {
		return "none"
	}
	var words []string
	for _, p := range ports {
		words = append(words, fmt.Sprint(p.Port))
	}
	return strings.Join(words, ", ")
}

// serviceWith is the service that has the address, and in which way. A cluster
// IP is one service's; a load balancer may share its own (and a node's) among
// several, of which the port tells one.
func serviceWith(services []corev1.Service, a address) (service *corev1.Service, how string) {
	shared := 0
	for i := range services {
		s := &services[i]
		switch {
		case hasIP(append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...), a.ip):
			return s, "the cluster IP of"
		case !hasIP(outsideIPs(s), a.ip):
		case a.port == 0 || slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(a.port) }):
			shared++
			service, how = s, "an outside IP of"
		}
	}
	if shared > 1 {
		return nil, ""
	}
	return service, how
}

// outsideIPs are those of a load balancer, and those that an administrator set.
func outsideIPs(service *corev1.Service) []string {
	ips := slices.Clone(service.Spec.ExternalIPs)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		ips = append(ips, ingress.IP)
	}
	return ips
}

// sharingIP are the services that have an IP from outside, as arguments.
func sharingIP(services []corev1.Service, ip netip.Addr) []string {
	var words []string
	for i := range services {
		if s := &services[i]; hasIP(outsideIPs(s), ip) {
			words = append(words, fmt.Sprintf("svc/%s -n %s (ports %s)", s.Name, s.Namespace, portList(s.Spec.Ports)))
		}
	}
	return words
}

func hasIP(texts []string, ip netip.Addr) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return isIP(text, ip) })
}

// services lists all services, as far as they may be read.
func (l *lookup) services(ctx context.Context) ([]corev1.Service, error) {
	var found []corev1.Service
	err := l.everywhere("services", func(namespace string) error {
		found = nil
		return each(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return l.client.CoreV1().Services(namespace).List(ctx, o)
		}, func(s *corev1.Service) bool {
			found = append(found, *s)
			return true
		})
	})
	return found, err
}
