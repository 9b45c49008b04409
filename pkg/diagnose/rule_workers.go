package diagnose

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// loaded says whether a listener's queue shows trouble, or its proxy's workers
// alone do (the queue may be deep enough to absorb them).
func (f *facts) loaded(l *listener) bool {
	return l.pressed() || l.stands || l.role == model.RoleInbound || l.role == model.RoleOutbound
}

// recent judges the workers of a listener without pressure over the last
// seconds alone, so that a load that has just begun is not averaged away.
func (f *facts) recent(l *listener) *workers {
	if l.pressed() {
		return l.w
	}
	if l.late != nil {
		return l.late
	}
	n := len(f.samples)
	from := n - 1
	for from > 0 && f.at(n-1)-f.at(from) < 2*spanSeconds {
		from--
	}
	short := *l
	short.spanFrom, short.spanTo = from, n-1
	l.late = f.workersOf(&short)
	if l.late.saturated == open && l.late.starved == open {
		l.late = l.w // too few readings in so short a time: the whole window tells
	}
	return l.late
}

func severityOf(l *listener) model.Severity {
	if l.overflows.Or(0) > 0 {
		return model.SeverityCritical
	}
	return model.SeverityWarning
}

// cpuStarved: the workers want CPU and do not get it.
func cpuStarved(f *facts, l *listener) (model.Verdict, bool) {
	if !f.loaded(l) {
		return model.Verdict{}, false
	}
	w := f.recent(l)
	if w.starved != yes || !l.pressed() && w.busy.Or(1) < busySaturated && !f.moving(l) {
		return model.Verdict{}, false
	}
	l.w = w
	container := f.last.Process.Container
	if l.role != "" && l.role != model.RoleApp {
		container = f.last.Proxy.Container
	}
	v := model.Verdict{
		Class: model.ClassCPUStarved, Severity: severityOf(l),
		Sentence: fmt.Sprintf("The workers behind %s want CPU and do not get it: they used %s cores.", l.name(), ratio(w.cpu.Or(0))),
		Since:    f.pressureSince(l),
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{do(model.ActScaleOut, "More replicas, on nodes with free CPU.")},
		Fix: []model.Action{do(model.ActRaiseCPU, "A higher CPU limit where the limit binds, else a higher CPU request, so that neighbours leave it its share.")},
		Not: []model.Action{
			do(model.ActAddWorkers, "Not more workers: they would share the same CPU."),
			do(model.ActRaiseBacklog, "Not a larger backlog: the queue fills at the same rate."),
		},
	}
	v.Fix[0].Container = container
	if lim, ok := w.limit.Get(); ok {
		v.Fix[0].From = model.Known(int64(math.Round(lim * 1000)))
		v.Fix[0].Knob = "CPU limit (millicores)"
		v.Fix[0].To = f.enoughCPU(w, lim)
		v.Fix[0].Text = "A higher CPU limit: what the workers want is more than it lets them have."
	} else {
		v.Unknown = append(v.Unknown, "the CPU limit: "+cmp.Or(w.limit.Reason(), "not handed over")+"; so whether the limit or a neighbour binds")
	}
	return v, true
}

// enoughCPU is a limit in millicores under which the workers would get what they
// want now with room for busyEnough; unknown where they do not want more than
// their limit, so that a neighbour takes it.
func (f *facts) enoughCPU(w *workers, limit float64) model.Value[int64] {
	want := w.cpu.Or(0) + w.wait.Or(0)
	if busy, ok := w.busy.Get(); ok {
		want = max(want, busy*float64(w.count.Or(1)))
	}
	if want <= limit {
		return model.Unknown[int64]("the limit is more than the workers want")
	}
	to := int64(math.Ceil(want/busyEnough*10)) * 100
	if n, ok := f.last.Process.CPUsAllowed.Get(); ok {
		to = min(to, n*1000)
	}
	return model.Known(to)
}

// moving says whether connections are accepted at all.
func (f *facts) moving(*listener) bool { return f.acceptedPerSecond().Or(0) > 0 }

// saturated: the workers do all that they can, with or without overflow.
func saturated(f *facts, l *listener) (model.Verdict, bool) {
	if !f.loaded(l) {
		return model.Verdict{}, false
	}
	w := f.recent(l)
	if w.saturated != yes || w.runtimeStalled > 0 {
		return model.Verdict{}, false
	}
	l.w = w
	v := model.Verdict{
		Class: model.ClassSaturated, Severity: severityOf(l),
		Sentence: fmt.Sprintf("The workers behind %s are busy all the time: more arrives than they can serve.", l.name()),
		Since:    f.pressureSince(l),
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{do(model.ActScaleOut, "More replicas share the load.")},
		Fix: []model.Action{do(model.ActAddWorkers, "More workers, and the CPU for them.")},
		Not: []model.Action{do(model.ActRaiseBacklog, "Not the backlog alone: a deeper queue hides bursts and adds waiting, the rate stays.")},
	}
	if n, ok := w.count.Get(); ok {
		v.Fix[0].Knob, v.Fix[0].From = "workers", w.count
		v.Fix[0].To = model.Known(max(n+1, int64(math.Ceil(float64(n)*w.busy.Or(1)/comfortable))))
	}
	if w.starved == open && w.busy.IsKnown() {
		v.Class, v.Candidates = model.ClassUndecided, []model.Class{model.ClassSaturated, model.ClassCPUStarved}
	}
	return v, true
}

