package plan

import (
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// saturated is the busy ratio from which workers hide what is asked of them:
	// saturated ones read 0.91 to 1.03 over 2 s, loaded but healthy ones 0.83.
	saturated = 0.9
	// comfortable is the busy ratio that planned workers should stay at: saturation
	// begins at 0.9, and arrivals vary by half.
	comfortable = 0.6
	// threading is what several workers are reckoned to cost more than a single one,
	// which runs without any synchronisation, for the same requests: the middle
	// between nothing, for small ones on a small proxy, and the 1.25 that was measured
	// on linkerd2-proxy.
	threading     = 1.125
	mostThreading = 1.25
	// mostHidden bounds what is added for those who wait or were refused: beyond
	// twice of what was served it would be a guess.
	mostHidden = 2.0
	// starved is busy time over CPU time from which workers wait for a CPU rather
	// than work. Healthy proxies read up to 1.24.
	starved = 1.5
)

// Demand is the work that the busiest pod's workers are asked for.
type Demand struct {
	// Pod is the one that it was seen in; Seconds the window that was looked at.
	Pod     string               `json:"pod,omitempty"`
	Seconds model.Value[float64] `json:"seconds"`
	Busy    model.Value[float64] `json:"busy"`
	Workers model.Value[int64]   `json:"workers"`
	// Served is the work done, in workers (busy ratio times workers). Asked is what
	// would be done if nobody waited or was refused: an estimate, above Served only
	// where somebody did.
	Served model.Value[float64] `json:"served"`
	Asked  model.Value[float64] `json:"asked"`
	// AtLeast says that the workers were saturated, so that Served is a lower bound
	// of what is asked for.
	AtLeast bool `json:"atLeast,omitempty"`
}

func (b *builder) demand() {
	d := &b.p.Demand
	reason := "the busy ratio of the workers is unknown"
	best := -1.0
	for i := range b.in.Pods {
		p := &b.in.Pods[i]
		busy, ok := p.Runtime.Window.Busy.Get()
		workers, ok2 := p.Runtime.Workers.Get()
		if !ok || !ok2 {
			reason = orReason(p.Runtime.Window.Busy, p.Runtime.Workers, reason)
			continue
		}
		served := busy * float64(workers)
		one := Demand{
			Pod: p.Meta.Name, Seconds: p.Runtime.Window.Seconds, Busy: model.Known(busy), Workers: model.Known(workers),
			Served: model.Known(served), AtLeast: busy >= saturated,
		}
		asked, words := hidden(p, served, one.AtLeast)
		if asked > best {
			best = asked
			one.Asked = model.Known(asked)
			*d = one
			b.p.Assumptions = words
		}
	}
	if best < 0 {
		*d = Demand{
			Seconds: model.Unknown[float64](reason), Busy: model.Unknown[float64](reason), Workers: b.anyWorkers(),
			Served: model.Unknown[float64](reason), Asked: model.Unknown[float64](reason),
		}
		b.unknown("how busy the workers would be: %s", reason)
		return
	}
	b.assume("the load stays as it was in the window: %s, of the busiest pod %s", seconds(d.Seconds), d.Pod)
	if cpu, ok := b.pod(d.Pod).Runtime.Window.CPU.Get(); ok && d.AtLeast && cpu > 0 && d.Served.Or(0)/cpu >= starved {
		b.find("the workers got %.2f cores of CPU while they were busy for %.2f: they wait for a CPU, and more workers do not help", cpu, d.Served.Or(0))
	}
}

// pod is the one of a name; the zero Pod when there is none.
func (b *builder) pod(name string) *model.Pod {
	for i := range b.in.Pods {
		if b.in.Pods[i].Meta.Name == name {
			return &b.in.Pods[i]
		}
	}
	return &model.Pod{}
}

// anyWorkers are the workers in force of the first pod that tells them.
func (b *builder) anyWorkers() model.Value[int64] {
	v := model.Unknown[int64]("the workers in force are unknown")
	for i := range b.in.Pods {
		if w := b.in.Pods[i].Runtime.Workers; w.IsKnown() {
			return w
		}
	}
	return v
}

func orReason(busy model.Value[float64], workers model.Value[int64], or string) string {
	switch {
	case !workers.IsKnown() && workers.Reason() != "":
		return workers.Reason()
	case !busy.IsKnown() && busy.Reason() != "":
		return busy.Reason()
	}
	return or
}

// hidden adds to the work done what was not done for those who were refused and
// those who waited, and says with which assumptions.
func hidden(p *model.Pod, served float64, atLeast bool) (asked float64, words []string) {
	if atLeast {
		words = append(words, "the workers were busy all the time: what was served is a lower bound of what is asked for")
	}
	perSecond, ok := p.Window.PerSecond(p.Window.Accepted).Get()
	length := p.Window.Seconds.Or(0)
	if !ok || perSecond < 1 || length <= 0 {
		if atLeast {
			words = append(words, "nothing is added for those who waited or were refused: how many were accepted is unknown")
		}
		return served, words
	}
	// Whoever is refused comes back, and waits then: the two are not added up. Where
	// clients come whatever happens, the refused are the rest of what is asked for;
	// where each waits for its answer before it asks again, those who wait are.
	share := 0.0
	if refused := refusals(p).Or(0); refused > 0 {
		share = float64(refused) / length / perSecond
		words = append(words, fmt.Sprintf("each of the %d refused packets was a connection that would have cost as much as an accepted one: clients that try more often within a second make it fewer", refused))
	}
	if n := waiting(p); atLeast && float64(n)/perSecond > share {
		share = float64(n) / perSecond
		words = append(words, fmt.Sprintf("the %s that waited in queues would come back once a second if nobody had to wait, and among them whoever was refused", plural(n, "connection")))
	}
	if share > mostHidden-1 {
		share = mostHidden - 1
		words = append(words, "more than was served was not: only as much again is added, it may be more")
	}
	return served * (1 + share), words
}

// refusals are the packets that were refused at the proxy's listeners in the
// window; where nobody knows whose they were, those of the pod.
func refusals(p *model.Pod) model.Value[int64] {
	sum, known := int64(0), false
	for i := range p.Listeners {
		l := &p.Listeners[i]
		if l.Role != model.RoleInbound && l.Role != model.RoleOutbound && p.Proxy.Sidecar {
			continue
		}
		if n, ok := l.Window.Overflows.Get(); ok {
			sum, known = sum+n, true
		}
	}
	if known {
		return model.Known(sum)
	}
	return p.Window.Overflows
}

// waiting is who waits for a worker: in the accept queues of the proxy, and in its
// own run queue.
func waiting(p *model.Pod) int64 {
	n := p.Runtime.LocalQueue.Or(0)
	for i := range p.Listeners {
		l := &p.Listeners[i]
		if l.Role != model.RoleInbound && l.Role != model.RoleOutbound && p.Proxy.Sidecar {
			continue
		}
		for j := range l.Sockets {
			n += l.Sockets[j].Depth.Or(0)
		}
	}
	return max(0, n)
}

func seconds(v model.Value[float64]) string {
	s, ok := v.Get()
	if !ok {
		return "of unknown length"
	}
	return fmt.Sprintf("%.0f s", s)
}
