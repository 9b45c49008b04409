package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// OnNodes is what follows on nodes with so many CPUs.
type OnNodes struct {
	CPUs model.Value[int64] `json:"cpus"`
	// Nodes is how many there are, Names a few of them, Pods how many of the
	// workload's pods run there now.
	Nodes int      `json:"nodes"`
	Names []string `json:"names,omitempty"`
	Pods  int      `json:"pods"`
	// Available CPUs of a proxy there: its CPU limit at most. Now and Planned are the
	// workers by the proxy's own formula, before and after.
	Available model.Value[int64] `json:"available"`
	Now       model.Value[int64] `json:"workersNow"`
	Planned   model.Value[int64] `json:"workers"`
	// Busy is the predicted busy ratio, BusyAtLeast its lower bound: the work done
	// now, spread over the new workers.
	Busy        model.Value[float64] `json:"busy"`
	BusyAtLeast model.Value[float64] `json:"busyAtLeast"`
}

// namesShown is how many nodes of a kind are named.
const namesShown = 3

// rules are how workers follow from CPUs now, and with what is wanted.
type rules struct {
	now, planned           model.WorkerRule
	limitNow, limitPlanned model.Value[int64]
	// fixed is a number that no node caps; 0 for none.
	fixed int64
}

func (b *builder) workers() {
	b.p.Needed.Workers = b.needed()
	if !b.in.HasRule {
		b.unknown("how many workers there would be: no proxy with a known rule was recognised in the pods")
		return
	}
	if len(b.in.Nodes) == 0 {
		b.unknown("the nodes that the workload may run on: %s", cmp.Or(b.in.NodesReason, "none was found"))
	}
	for _, n := range b.in.NodeNotes {
		b.assume("%s", n)
	}
	r := b.rules()
	for _, kind := range kinds(b.in) {
		kind.Available = available(kind.CPUs, r.limitPlanned)
		kind.Now = apply(r.now, available(kind.CPUs, r.limitNow))
		kind.Planned = apply(r.planned, kind.Available)
		if r.fixed > 0 {
			kind.Planned = model.Known(r.fixed)
		}
		b.predict(&kind)
		b.judge(kind)
		b.p.Workers = append(b.p.Workers, kind)
	}
	b.assume("workers follow from the CPU limit, rounded up, and the node's CPUs as the proxy reads them at its start; a CPU set that is narrower than the node is not seen")
}

// rules applies what is wanted to the rule as it is.
func (b *builder) rules() rules {
	r := rules{now: b.in.Rule, planned: b.in.Rule, limitNow: b.in.Limit, limitPlanned: b.in.Limit}
	knob := b.knob(workersKnob)
	if knob == nil {
		return r
	}
	if ratio, ok := b.in.Wanted.Ratio.Get(); ok {
		r.planned.Ratio = model.Known(ratio)
		if r.now.Max.IsKnown() && b.in.FixedMax {
			b.find("a maximum of %d is set that this workload does not set itself: it beats the ratio, which changes nothing", r.now.Max.Or(0))
			return r
		}
		if r.now.Max.IsKnown() {
			b.assume("the CPU limit that is set now goes: as a maximum of the workers it would beat the ratio")
			r.planned.Max, r.limitPlanned = model.Value[int64]{}, model.Unknown[int64]("taken away with the maximum")
		}
		return r
	}
	n, ok := b.in.Wanted.Workers.Get()
	if !ok {
		return r
	}
	switch knob.Remedy.Unit {
	case "cpus":
		r.planned.Max, r.limitPlanned = model.Known(n), model.Known(n)
		b.assume("the setting of the workers is the proxy's CPU limit as well: each proxy may use up to %s", plural(n, "CPU"))
		if least := r.now.Min.Or(1); least > n {
			b.find("the minimum is %d (its CPU request, rounded up): it beats a maximum of %d, and a limit below the request is refused", least, n)
		}
	case "ratio":
		cpus, ok := knob.Available.Get()
		if !ok || cpus < 1 {
			b.unknown("which ratio gives %s: the CPUs that it is of are unknown", plural(n, "worker"))
			return r
		}
		// With as many digits as the command has.
		ratio := min(1, roundTo3(float64(n)/float64(cpus)))
		r.planned.Ratio = model.Known(ratio)
		b.assume("the workers are set as a ratio: %.3g of %s gives %d, and another number on another kind of node", ratio, plural(cpus, "CPU"), n)
	default:
		r.fixed = n
		b.assume("the number is taken as it is, whatever the node has: more workers than CPUs only take turns")
	}
	return r
}

// roundTo3 keeps three digits.
func roundTo3(f float64) float64 {
	if f <= 0 {
		return f
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(f)))
	return math.Round(f*scale) / scale
}

// kinds puts nodes with equally many CPUs together, those of unknown CPUs last.
// Where no node is known, the CPUs that a ratio is of, as the pods tell them, stand
// for one.
func kinds(in Input) []OnNodes {
	at := map[string]int{} // pods by node
	for i := range in.Pods {
		at[in.Pods[i].Node]++
	}
	nodes := in.Nodes
	if len(nodes) == 0 {
		nodes = nodesOfPods(in.Pods)
	}
	by := map[model.Value[int64]]*OnNodes{}
	for _, n := range nodes {
		kind := model.Known(n.CPUs.Or(0))
		if !n.CPUs.IsKnown() {
			kind = model.Unknown[int64]("some nodes do not tell their CPUs")
		}
		k := by[kind]
		if k == nil {
			k = &OnNodes{CPUs: kind}
			by[kind] = k
		}
		k.Nodes++
		k.Pods += at[n.Name]
		k.Names = append(k.Names, n.Name)
	}
	var all []OnNodes
	for _, k := range by {
		slices.Sort(k.Names)
		k.Names = k.Names[:min(len(k.Names), namesShown)]
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b OnNodes) int {
		return cmp.Compare(a.CPUs.Or(math.MaxInt64), b.CPUs.Or(math.MaxInt64))
	})
	return all
}

