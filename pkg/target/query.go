package target

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Query is what the user asked for.
type Query struct {
	// Args name pods and what owns them, in kubectl's forms: "deploy/server",
	// "svc/web", "pod/x", the bare name of a pod, and "deploy server" or
	// "pods a b" (a type, then names). "pods" alone is the same as no Args.
	// "10.42.0.5", "10.42.0.5:8080" and "[fd00::5]:8080" mean the pod with this IP
	// or the pods behind the Service with it, in whatever namespace it is.
	Args []string
	// Namespace to look in. AllNamespaces wins over it.
	Namespace     string
	AllNamespaces bool
	// LabelSelector and FieldSelector as the API server takes them; not together
	// with Args, as with kubectl.
	LabelSelector string
	FieldSelector string
	// Meshed tells the pods that have a proxy. It is asked only when there are
	// neither Args nor selectors: then the meshed pods of the namespace are
	// meant, or all of them when none is meshed. nil: all pods.
	Meshed func(*corev1.Pod) bool
	// AllowEmpty makes Start wait for pods to appear where it would otherwise
	// answer *NoPodsError, for a screen that stays open.
	AllowEmpty bool
}

// normalized is the query with "pods" alone taken as no arguments, and its
// selectors in the form the API server knows, or the mistake in it.
func (q Query) normalized() (Query, error) {
	if len(q.Args) == 1 && isPodType(q.Args[0]) {
		q.Args = nil
	}
	if len(q.Args) > 0 && (q.LabelSelector != "" || q.FieldSelector != "") {
		return q, errors.New("name cannot be provided when a selector is specified")
	}
	if _, names, err := withoutAddresses(q.Args); err != nil {
		return q, err
	} else if len(names) > 0 && q.AllNamespaces {
		return q, errors.New("a resource cannot be retrieved by name across all namespaces")
	}
	if q.Namespace == "" && !q.AllNamespaces {
		return q, errors.New("no namespace given: name one with --namespace, or all with --all-namespaces")
	}
	if q.AllNamespaces {
		q.Namespace = ""
	}
	if _, err := labels.Parse(q.LabelSelector); err != nil {
		return q, fmt.Errorf("label selector %q: %w", q.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(q.FieldSelector); err != nil {
		return q, fmt.Errorf("field selector %q: %w", q.FieldSelector, err)
	}
	return q, nil
}

func isPodType(arg string) bool {
	switch strings.ToLower(arg) {
	case "pods", "pod", "po":
		return true
	}
	return false
}
