package target

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
)

// lookup finds out who has an IP. An error line names no namespace, so it asks
// for all of them first, and where that is not allowed for the query's own.
type lookup struct {
	client    kubernetes.Interface
	namespace string // the query's; "" when it means all
	// blind are things that may not be read in all namespaces: "pods", with the
	// API server's words.
	blind map[string]string
	notes []string
}

// pageSize bounds what one answer of a long list holds.
const pageSize = 500

func newLookup(getter genericclioptions.RESTClientGetter, namespace string) (*lookup, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's configuration: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &lookup{client: client, namespace: namespace, blind: map[string]string{}}, nil
}

// addressParts looks for the owners of addresses. What no pod can be told from
// is a problem, as with names; only an API server that cannot be asked is an
// error.
func (s *Selection) addressParts(ctx context.Context, l *lookup, addresses []address) error {
	for _, a := range addresses {
		parts, err := s.partsOf(ctx, l, a)
		if err != nil {
			return err
		}
		for _, p := range parts {
			same := func(q part) bool { return q.namespace == p.namespace && q.query == p.query }
			if !slices.ContainsFunc(s.parts, same) {
				s.parts = append(s.parts, p)
			}
		}
	}
	s.notes = append(s.notes, l.notes...)
	return nil
}

func (s *Selection) partsOf(ctx context.Context, l *lookup, a address) ([]part, error) {
	pods, err := l.podsWith(ctx, a.ip)
	if err != nil {
		return nil, err
	}
	if own := ownIP(pods); len(own) > 0 {
		return s.podsAt(l, a, own), nil
	}
	services, err := l.services(ctx)
	if err != nil {
		return nil, err
	}
	if service, how := serviceWith(services, a); service != nil {
		return s.serviceAt(l, a, service, how), nil
	}
	if len(pods) == 0 {
		if pods, err = l.podsWithSecond(ctx, a.ip); err != nil {
			return nil, err
		}
		if own := ownIP(pods); len(own) > 0 {
			return s.podsAt(l, a, own), nil
		}
	}
	node, err := l.nodeWith(ctx, a.ip, pods)
	if err != nil {
		return nil, err
	}
	sharing := sharingIP(services, a.ip)
	switch {
	case node != "":
		meant, err := l.onNode(ctx, a, node, pods, services)
		if err != nil {
			return nil, err
		}
		s.problems = append(s.problems, meant)
	case len(sharing) > 0:
		s.problems = append(s.problems, fmt.Errorf("%s may mean any service with this IP, so name one: %s", a.text, listed(sharing)))
	default:
		s.problems = append(s.problems, fmt.Errorf("no pod or service has IP %s%s; it may be gone: pods that were replaced keep no IP", a.ip, l.where()))
	}
	return nil, nil
}

// ownIP drops the pods that have their node's address, and those that finished
// when there are others: an address is given to another pod when one is over.
func ownIP(pods []corev1.Pod) []corev1.Pod {
	own := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Spec.HostNetwork })
	running := slices.DeleteFunc(slices.Clone(own), func(p corev1.Pod) bool { return finished(&p) })
	if len(running) > 0 {
		return running
	}
	return own
}

// podsAt makes a watch on exactly the pods that have the address.
func (s *Selection) podsAt(l *lookup, a address, pods []corev1.Pod) []part {
	var parts []part
	for i := range pods {
		pod := &pods[i]
		if finished(pod) {
			l.note("%s was pod %s/%s, which has finished (%s)", a.text, pod.Namespace, pod.Name, pod.Status.Phase)
		} else {
			l.note("%s is pod %s/%s", a.text, pod.Namespace, pod.Name)
		}
		parts = append(parts, podParts(pod.Namespace, []string{pod.Name})...)
		if a.port != 0 {
			s.asked = append(s.asked, askedPort{namespace: pod.Namespace, name: pod.Name, port: intstr.FromInt32(int32(a.port))})
		}
	}
	return parts
}

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

// isIP compares by value: IPv6 has more than one way to write an address.
func isIP(text string, ip netip.Addr) bool {
	other, err := netip.ParseAddr(text)
	return err == nil && other.Unmap() == ip
}

// podsWith lists the pods whose first address this is. The API server finds
// them itself.
func (l *lookup) podsWith(ctx context.Context, ip netip.Addr) ([]corev1.Pod, error) {
	var found []corev1.Pod
	err := l.everywhere("pods", func(namespace string) error {
		list, err := l.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("status.podIP", ip.String()).String(),
		})
		if err == nil {
			found = list.Items
		}
		return err
	})
	return found, err
}

// podsWithSecond compares all addresses of all pods, since no field selector
// knows a pod's second one. It leaves off after a page when the pods' first
// addresses are all of this family: then the second ones are of the other.
func (l *lookup) podsWithSecond(ctx context.Context, ip netip.Addr) ([]corev1.Pod, error) {
	var found []corev1.Pod
	err := l.everywhere("pods", func(namespace string) error {
		options := metav1.ListOptions{Limit: pageSize}
		otherFamily := false
		for {
			list, err := l.client.CoreV1().Pods(namespace).List(ctx, options)
			if err != nil {
				return err
			}
			for i := range list.Items {
				pod := &list.Items[i]
				first, err := netip.ParseAddr(pod.Status.PodIP)
				otherFamily = otherFamily || err == nil && first.Is4() != ip.Is4()
				if slices.ContainsFunc(pod.Status.PodIPs, func(p corev1.PodIP) bool { return isIP(p.IP, ip) }) {
					found = append(found, *pod)
				}
			}
			options.Continue = list.Continue
			if options.Continue == "" || len(found) > 0 || !otherFamily {
				return nil
			}
		}
	})
	return found, err
}

// services lists all services, as far as they may be read.
func (l *lookup) services(ctx context.Context) ([]corev1.Service, error) {
	var found []corev1.Service
	err := l.everywhere("services", func(namespace string) error {
		options := metav1.ListOptions{Limit: pageSize}
		found = nil
		for {
			list, err := l.client.CoreV1().Services(namespace).List(ctx, options)
			if err != nil {
				return err
			}
			found = append(found, list.Items...)
			if options.Continue = list.Continue; options.Continue == "" {
				return nil
			}
		}
	})
	return found, err
}

// everywhere asks for all namespaces, or where that is refused for the query's
// own. A refusal is no error: what was not seen is told with the answer.
func (l *lookup) everywhere(resource string, ask func(namespace string) error) error {
	if l.blind[resource] == "" {
		err := ask("")
		if !apierrors.IsForbidden(err) {
			return Explain(err)
		}
		l.blind[resource] = Explain(err).Error()
		if resource == "pods" && l.namespace != "" {
			l.note("looking for pods by IP in namespace %s alone: %s", l.namespace, l.blind[resource])
		}
	}
	if l.namespace == "" {
		return nil
	}
	err := ask(l.namespace)
	if apierrors.IsForbidden(err) {
		l.blind[resource] = Explain(err).Error()
		return nil
	}
	return Explain(err)
}

// where says what was looked at, when it was not everything.
func (l *lookup) where() string {
	var words []string
	if l.blind["pods"] != "" && l.namespace != "" {
		words = append(words, "in namespace "+l.namespace)
	}
	var unread []string
	for _, resource := range []string{"pods", "services", "nodes"} {
		if why := l.blind[resource]; why != "" {
			unread = append(unread, why)
		}
	}
	if len(unread) > 0 {
		words = append(words, "as far as it can be seen ("+strings.Join(unread, "; ")+")")
	}
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, ", ")
}

func (l *lookup) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}
