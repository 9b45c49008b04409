package target

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Selection is a resolved Query: which pods it means, as rules, so that pods
// that come later are known too. It holds no connection.
type Selection struct {
	parts      []part
	problems   []error
	allowEmpty bool
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
