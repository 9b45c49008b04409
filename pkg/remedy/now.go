package remedy

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func num(n int64) string { return strconv.FormatInt(n, 10) }

// pause stops a rollout; only Deployments can be paused.
func (m maker) pause(a *model.Action) {
	w, ok := m.workload()
	if !ok || m.p.Workload.Kind != "Deployment" {
		return
	}
	a.Command, a.Undo = m.kubectl("rollout", "pause", w), m.kubectl("rollout", "resume", w)
}

// scale adds half as many replicas again, one at least.
func (m maker) scale(a *model.Action) {
	w, ok := m.workload()
	n, known := m.p.Manifest.Replicas.Get()
	switch {
	case !ok || m.p.Workload.Kind == "DaemonSet":
		return
	case !known || n < 1:
		a.Notes = append(a.Notes, "no command: how many replicas there are is unknown")
		return
	}
	a.From, a.To = model.Known(n), model.Known(n+max(1, n/2))
	a.Command = m.kubectl("scale", w, "--replicas="+num(a.To.Or(0)))
	a.Undo = m.kubectl("scale", w, "--replicas="+num(n))
	a.Notes = append(a.Notes, "a HorizontalPodAutoscaler, if there is one, sets it again: then raise its minimum")
}

// isolate takes the labels away by which the workload and, as a rule, the
// service select the pod.
func (m maker) isolate(a *model.Action) {
	labels := m.p.Manifest.Selector
	if len(labels) == 0 {
		a.Notes = append(a.Notes, "no command: which labels its workload and services select it by is unknown")
		return
	}
	words := []string{"label", "pod", m.p.Meta.Name}
	undo := slices.Clone(words)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"-")
		undo = append(undo, key+"="+labels[key])
	}
	a.Command, a.Undo = m.kubectl(words...), m.kubectl(undo...)
	if m.p.Workload.Kind == "StatefulSet" {
		a.Notes = append(a.Notes, "a StatefulSet makes no replacement while a pod of that name exists")
	} else {
		a.Notes = append(a.Notes, "the workload makes a new pod in its place; this one stays until it is deleted")
	}
	a.Notes = append(a.Notes, "services that select by other labels still send to it: `kubectl get endpointslices` tells")
}

// setKnob makes a setting take effect that the pod was made without.
func (m maker) setKnob(a *model.Action) {
	k := m.knob(a.Knob)
	if k == nil {
		return
	}
	w, ok := m.workload()
	switch {
	case k.Remedy.Restart && m.p.Manifest.Strategy == "OnDelete":
		a.Command = m.kubectl("delete", "pod", m.p.Meta.Name)
		a.Notes = append(a.Notes, "the workload's update strategy is OnDelete: only a deleted pod takes the new template")
	case k.Remedy.Restart && ok && m.p.Workload.Kind == "Rollout":
		a.Notes = append(a.Notes, "restart it with `kubectl argo rollouts restart`")
	case k.Remedy.Restart && ok:
		a.Command = m.kubectl("rollout", "restart", w)
		m.restarts(a)
	case k.Name == "workers":
		m.workers(a)
	default:
		m.backlog(a)
	}
}

func (m maker) knob(name string) *model.Knob {
	for i := range m.p.Knobs {
		if m.p.Knobs[i].Name == name {
			return &m.p.Knobs[i]
		}
	}
	return nil
}