// nodesOfPods are those that the pods run on, with what the pods know of them.
func nodesOfPods(pods []model.Pod) []Node {
	var nodes []Node
	for i := range pods {
		p := &pods[i]
		if p.Node == "" || slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == p.Node }) {
			continue
		}
		n := Node{Name: p.Node, CPUs: model.Unknown[int64]("not known")}
		for _, k := range p.Knobs {
			if k.Name == workersKnob && k.Available.IsKnown() {
				n.CPUs = k.Available
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// available CPUs of a proxy: those of the node, its own limit at most.
func available(cpus, limit model.Value[int64]) model.Value[int64] {
	n, ok := cpus.Get()
	l, limited := limit.Get()
	switch {
	case !ok && limited && l <= 1:
		return model.Known[int64](1)
	case !ok:
		return cpus
	case limited:
		return model.Known(max(1, min(n, l)))
	}
	return model.Known(max(1, n))
}

// apply gives the workers; unknown where a part of the rule that decides is, or
// the CPUs are that it needs.
func apply(r model.WorkerRule, cpus model.Value[int64]) model.Value[int64] {
	switch {
	case !r.Min.IsKnown() && r.Min.Reason() != "":
		return model.Unknown[int64](r.Min.Reason())
	case !r.Max.IsKnown() && r.Max.Reason() != "":
		return model.Unknown[int64](r.Max.Reason())
	case !r.Max.IsKnown() && !r.Ratio.IsKnown() && r.Ratio.Reason() != "":
		return model.Unknown[int64](r.Ratio.Reason())
	}
	n, ok := cpus.Get()
	switch {
	case ok:
		return model.Known(int64(r.Workers(int(min(n, math.MaxInt32)))))
	case (r.Max.IsKnown() || !r.Ratio.IsKnown()) && r.Workers(math.MaxInt32) == 1:
		return model.Known[int64](1) // whatever the node has
	}
	return model.Unknown[int64](cpus.Reason())
}

// predict gives the busy ratio with so many workers.
func (b *builder) predict(k *OnNodes) {
	n, ok := k.Planned.Get()
	asked, ok2 := b.p.Demand.Asked.Get()
	if !ok || !ok2 || n < 1 {
		reason := cmp.Or(k.Planned.Reason(), b.p.Demand.Asked.Reason())
		k.Busy, k.BusyAtLeast = model.Unknown[float64](reason), model.Unknown[float64](reason)
		return
	}
	k.BusyAtLeast = model.Known(min(1, b.p.Demand.Served.Or(0)/float64(n)))
	k.Busy = model.Known(min(1, asked*b.dearer(n)/float64(n)))
}

// dearer is by how much the same work costs more with so many workers.
func (b *builder) dearer(workers int64) float64 {
	p := b.pod(b.p.Demand.Pod)
	if p.Proxy.Adapter != "linkerd" || b.p.Demand.Workers.Or(0) != 1 || workers <= 1 {
		return 1
	}
	b.assume("several workers need up to %g times as much for the same requests as a single one, as was measured on linkerd2-proxy: half of that is reckoned with, and the lower bound leaves it out", mostThreading)
	return threading
}

// needed is the least number of workers that would stay comfortable.
func (b *builder) needed() model.Value[int64] {
	asked, ok := b.p.Demand.Asked.Get()
	if !ok {
		return model.Unknown[int64](b.p.Demand.Asked.Reason())
	}
	now, _ := b.p.Demand.Workers.Get()
	each := func(work float64) float64 { return work / float64(max(1, now)) }
	if each(b.p.Demand.Served.Or(0)) <= comfortable && each(asked) < saturated {
		// Fewer would do, perhaps, but not for a peak that was not seen. Refusals alone,
		// while the workers have time, call for a queue and not for workers.
		return model.Known(now)
	}
	b.assume("workers should be busy for %g of the time at most: saturation begins at %g, and arrivals vary by half", comfortable, saturated)
	for n := max(1, now); n < maxWorkers; n++ {
		if asked*b.dearer(n)/float64(n) <= comfortable {
			return model.Known(n)
		}
	}
	return model.Known[int64](maxWorkers)
}

// maxWorkers bounds the search.
const maxWorkers = 1024

// judge says where the plan does not lead to what was wanted.
func (b *builder) judge(k OnNodes) {
	planned, ok := k.Planned.Get()
	if !ok {
		b.unknown("the workers on %s: %s", kindName(k), k.Planned.Reason())
		return
	}
	if n, wanted := b.in.Wanted.Workers.Get(); wanted && planned < n {
		b.find("on %s there would be %s, not %d: that is what the proxy's formula gives there", kindName(k), plural(planned, "worker"), n)
	}
	if w := b.in.Wanted; (w.Workers.IsKnown() || w.Ratio.IsKnown()) && k.Now == k.Planned {
		b.find("on %s there is %s before and after: nothing changes", kindName(k), plural(planned, "worker"))
	}
	cpus, known := k.CPUs.Get()
	if known && planned > cpus {
		b.find("on %s %s share %s", kindName(k), plural(planned, "worker"), plural(cpus, "CPU"))
	}
	if busy, ok := k.Busy.Get(); ok && b.in.Wanted.Any() && busy >= saturated {
		b.find("on %s the workers would still be saturated (busy %.2f)", kindName(k), busy)
	}
}

func kindName(k OnNodes) string {
	if n, ok := k.CPUs.Get(); ok {
		return fmt.Sprintf("nodes with %s", plural(n, "CPU"))
	}
	return "nodes whose CPUs are unknown"
}
