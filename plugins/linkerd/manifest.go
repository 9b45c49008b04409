package linkerd

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// AnnotationPrefixes are those of the annotations that decide on the proxy.
func (Adapter) AnnotationPrefixes() []string {
	return []string{"config.linkerd.io/", "linkerd.io/inject"}
}

// The places where an annotation stands.
const (
	wherePod         = "pod annotation"
	wherePodTemplate = "pod template annotation"
	whereNamespace   = "namespace annotation"
)

// placed is an annotation as a pod that is made now would carry it, beside what
// this pod carries.
type placed struct {
	name, value string
	set         bool
	// where it counts; the other places are in others, each with the reason why it
	// does not.
	where  string
	others []model.Origin
	// note is said of the one that counts.
	note string
	// changed says why this pod carries something else, and what makes the value
	// take effect; restart that a restart does. gone: this pod carries it, and one
	// that is made now would not.
	changed string
	restart bool
	gone    bool
}

// places finds annotations at all places that are known.
type places struct {
	pod      *corev1.Pod
	manifest model.Manifest
	workload model.Workload
}

// ofPod is an annotation of the pod itself, whatever it was made from.
func (p places) ofPod(name string) placed {
	value, found := p.pod.Annotations[name]
	return placed{name: name, value: value, set: found, where: wherePod}
}

// now is what counts for a pod that is made now: the template's annotation, else
// the namespace's, else the pod's own where the others do not tell.
func (p places) now(name string) placed {
	own, carried := p.pod.Annotations[name]
	template, templateKnown := p.manifest.Template.Get()
	namespace, namespaceKnown := p.manifest.Namespace.Get()
	asked, inTemplate := template[name]
	inherited, inNamespace := namespace[name]
	outdated, outdatedKnown := p.manifest.Outdated.Get()
	beaten := func(where, value, note string) model.Origin {
		return model.Origin{Where: where, Name: name, Value: clip(value), Note: note}
	}

	switch {
	case inTemplate && carried && asked != own && outdatedKnown && !outdated:
		// Made from this very template, and yet with another value: something else
		// puts it there, and will again.
		at := p.ofPod(name)
		at.others = append(at.others, beaten(wherePodTemplate, asked,
			"not used: the pod was made from this template with another value, by a webhook or by hand"))
		return at
	case inTemplate:
		at := placed{name: name, value: asked, set: true, where: wherePodTemplate}
		if inNamespace && inherited != asked {
			at.others = append(at.others, beaten(whereNamespace, inherited, "not used: that of the pod template beats it"))
		}
		if !carried || own != asked {
			at.changed, at.restart = "the pod template was changed after the pod was made; "+p.takes(), p.restarts()
			at.others = append(at.others, p.carries(name)...)
		}
		return at
	case inNamespace && name != annRatio && (templateKnown || !carried):
		at := placed{name: name, value: inherited, set: true, where: whereNamespace}
		if carried && own == inherited {
			return at
		}
		at.changed, at.restart = "it was set or changed after the pod was made, and a pod takes it only then; "+p.takes(), p.restarts()
		if name == annAdditionalEnv {
			at.changed = "the injector makes an invalid patch of it where it stands on a namespace alone, and no pod is made: " +
				"put it on the pod template before anything restarts"
			at.restart = false
		}
		at.others = append(at.others, p.carries(name)...)
		return at
	case carried && templateKnown && namespaceKnown && outdatedKnown && outdated:
		return placed{
			name: name, where: wherePod, gone: true, restart: p.restarts(),
			changed: "it is gone from the pod template since; " + p.takes(),
		}
	case carried:
		at := p.ofPod(name)
		if templateKnown && namespaceKnown {
			at.note = "neither the pod template nor the namespace has it now"
		}
		return at
	case inNamespace:
		return placed{name: name, others: []model.Origin{beaten(whereNamespace, inherited, notInherited)}}
	}
	return placed{name: name}
}

// notInherited is why the ratio of a namespace does nothing.
const notInherited = "ignored: pods do not inherit the ratio from their namespace, and a restart does not change that: set it on the pod template"

// carries is what the pod itself has of an annotation that counts elsewhere.
func (p places) carries(name string) []model.Origin {
	own, found := p.pod.Annotations[name]
	if !found {
		return nil
	}
	return []model.Origin{{Where: wherePod, Name: name, Value: clip(own), Note: "this pod was made with it"}}
}

// takes says what makes a change take effect.
func (p places) takes() string {
	switch {
	case p.manifest.Paused:
		return "its rollout is paused: resume it"
	case p.manifest.Strategy == "OnDelete":
		return "the update strategy is OnDelete: delete the pod"
	case p.workload.Kind == "CronJob":
		return "the next run takes it"
	case p.workload.Kind == "Job":
		return "only a new Job takes it"
	}
	if outdated, ok := p.manifest.Outdated.Get(); ok && outdated {
		return "its rollout is under way, stuck, or held back: restart the workload if it does not come"
	}
	return "restart the workload"
}

// restarts says whether a restart of the workload makes a change take effect.
func (p places) restarts() bool {
	switch p.workload.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		return !p.manifest.Paused
	}
	return false
}
