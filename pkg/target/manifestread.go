package target

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// workload is what is kept of an object that pods are made from; of a namespace
// the annotations alone.
type workload struct {
	kind     string
	template model.Value[map[string]string]
	strategy string
	replicas model.Value[int64]
	selector map[string]string
	manager  model.Manager
	paused   bool
	// revision of the template now; of a ReplicaSet, the Deployment's that it is.
	revision string
}

// onDelete is the strategy of everything that replaces a pod only when somebody
// deletes it.
const onDelete = "OnDelete"

// Annotations and labels that tell a revision.
const (
	deploymentRevision = "deployment.kubernetes.io/revision"
	daemonSetRevision  = "deprecated.daemonset.template.generation"
)

func readable(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob":
		return true
	}
	return false
}

// fetch reads one object.
func (m *Manifests) fetch(ctx context.Context, o object) (workload, error) {
	apps, batch, options := m.client.AppsV1(), m.client.BatchV1(), metav1.GetOptions{}
	switch o.kind {
	case "Namespace":
		found, err := m.client.CoreV1().Namespaces().Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return workload{kind: o.kind, template: m.annotations(found.Annotations)}, nil
	case "Deployment":
		found, err := apps.Deployments(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.deployment(found), nil
	case "StatefulSet":
		found, err := apps.StatefulSets(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.statefulSet(found), nil
	case "DaemonSet":
		found, err := apps.DaemonSets(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.daemonSet(found), nil
	case "ReplicaSet":
		found, err := apps.ReplicaSets(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.replicaSet(found), nil
	case "Job":
		found, err := batch.Jobs(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.job(found), nil
	case "CronJob":
		found, err := batch.CronJobs(o.namespace).Get(ctx, o.name, options)
		if err != nil {
			return workload{}, err
		}
		return m.cronJob(found), nil
	}
	return workload{}, fmt.Errorf("reading a %s: only workloads of Kubernetes itself are read", o.kind)
}

// base is what all of them have.
func (m *Manifests) base(kind string, meta metav1.ObjectMeta, template corev1.PodTemplateSpec, selector *metav1.LabelSelector) workload {
	w := workload{
		kind: kind, template: m.annotations(template.Annotations), manager: managerOf(meta),
		replicas: model.Unknown[int64]("a " + kind + " asks for no number of replicas"),
	}
	if selector != nil {
		w.selector = selector.MatchLabels
	}
	return w
}

func (m *Manifests) deployment(d *appsv1.Deployment) workload {
	w := m.base("Deployment", d.ObjectMeta, d.Spec.Template, d.Spec.Selector)
	w.strategy, w.replicas = string(d.Spec.Strategy.Type), replicas(d.Spec.Replicas)
	w.paused = d.Spec.Paused
	// Until the controller has seen the change, and while it is paused, the
	// revision is the old template's.
	if d.Status.ObservedGeneration >= d.Generation && !d.Spec.Paused {
		w.revision = d.Annotations[deploymentRevision]
	}
	return w
}

func (m *Manifests) statefulSet(s *appsv1.StatefulSet) workload {
	w := m.base("StatefulSet", s.ObjectMeta, s.Spec.Template, s.Spec.Selector)
	w.strategy, w.replicas = string(s.Spec.UpdateStrategy.Type), replicas(s.Spec.Replicas)
	if s.Status.ObservedGeneration >= s.Generation {
		w.revision = s.Status.UpdateRevision
	}
	return w
}

func (m *Manifests) daemonSet(d *appsv1.DaemonSet) workload {
	w := m.base("DaemonSet", d.ObjectMeta, d.Spec.Template, d.Spec.Selector)
	w.strategy, w.revision = string(d.Spec.UpdateStrategy.Type), d.Annotations[daemonSetRevision]
	return w
}

func (m *Manifests) replicaSet(r *appsv1.ReplicaSet) workload {
	w := m.base("ReplicaSet", r.ObjectMeta, r.Spec.Template, r.Spec.Selector)
	w.strategy, w.replicas, w.revision = onDelete, replicas(r.Spec.Replicas), r.Annotations[deploymentRevision]
	return w
}

func (m *Manifests) job(j *batchv1.Job) workload {
	return m.base("Job", j.ObjectMeta, j.Spec.Template, j.Spec.Selector)
}

func (m *Manifests) cronJob(c *batchv1.CronJob) workload {
	return m.base("CronJob", c.ObjectMeta, c.Spec.JobTemplate.Spec.Template, nil)
}

// replicas are 1 where nothing is said.
func replicas(n *int32) model.Value[int64] {
	if n == nil {
		return model.Known[int64](1)
	}
	return model.Known(int64(*n))
}

// maxManagerName bounds what is repeated of a label or annotation.
const maxManagerName = 253

// managerOf tells what would revert a change made by hand. Argo CD and Flux come
// before Helm, whose charts they install.
func managerOf(meta metav1.ObjectMeta) model.Manager {
	labels, annotations := meta.Labels, meta.Annotations
	named := func(tool, name string) model.Manager {
		return model.Manager{Tool: tool, Name: name[:min(len(name), maxManagerName)]}
	}
	// APPLICATION:GROUP/KIND:NAMESPACE/NAME
	if id, ok := annotations["argocd.argoproj.io/tracking-id"]; ok {
		application, _, _ := strings.Cut(id, ":")
		return named("Argo CD", application)
	}
	if name, ok := labels["argocd.argoproj.io/instance"]; ok {
		return named("Argo CD", name)
	}
	for _, key := range []string{"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"} {
		if name, ok := labels[key]; ok {
			return named("Flux", name)
		}
	}
	release, installed := annotations["meta.helm.sh/release-name"]
	if labels["app.kubernetes.io/managed-by"] == "Helm" && installed {
		return named("Helm", cmp.Or(release, meta.Name))
	}
	return model.Manager{}
}