func (f *facts) pressureSince(l *listener) model.Value[float64] {
	if l.pressed() {
		return model.Known(f.at(max(0, l.first-1)))
	}
	return f.from
}

// justBegun: pressure of less than a few seconds that goes on may become any of
// the lasting kinds, unless the workers are known to have headroom and the queue
// does not stay full. So may a standstill that goes on.
func justBegun(f *facts, l *listener) (model.Verdict, bool) {
	if !l.pressed() || !l.lasting {
		return model.Verdict{}, false
	}
	short := (l.spanSeconds(f) < spanSeconds-slack || l.spanTo-l.spanFrom < minSamples) && l.lowShare < drainedOf && (l.w.headroom != yes || l.highShare >= mostOf)
	// Twice the longest gap between two accepts before it: not an acceptor that
	// blocks, or not for sure.
	still := l.still.lasts && !l.provenStill() && l.highShare >= mostOf && l.still.seconds >= 1 && l.still.seconds >= 2*l.still.others
	if !short && !still {
		return model.Verdict{}, false
	}
	if l.spanFrom == 0 && len(f.samples) >= 2*minSamples && f.seconds.Or(0) < spanSeconds {
		return model.Verdict{}, false // that is all there is: judge it as it stands
	}
	return model.Verdict{
		Class: model.ClassTooEarly, Severity: model.SeverityWarning,
		Sentence: fmt.Sprintf("Not enough seen yet: the queue of %s filled %s ago.", l.name(), secs(l.spanSeconds(f))),
		Since:    f.pressureSince(l), Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{do(model.ActWait, "Look a few seconds longer.")},
	}, true
}

// acceptSlow: full most of the time, accepted from all the same, by workers that
// mostly sleep: something in the accept path blocks.
func acceptSlow(f *facts, l *listener) (model.Verdict, bool) {
	full := l.pressed() && l.highShare >= mostOf
	if !full && !l.stands || l.w.headroom != yes {
		return model.Verdict{}, false
	}
	v := model.Verdict{
		Class: model.ClassAcceptSlow, Severity: severityOf(l),
		Sentence: fmt.Sprintf("The queue of %s stays full while its workers mostly sleep: something in the accept path blocks.", l.name()),
		Since:    f.pressureSince(l), Over: !l.lasting,
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{do(model.ActScaleOut, "More replicas accept side by side.")},
		Fix: []model.Action{
			do(model.ActFixAccept, "Take the blocking work out of the accept path: what is done between two accepts."),
			do(model.ActAddAcceptors, "Or more acceptors, each with a socket of its own (SO_REUSEPORT)."),
		},
		Not: []model.Action{
			do(model.ActRaiseCPU, "Not CPU: it is not used."),
			do(model.ActRaiseBacklog, "Not a larger backlog: it only buffers, and everybody waits longer."),
		},
	}
	return v, true
}

// undecided: the workers' figures are what tells the lasting kinds apart.
func undecided(f *facts, l *listener) (model.Verdict, bool) {
	if !l.pressed() && !l.stands || l.w.headroom == yes || l.w.saturated != open && l.w.starved != open {
		return model.Verdict{}, false
	}
	v := model.Verdict{
		Class: model.ClassUndecided, Severity: severityOf(l), Since: f.pressureSince(l), Over: !l.lasting,
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{do(model.ActScaleOut, "More replicas help with each of them.")},
		Fix: []model.Action{do(model.ActWatch, "Look at the workers: with the process namespace of the container that accepts, or its metrics.")},
		Not: []model.Action{do(model.ActRaiseBacklog, "Not the backlog before that: it helps with none of them for long.")},
	}
	switch {
	case l.highShare >= mostOf && l.fullGaps > 0 && l.fullAccepted == 0:
		v.Candidates = []model.Class{model.ClassAcceptStalled, model.ClassCPUStarved, model.ClassFDExhausted}
		if !l.lasting {
			v.Candidates[2] = model.ClassBurst
		}
		v.Sentence = fmt.Sprintf("Nothing was accepted from the full queue of %s, between too few samples to say for how long.", l.name())
	case l.highShare >= mostOf || l.stands && l.overflows.Or(0) == 0:
		v.Candidates = []model.Class{model.ClassSaturated, model.ClassCPUStarved, model.ClassAcceptSlow}
		v.Sentence = fmt.Sprintf("The queue of %s stays full although connections are accepted: its workers are saturated, starved of CPU, or slow to accept.", l.name())
		if l.highShare < mostOf {
			v.Sentence = fmt.Sprintf("The queue of %s hardly ever empties: its workers are saturated, starved of CPU, or slow to accept.", l.name())
		}
	case l.overflows.Or(0) > 0 && (l.lowShare < drainedOf || l.clearShare < drainedOf):
		v.Candidates = []model.Class{model.ClassSaturated, model.ClassCPUStarved, model.ClassBurst}
		v.Sentence = fmt.Sprintf("The queue of %s overflows: its workers are saturated, starved of CPU, or bursts exceed it.", l.name())
		if l.spanSeconds(f) < 2*spanSeconds {
			v.Severity = model.SeverityWarning // as long as it may well be the first of some bursts
		}
		if _, capped := somaxconnCap(f, l); capped {
			v.Candidates[2] = model.ClassSomaxconnCap
			v.Sentence = fmt.Sprintf("The queue of %s overflows at somaxconn: its workers are saturated, starved of CPU, or bursts exceed it.", l.name())
		}
	default:
		return model.Verdict{}, false
	}
	return v, true
}
