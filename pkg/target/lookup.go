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
// addresses are all of this family: then the second ones are of the other. A
// pager would have asked for the next page by then.
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
