package target

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Selection is a resolved Query: which pods it means, as rules, so that pods
// that come later are known too. It holds no connection.
type Selection struct {
	parts      []part
	problems   []error
	allowEmpty bool
	notes      []string
	asked      []askedPort
}

// Notes say how addresses were understood ("10.42.0.5:8080 is pod
// shop/server-0"), and where they could not be looked for.
func (s *Selection) Notes() []string { return slices.Clone(s.notes) }

// Namespaces are those in which pods are selected, in order; "" stands for all.
// An address may lead into another namespace than the query's.
func (s *Selection) Namespaces() []string {
	var names []string
	for i := range s.parts {
		names = append(names, s.parts[i].namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Ports are the ports of a selected pod that were asked for by address, in
// order; none when the pod was asked for as a whole.
func (s *Selection) Ports(pod *corev1.Pod) []uint16 {
	var ports []uint16
	for _, a := range s.asked {
		if !a.means(pod) {
			continue
		}
		if n := a.number(pod); n > 0 && !slices.Contains(ports, n) {
			ports = append(ports, n)
		}
	}
	slices.Sort(ports)
	return ports
}

// askedPort is a port of one pod, or of the pods behind a service.
type askedPort struct {
	namespace string
	name      string
	selector  labels.Selector // instead of a name
	// port may be a name, which each pod gives to a number of its own.
	port intstr.IntOrString
}

func (a askedPort) means(pod *corev1.Pod) bool {
	if pod.Namespace != a.namespace {
		return false
	}
	if a.selector != nil {
		return a.selector.Matches(labels.Set(pod.Labels))
	}
	return pod.Name == a.name
}

// number is 0 when no container of the pod has a port of this name.
func (a askedPort) number(pod *corev1.Pod) uint16 {
	if a.port.Type == intstr.Int {
		return uint16(a.port.IntVal) //nolint:gosec // the API server allows no other
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for _, p := range list[i].Ports {
				if p.Name == a.port.StrVal {
					return uint16(p.ContainerPort) //nolint:gosec // the API server allows no other
				}
			}
		}
	}
	return 0
}

// part is one namespace ("" for all) and what selects pods in it. The pods of a
// Selection are those that any part selects.
type part struct {
	namespace     string
	labelSelector string
	fieldSelector string
	// accept narrows what the selectors let through; nil accepts all.
	accept func(*corev1.Pod) bool
	// meshed, when set, narrows to meshed pods if there is one at the start.
	meshed func(*corev1.Pod) bool
	// named: the pod itself was asked for, so one that has finished is shown.
	named bool
	// query names the part in words, listing and noPods say what to print when
	// it selects nothing.
	query   string
	listing bool
	noPods  string
}

// listingPart selects pods by namespace and selectors, nothing being named.
func listingPart(q Query) part {
	p := part{
		namespace: q.Namespace, labelSelector: q.LabelSelector, fieldSelector: q.FieldSelector,
		listing: true,
		query:   "pods in all namespaces", noPods: "No resources found",
	}
	if q.Namespace != "" {
		p.query = "pods in " + q.Namespace + " namespace"
		p.noPods = "No resources found in " + q.Namespace + " namespace."
	}
	if q.LabelSelector == "" && q.FieldSelector == "" {
		p.meshed = q.Meshed
	}
	return p
}

// none is the answer when the part selects no pod that runs, but so many that
// have finished.
func (p *part) none(finished int) *NoPodsError {
	e := &NoPodsError{Query: p.query, Listing: p.listing, Finished: finished, message: p.noPods}
	switch {
	case finished == 0:
	case p.listing:
		e.message = fmt.Sprintf("No running %s (%d finished)", p.query, finished)
	case p.named:
		e.message = fmt.Sprintf("%s has finished", p.query)
	default:
		e.message = fmt.Sprintf("%s has no running pods (%d finished)", p.query, finished)
	}
	return e
}

// finished says whether a pod's containers have ended for good.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
