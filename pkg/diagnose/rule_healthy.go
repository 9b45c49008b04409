package diagnose

import (
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// historyOnly: the counters are not zero, and nothing happened in the window.
// They live as long as the pod's sandbox: in a young pod they are the incident.
func historyOnly(f *facts, found []model.Verdict) (model.Verdict, bool) {
	if len(found) > 0 && !onlyDrift(found) {
		return model.Verdict{}, false
	}
	n, ok := f.last.Counters.ListenOverflows.Get()
	if !ok || n == 0 || f.overflows.Or(1) != 0 {
		return model.Verdict{}, false
	}
	age, aged := f.age.Get()
	young := aged && age <= youngSeconds
	ago, recent := f.lastOverflow()
	if !young && !recent && f.explained() < histShare*float64(n) {
		return model.Verdict{}, false // of sockets that are gone: not of this process
	}
	v := model.Verdict{
		Class: model.ClassHistory, Severity: model.SeverityInfo,
		Sentence: fmt.Sprintf("Nothing is refused now: the %s refused packets are from before this window, at an unknown time within the pod's life.", num(n)),
		Since:    f.from,
		Now:      []model.Action{do(model.ActWatch, "Keep looking: only a difference between two readings is evidence.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not a change now: when and how fast they came is unknown.")},
		Unknown:  []string{"when the packets were refused"},
	}
	if recent {
		v.Sentence = fmt.Sprintf("Nothing is refused now; the last refused packet was seen %s ago, of %s in all.", secs(ago), num(n))
		v.Unknown = nil
	}
	if young {
		v.Severity = model.SeverityWarning
		v.Sentence = fmt.Sprintf("%s packets were refused within this pod's %s, none of them now: they are of its start.", num(n), secs(age))
	}
	v.Evidence = append(v.Evidence, f.evidence("refused packets", "+0 in this window, "+num(n)+" before", float64(n), "packets", "nstat"))
	return v, true
}

func onlyDrift(found []model.Verdict) bool {
	for i := range found {
		if found[i].Class != model.ClassConfigDrift {
			return false
		}
	}
	return true
}

// lastOverflow looks through the whole history, not only the window.
func (f *facts) lastOverflow() (ago float64, ok bool) {
	if at, ok := f.h.Refused.Get(); ok {
		return f.to.Or(0) - at, true
	}
	all := f.h.Samples
	for i := len(all) - 1; i > 0; i-- {
		if all[i-1].Sample.Sandbox != f.last.Sample.Sandbox {
			return 0, false
		}
		if n, ok := model.Growth(all[i-1].Counters.ListenOverflows, all[i].Counters.ListenOverflows).Get(); ok && n > 0 {
			return f.to.Or(0) - all[i].Sample.Uptime.Or(0), true
		}
	}
	return 0, false
}

// explained is the sum of the present sockets' own drop counts; what is unknown
// may explain anything.
func (f *facts) explained() float64 {
	var sum float64
	for i := range f.last.Listeners {
		for j := range f.last.Listeners[i].Sockets {
			d, ok := f.last.Listeners[i].Sockets[j].Drops.Get()
			if !ok {
				return 1e18
			}
			sum += float64(d)
		}
	}
	return sum
}

// healthy: it is not the queue, as far as this window tells.
func healthy(f *facts, found []model.Verdict) (model.Verdict, bool) {
	if len(found) > 0 {
		return model.Verdict{}, false
	}
	v := model.Verdict{
		Class: model.ClassHealthy, Severity: model.SeverityInfo, Since: f.from,
		Sentence: fmt.Sprintf("Not the queue: nothing was refused in %s, and no queue was near its limit.", secs(f.seconds.Or(0))),
		Fix: []model.Action{do(model.ActElsewhere,
			"Look next at the clients' side (their own outbound listener, DNS, connection pools), the network between, and the app's latency.")},
		Not: []model.Action{do(model.ActRaiseBacklog, "Not the backlog, nor workers: neither binds.")},
	}
	l := f.deepest()
	if !f.overflows.IsKnown() {
		v.Sentence = "No queue was near its limit; whether anything was refused is unknown."
		v.Unknown = append(v.Unknown, "refused packets: "+f.overflows.Reason())
	}
	if l != nil {
		v.Evidence = f.queueEvidence(l)
		v.Unknown = append(v.Unknown, f.unknowns(l)...)
	}
	return v, true
}
