package cmd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// What asks for a sidecar.
const (
	injectAnnotation = "linkerd.io/inject"
	istioInject      = "sidecar.istio.io/inject"
)

// unmeasured is why every measured figure is unknown here.
const unmeasured = "an audit measures nothing"

// spec works out of a pod's spec what there is to judge.
func (a *auditor) spec(_ context.Context, pod *corev1.Pod) plan.Spec {
	w := target.Workload(pod)
	s := plan.Spec{
		Pod: model.Pod{
			Meta: model.Meta{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)},
			Node: pod.Spec.NodeName, Workload: w, HostNetwork: pod.Spec.HostNetwork,
			Runtime: model.UnknownRuntime(unmeasured), Collection: model.Collection{Message: unmeasured},
			Manifest: a.manifestOf(pod, w),
		},
		NodeCPUs: a.cpus(pod.Spec.NodeName),
	}
	s.Injects = a.injects(pod, s.Pod.Manifest)
	for _, adapter := range a.adapters {
		container, ok := adapter.Match(pod)
		if !ok || container == "" { // whatever server there is tells nothing by its spec
			continue
		}
		s.Pod.Proxy = model.Proxy{Adapter: adapter.Name(), Container: container, Image: imageOf(pod, container)}
		if teller, ok := adapter.(plugins.SidecarTeller); ok {
			s.Pod.Proxy.Sidecar = teller.Sidecar(pod)
		}
		if teller, ok := adapter.(plugins.KnobTeller); ok {
			s.Rule, s.Limit, s.HasRule = teller.WorkerRule(pod)
		}
		fillKnobs(&s, adapter, pod)
		if adapter.Name() == linkerdAdapter {
			s.Ignored = tooOld(pod, container)
		}
		break
	}
	return s
}

func (a *auditor) cpus(node string) model.Value[int64] {
	if v, ok := a.nodes[node]; ok {
		return v
	}
	return model.Unknown[int64](cmp.Or(a.nodesWhy, "the pod has no node that is known"))
}

// fillKnobs asks the adapter twice: what the pod was made with, and then what a pod
// would be made with now, with the first as the values in force.
func fillKnobs(s *plan.Spec, adapter plugins.Adapter, pod *corev1.Pod) {
	configurer, ok := adapter.(plugins.Configurer)
	if !ok {
		return
	}
	bare := s.Pod
	bare.Manifest = model.UnknownManifest(unmeasured)
	s.Made = configurer.Knobs(asMade(adapter, pod), s.NodeCPUs, bare)

	live := s.Pod
	live.Runtime.Workers = s.MadeWorkers()
	if teller, ok := adapter.(plugins.RoleTeller); ok {
		roles := teller.Roles(pod)
		for _, port := range slices.Sorted(maps.Keys(roles)) {
			for _, k := range s.Made {
				if k.Name == string(roles[port])+" backlog" && k.Asked.IsKnown() {
					live.Listeners = append(live.Listeners, model.Listener{
						Port: port, Role: roles[port], Sockets: []model.Socket{{Port: port, Limit: k.Asked}},
					})
				}
			}
		}
	}
	s.Now = configurer.Knobs(pod, s.NodeCPUs, live)
}

// asMade is the pod without what may have been annotated later: Linkerd's injector
// writes all that it takes into the container's environment.
func asMade(adapter plugins.Adapter, pod *corev1.Pod) *corev1.Pod {
	if adapter.Name() != linkerdAdapter {
		return pod
	}
	made := *pod
	made.Annotations = maps.Clone(pod.Annotations)
	maps.DeleteFunc(made.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, "config.linkerd.io/proxy-") })
	return &made
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == container {
				return list[i].Image
			}
		}
	}
	return ""
}

// injects says what asks for a sidecar in this pod; empty when nothing does. What
// stands nearer to the pod counts.
func (a *auditor) injects(pod *corev1.Pod, m model.Manifest) string {
	namespace := a.namespaces[pod.Namespace]
	template, _ := m.Template.Get()
	for _, at := range []struct{ where, value string }{
		{"annotation " + injectAnnotation + " of the pod", pod.Annotations[injectAnnotation]},
		{"annotation " + injectAnnotation + " of the pod template", template[injectAnnotation]},
		{"annotation " + injectAnnotation + " of the namespace", namespace.annotations[injectAnnotation]},
		{"label " + istioInject + " of the pod", pod.Labels[istioInject]},
		{"label istio-injection of the namespace", namespace.istio},
	} {
		switch at.value {
		case "enabled", "ingress", "true":
			return at.where
		case "disabled", "false":
			return ""
		}
	}
	return ""
}

// The release from which Linkerd's proxy knows a variable for its backlogs.
const (
	backlogEdge, backlogNumbered = "26.4.1", "2.20.0"
	backlogVariable              = "_TCP_LISTEN_BACKLOG"
)

// tooOld lists the variables of the proxy's container that its release does not
// know yet. Linkerd says its release in an annotation, and in the image's tag.
func tooOld(pod *corev1.Pod, container string) []string {
	_, tag, _ := strings.Cut(imageOf(pod, container), ":")
	for _, text := range []string{pod.Annotations["linkerd.io/proxy-version"], tag[strings.LastIndexByte(tag, ':')+1:]} {
		channel, number, _ := strings.Cut(text, "-")
		bound := map[string]string{"edge": backlogEdge, "stable": backlogNumbered, "enterprise": backlogNumbered}[channel]
		v, err := version.ParseGeneric(number)
		if bound == "" || err != nil {
			continue
		}
		if !v.LessThan(version.MustParseGeneric(bound)) {
			return nil
		}
		var found []string
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			for _, e := range c.Env {
				if c.Name == container && strings.HasSuffix(e.Name, backlogVariable) {
					found = append(found, "Linkerd "+text+" does not know "+e.Name+": only 2.20 (edge-"+backlogEdge+") and later do")
				}
			}
		}
		return slices.Compact(found)
	}
	return nil
}
