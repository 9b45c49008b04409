package remedy

import (
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Options say where commands go.
type Options struct {
	// Context of the kubeconfig; empty when there is none to name.
	Context string
	// Kubeconfig is named in commands when it is not the usual one.
	Kubeconfig string
}

// Fill completes the actions of the pod's verdicts with commands.
func Fill(p *model.Pod, o Options) {
	// Verdicts are shared with the snapshots before; their actions are not changed
	// in place.
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		v.Now = filled(p, o, v.Now)
		v.Fix = filled(p, o, v.Fix)
	}
}

func filled(p *model.Pod, o Options, actions []model.Action) []model.Action {
	if len(actions) == 0 || p.Meta.Namespace == "" {
		return actions // this machine, or nothing to do
	}
	out := slices.Clone(actions)
	m := maker{p: p, o: o}
	for i := range out {
		m.fill(&out[i])
	}
	return out
}

// maker makes commands for one pod.
type maker struct {
	p *model.Pod
	o Options
}

func (m maker) fill(a *model.Action) {
	switch a.Kind {
	case model.ActPauseRollout:
		m.pause(a)
	case model.ActScaleOut:
		m.scale(a)
	case model.ActIsolate:
		m.isolate(a)
	case model.ActRestart:
		a.Command = m.kubectl("delete", "pod", m.p.Meta.Name)
		a.Notes = append(a.Notes, "its counters and the probe's log go with it")
	case model.ActSetKnob:
		m.setKnob(a)
	case model.ActRaiseBacklog:
		m.backlog(a)
	case model.ActAddWorkers:
		m.workers(a)
	case model.ActRaiseCPU:
		m.cpu(a)
	case model.ActRaiseSomaxconn:
		m.somaxconn(a)
	case model.ActWatch, model.ActWait:
		a.Command = m.backlogCommand("top", m.p.Meta.Name)
	}
}

// Kubectl is a command line in the pod's context and namespace, quoted for a
// shell.
func Kubectl(p model.Pod, o Options, words ...string) string {
	return maker{&p, o}.kubectl(words...)
}

// Workload is TYPE/NAME as kubectl takes it; false where nothing owns the pod
// whose template could be changed.
func Workload(p model.Pod) (string, bool) { return maker{p: &p}.workload() }

func (m maker) kubectl(words ...string) string {
	return line(slices.Concat([]string{"kubectl"}, m.where(), words)...)
}

// backlogCommand is a command line of this program: a plugin's flags follow its
// name.
func (m maker) backlogCommand(words ...string) string {
	return line(slices.Concat([]string{"kubectl", "backlog", words[0]}, m.where(), words[1:])...)
}

func (m maker) where() []string {
	var words []string
	if m.o.Kubeconfig != "" {
		words = append(words, "--kubeconfig", m.o.Kubeconfig)
	}
	if m.o.Context != "" {
		words = append(words, "--context", m.o.Context)
	}
	return append(words, "-n", m.p.Meta.Namespace)
}

func (m maker) workload() (string, bool) {
	w := m.p.Workload
	switch w.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return strings.ToLower(w.Kind) + "/" + w.Name, true
	case "Rollout":
		return "rollouts.argoproj.io/" + w.Name, true
	}
	return "", false
}

// restarts says what a change of the template does.
func (m maker) restarts(a *model.Action) {
	switch {
	case m.p.Manifest.Strategy == "OnDelete":
		a.Notes = append(a.Notes, "the workload's update strategy is OnDelete: each pod changes when it is deleted, not before")
	default:
		n := ""
		if r, ok := m.p.Manifest.Replicas.Get(); ok && r > 0 {
			n = " " + count(r, "pod")
		}
		a.Notes = append(a.Notes, "restarts"+n+" one after another, and new pods start with a burst: off-peak")
	}
}

func count(n int64, what string) string {
	text := num(n) + " " + what
	if n != 1 {
		text += "s"
	}
	return text
}
