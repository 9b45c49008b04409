package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Wanted is what somebody would like to set; what is unknown stays as it is.
type Wanted struct {
	// Workers of each proxy, and Ratio of the CPUs available to it, above 0 and below
	// 1: one of them at most. Backlog of the inbound listener.
	Workers model.Value[int64]   `json:"workers"`
	Ratio   model.Value[float64] `json:"cpuRatio"`
	Backlog model.Value[int64]   `json:"backlog"`
}

// Any says whether anything is wanted at all.
func (w Wanted) Any() bool { return w.Workers.IsKnown() || w.Ratio.IsKnown() || w.Backlog.IsKnown() }

// Node is one that the workload may run on.
type Node struct {
	Name string
	CPUs model.Value[int64]
}

// Input is what a plan is made from.
type Input struct {
	// Pods of one workload as they were measured last, over the whole window.
	Pods []model.Pod
	// Bursts are the largest that were seen while they were looked at.
	Bursts Bursts
	Wanted Wanted
	// Rule is the workers' rule as the spec has it now, Limit the CPU limit in whole
	// CPUs. HasRule is false where the proxy has none that is known.
	Rule    model.WorkerRule
	Limit   model.Value[int64]
	HasRule bool
	// FixedMax says that a maximum that is set now cannot be taken away by the
	// workload, so that it goes on beating a ratio.
	FixedMax bool
	// Nodes that the workload may run on; with none, NodesReason says why.
	Nodes       []Node
	NodesReason string
	// NodeNotes say what the choice of the nodes does not take into account.
	NodeNotes []string
}

// Plan is what would follow.
type Plan struct {
	Namespace string         `json:"-"`
	Workload  model.Workload `json:"workload"`
	// Pods is how many were looked at.
	Pods   int    `json:"pods"`
	Wanted Wanted `json:"wanted"`
	// Demand is what the busiest pod's workers are asked to do.
	Demand Demand `json:"demand"`
	// Workers on each kind of node, the smallest first.
	Workers []OnNodes `json:"workers"`
	// Queues are those that the plan looks at, the worst first.
	Queues []Queue `json:"queues"`
	// Needed is what the evidence asks for, whatever was wanted.
	Needed Needed `json:"needed"`
	// Changes are the settings to change, without commands. Whoever knows how they are
	// made adds Apply, and the API server's answer to it where that was asked.
	Changes []model.Action `json:"changes,omitempty"`
	Apply   []model.Action `json:"apply,omitempty"`
	Checked string         `json:"serverDryRun,omitempty"`
	// Restarts says what has to restart, and how.
	Restarts string `json:"restarts,omitempty"`
	// Findings are what keeps the plan from working, or makes it useless.
	Findings []string `json:"findings,omitempty"`
	// Assumptions are those that the predictions rest on, Unknown what was not known.
	Assumptions []string `json:"assumptions,omitempty"`
	Unknown     []string `json:"unknown,omitempty"`
}

// Needed is what the present evidence would need; unknown with the reason where it
// does not tell.
type Needed struct {
	Workers model.Value[int64] `json:"workers"`
	Backlog model.Value[int64] `json:"backlog"`
}

// Of makes a plan. It gives an empty one for no pods.
func Of(in Input) Plan {
	p := Plan{Wanted: in.Wanted, Workers: []OnNodes{}, Queues: []Queue{}}
	if len(in.Pods) == 0 {
		return p
	}
	p.Namespace, p.Workload, p.Pods = in.Pods[0].Meta.Namespace, in.Pods[0].Workload, len(in.Pods)
	if p.Workload.Name == "" {
		p.Workload = model.Workload{Kind: "Pod", Name: in.Pods[0].Meta.Name}
	}
	b := &builder{in: in, p: &p}
	b.demand()
	b.workers()
	b.queues()
	b.changes()
	p.Restarts = restarts(in)
	return p
}

// builder fills a plan.
type builder struct {
	in Input
	p  *Plan
}

func (b *builder) assume(format string, args ...any) {
	b.p.Assumptions = appendOnce(b.p.Assumptions, fmt.Sprintf(format, args...))
}

func (b *builder) unknown(format string, args ...any) {
	b.p.Unknown = appendOnce(b.p.Unknown, fmt.Sprintf(format, args...))
}

func (b *builder) find(format string, args ...any) {
	b.p.Findings = appendOnce(b.p.Findings, fmt.Sprintf(format, args...))
}

func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// knob is a setting of the workload's pods, by its name; nil when none has it.
func (b *builder) knob(name string) *model.Knob {
	for i := range b.in.Pods {
		for j := range b.in.Pods[i].Knobs {
			if k := &b.in.Pods[i].Knobs[j]; k.Name == name {
				return k
			}
		}
	}
	return nil
}

// changes are the settings that lead to what is wanted.
func (b *builder) changes() {
	w := b.in.Wanted
	if w.Any() {
		for _, k := range b.in.Pods[0].Knobs {
			if k.Differs() && k.Remedy.Restart {
				b.find("the restart brings this as well: %s %d instead of %d", k.Name, k.Asked.Or(0), k.InForce.Or(0))
			}
		}
	}
	if w.Workers.IsKnown() || w.Ratio.IsKnown() {
		a := model.Action{Kind: model.ActAddWorkers, Knob: workersKnob, From: b.p.Demand.Workers, To: w.Workers, Text: "Workers of the proxy."}
		if r, ok := w.Ratio.Get(); ok {
			a.Text = fmt.Sprintf("Workers of the proxy: a ratio of %g of the CPUs available to it.", r)
		}
		if b.knob(workersKnob) == nil {
			b.find("these pods have no setting of workers that is known: no proxy was recognised in them")
		} else {
			b.p.Changes = append(b.p.Changes, a)
		}
	}
	n, ok := w.Backlog.Get()
	if !ok {
		return
	}
	a := model.Action{Kind: model.ActRaiseBacklog, Knob: inboundBacklog, To: model.Known(n), Text: "Backlog of the inbound listener."}
	for _, q := range b.p.Queues {
		if q.Planned.IsKnown() {
			a.From = q.Limit
			break
		}
	}
	if b.knob(inboundBacklog) == nil {
		b.find("these pods have no setting of a backlog that is known: it is the program's own option")
		return
	}
	b.p.Changes = append(b.p.Changes, a)
}

// The names of settings that every proxy has where the meaning is.
const (
	workersKnob    = "workers"
	inboundBacklog = "inbound backlog"
)

// restarts says what a change of the pod template restarts.
func restarts(in Input) string {
	if !in.Wanted.Any() {
		return ""
	}
	p := in.Pods[0]
	if p.Workload.Name == "" {
		return "the pod has to be made anew: nothing owns it that would do so"
	}
	n := in.Pods[0].Manifest.Replicas.Or(int64(len(in.Pods)))
	who := fmt.Sprintf("%s of %s/%s", plural(n, "pod"), p.Workload.Kind, p.Workload.Name)
	switch strategy := cmp.Or(p.Manifest.Strategy, ""); {
	case p.Manifest.Paused:
		return who + ", once its rollout is resumed: it is paused"
	case strategy == "OnDelete":
		return who + ", each when somebody deletes it (OnDelete)"
	case strategy == "Recreate":
		return who + ", all at once (Recreate): there is an outage in between"
	case p.Workload.Kind == "Job" || p.Workload.Kind == "CronJob":
		return who + ": only new ones have it"
	}
	return who + ", one after another; each new pod starts with a burst of connections, so better off-peak"
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
