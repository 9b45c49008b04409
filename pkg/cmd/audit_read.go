package cmd

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// pageSize is how many objects of a list are in memory at once.
const pageSize = 500

// auditor holds what pods are compared with: one list each, whatever their number,
// and of each object only what is compared.
type auditor struct {
	client   kubernetes.Interface
	adapters []plugins.Adapter
	prefixes []string

	nodes      map[string]model.Value[int64] // CPUs by name
	nodesWhy   string                        // why there are none
	namespaces map[string]namespaced
	namesWhy   string
	workloads  map[owner]model.Manifest
	kindWhy    map[string]string // by kind, why its templates are unknown
	notes      []string
}

// owner is a workload of a namespace.
type owner struct{ namespace, kind, name string }

// namespaced is what a namespace says of all of its pods.
type namespaced struct {
	annotations map[string]string
	istio       string // the label istio-injection
}

func newAuditor(ctx context.Context, client kubernetes.Interface) (*auditor, error) {
	a := &auditor{
		client: client, adapters: plugins.All(), nodes: map[string]model.Value[int64]{}, namespaces: map[string]namespaced{},
		workloads: map[owner]model.Manifest{}, kindWhy: map[string]string{},
	}
	a.prefixes = append(annotationPrefixes(a.adapters), injectAnnotation)
	return a, a.readNodes(ctx)
}

// lister makes one kind's List one of any kind.
func lister[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) pager.ListPageFunc {
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) }
}

// eachItem goes through a list a page at a time.
func eachItem[T any, P interface {
	*T
	runtime.Object
}](ctx context.Context, o metav1.ListOptions, list pager.ListPageFunc, take func(P)) error {
	p := pager.New(list)
	p.PageSize, p.PageBufferSize = pageSize, 1
	return p.EachListItem(ctx, o, func(item runtime.Object) error {
		if object, ok := item.(P); ok {
			take(object)
		}
		return nil
	})
}

// readNodes reads the CPUs of all nodes. Many users may not.
func (a *auditor) readNodes(ctx context.Context) error {
	err := eachItem(ctx, metav1.ListOptions{}, lister(a.client.CoreV1().Nodes().List), func(n *corev1.Node) { a.nodes[n.Name] = cpusOf(n) })
	switch {
	case apierrors.IsForbidden(err):
		a.nodesWhy = a.missing("nodes", "one worker on a big node is not found", err)
	case err != nil:
		return fmt.Errorf("listing nodes: %w", err)
	}
	return nil
}

// missing notes what may not be read, and what is not found therefore.
func (a *auditor) missing(what, so string, err error) string {
	why := target.Explain(err).Error()
	a.notes = append(a.notes, fmt.Sprintf("%s cannot be listed, so %s: %s", what, so, why))
	return why
}

// read gets what pods of a namespace ("" for all) are compared with. Only an API
// server that cannot be asked is an error.
func (a *auditor) read(ctx context.Context, namespace string) error {
	if err := a.readNamespaces(ctx, namespace); err != nil {
		return err
	}
	apps, o := a.client.AppsV1(), metav1.ListOptions{}
	add := func(kind, namespace, name string, m model.Manifest) { a.workloads[owner{namespace, kind, name}] = m }
	for _, kind := range []struct {
		name string
		read func() error
	}{
		{"Deployment", func() error {
			return eachItem(ctx, o, lister(apps.Deployments(namespace).List), func(d *appsv1.Deployment) {
				m := a.manifest(d.Spec.Template, string(d.Spec.Strategy.Type))
				m.Paused = d.Spec.Paused
				add("Deployment", d.Namespace, d.Name, m)
			})
		}},
		{"StatefulSet", func() error {
			return eachItem(ctx, o, lister(apps.StatefulSets(namespace).List), func(s *appsv1.StatefulSet) {
				add("StatefulSet", s.Namespace, s.Name, a.manifest(s.Spec.Template, string(s.Spec.UpdateStrategy.Type)))
			})
		}},
		{"DaemonSet", func() error {
			return eachItem(ctx, o, lister(apps.DaemonSets(namespace).List), func(d *appsv1.DaemonSet) {
				add("DaemonSet", d.Namespace, d.Name, a.manifest(d.Spec.Template, string(d.Spec.UpdateStrategy.Type)))
			})
		}},
	} {
		err := kind.read()
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			a.kindWhy[kind.name] = a.missing(strings.ToLower(kind.name)+"s", "a change of their templates is not found", err)
		default:
			return fmt.Errorf("listing %ss: %w", strings.ToLower(kind.name), err)
		}
	}
	return nil
}

func (a *auditor) readNamespaces(ctx context.Context, namespace string) error {
	keep := func(n *corev1.Namespace) {
		a.namespaces[n.Name] = namespaced{a.wanted(n.Annotations), n.Labels["istio-injection"]}
	}
	var err error
	if namespace == "" {
		err = eachItem(ctx, metav1.ListOptions{}, lister(a.client.CoreV1().Namespaces().List), keep)
	} else {
		var n *corev1.Namespace
		if n, err = a.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); err == nil {
			keep(n)
		}
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		a.namesWhy = a.missing("namespaces", "what they ask for is not found", err)
	case err != nil:
		return fmt.Errorf("reading namespaces: %w", err)
	}
	return nil
}

// manifest keeps of a workload what pods are compared with.
func (a *auditor) manifest(template corev1.PodTemplateSpec, strategy string) model.Manifest {
	m := model.UnknownManifest("not read by an audit")
	m.Template, m.Strategy = model.Known(a.wanted(template.Annotations)), strategy
	return m
}

// wanted are the annotations that an adapter compares.
func (a *auditor) wanted(all map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range all {
		for _, prefix := range a.prefixes {
			if strings.HasPrefix(name, prefix) {
				kept[name] = value
			}
		}
	}
	return kept
}

// manifestOf is what the pod was made from, as it is now.
func (a *auditor) manifestOf(pod *corev1.Pod, w model.Workload) model.Manifest {
	m, ok := a.workloads[owner{pod.Namespace, w.Kind, w.Name}]
	if !ok {
		why := a.kindWhy[w.Kind]
		if why == "" {
			why = "no workload whose template is read owns the pod"
		}
		m = model.UnknownManifest(why)
	}
	if n, ok := a.namespaces[pod.Namespace]; ok {
		m.Namespace = model.Known(n.annotations)
	} else {
		m.Namespace = model.Unknown[map[string]string](a.namesWhy)
	}
	return m
}
