package diagnose

import (
	"fmt"
	"math"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// acceptStalled: somebody waits, and nothing is accepted. That it lasts, and is
// not the one gap of many that an acceptor makes which blocks between two
// accepts, is what sets it apart from accept-slow.
func acceptStalled(f *facts, l *listener) (model.Verdict, bool) {
	s := l.still
	proven := l.provenStill()
	if !proven {
		return stalledBySigns(f, l)
	}
	if !s.lasts {
		// It is over. It was the cause when what was refused was refused meanwhile.
		n := l.overflows.Or(0)
		if n == 0 || 2*s.overflows < n {
			return model.Verdict{}, false
		}
	}
	if l.w.starved == yes {
		// Runnable and without a CPU: it would accept if it could run.
		return model.Verdict{}, false
	}
	v := f.stalledVerdict(l)
	v.Since, v.Over = model.Known(f.at(s.from)), !s.lasts
	if w := l.l.Waiting; w != nil && s.lasts {
		if since, ok := w.Since.Get(); ok {
			v.Since = model.Known(since)
		}
	}
	waiting := num(l.depth.Or(0))
	v.Sentence = fmt.Sprintf("Nothing leaves the queue of %s: %s connections wait, and none was accepted for %s.", l.name(), waiting, secs(s.seconds))
	if v.Over {
		v.Sentence = fmt.Sprintf("Nothing left the queue of %s for %s; it is served again since.", l.name(), secs(s.seconds))
	}
	v.Evidence = append([]model.Evidence{
		f.evidence("standstill", fmt.Sprintf("%s without an accepted connection while somebody waits", secs(s.seconds)), s.seconds, "s", s.proof),
	}, v.Evidence...)
	switch {
	case l.w.fdsFull == open && l.w.asleep == open && l.w.runtimeStalled == 0 && !l.w.stopped:
		// The same standstill is seen when accept fails for lack of descriptors.
		v.Class = model.ClassUndecided
		v.Candidates = []model.Class{model.ClassAcceptStalled, model.ClassFDExhausted}
		v.Sentence += " Either the accept loop hangs, or it has no descriptor left."
	case l.w.fdsFull == open && l.w.saturated == yes:
		// A loop that spins on a failing accept burns its CPU.
		v.Class = model.ClassUndecided
		v.Candidates = []model.Class{model.ClassFDExhausted, model.ClassAcceptStalled}
		v.Sentence += " Its threads burn a CPU: either accept fails for lack of descriptors, or something else spins."
	case l.w.fdsFull == open:
		v.Candidates = []model.Class{model.ClassFDExhausted}
	}
	return v, true
}

func (l *listener) provenStill() bool {
	return l.still.seconds >= stallSeconds-slack && l.still.seconds >= stallFactor*l.still.others
}

// stalledBySigns is for a namespace in which others accept (probes, scrapes), so
// that the sum of accepted connections proves nothing for one listener. Each
// sign alone has another explanation; all of them together have none.
func stalledBySigns(f *facts, l *listener) (model.Verdict, bool) {
	if len(f.listeners) == 1 {
		return model.Verdict{}, false // what was accepted was of this listener
	}
	if w := l.l.Waiting; w != nil && w.Stuck.IsKnown() && !w.Since.IsKnown() {
		return model.Verdict{}, false // asked twice: something leaves the queue
	}
	lim, ok := l.limit.Get()
	if !ok || lim <= 0 || !l.lasting || l.spanSeconds(f) < 3*stallSeconds || l.highShare < 1 {
		return model.Verdict{}, false
	}
	acc, ok := f.acceptedPerSecond().Get()
	if !ok || acc > otherAccepts || l.w.asleep != yes || l.w.fdsFull == yes {
		return model.Verdict{}, false
	}
	refused := float64(l.overflows.Or(0)) / math.Max(1, f.seconds.Or(1))
	if refused <= acc {
		return model.Verdict{}, false
	}
	v := f.stalledVerdict(l)
	v.Severity, v.Since = model.SeverityCritical, model.Known(f.at(max(0, l.first)))
	if l.still.others >= 1 {
		// Gaps of one length: of this listener's acceptor, or of the scrapes.
		v.Class, v.Candidates = model.ClassUndecided, []model.Class{model.ClassAcceptStalled, model.ClassAcceptSlow}
	} else {
		v.Candidates = []model.Class{model.ClassAcceptSlow}
	}
	v.Sentence = fmt.Sprintf("Nearly nothing leaves the queue of %s: it was full in every sample, its workers sleep, and the whole pod accepted %s per second.", l.name(), rate(acc))
	v.Unknown = append(v.Unknown, "whether what little was accepted was of this listener: who waits in the queue was not asked twice")
	return v, true
}

func (f *facts) stalledVerdict(l *listener) model.Verdict {
	v := model.Verdict{
		Class: model.ClassAcceptStalled, Severity: model.SeverityCritical,
		Evidence: f.queueEvidence(l), Unknown: f.unknowns(l),
		Now: []model.Action{
			do(model.ActIsolate, "Take the pod out of its services and keep it for inspection: a new one is made in its place."),
		},
		Fix: []model.Action{
			do(model.ActFixAccept, "Find what ended or blocks the accept loop: a lock, a call that never returns, a task that died."),
			do(model.ActRestart, "Delete the pod afterwards; deleting it first destroys the evidence."),
		},
		Not: []model.Action{do(model.ActRaiseBacklog, "Not a larger backlog: it would only hold more dead connections.")},
	}
	if !l.still.lasts && l.still.seconds > 0 {
		v.Severity = model.SeverityWarning
	}
	if l.w.runtimeStalled > 0 {
		v.Evidence = append(v.Evidence, f.evidence("runtime", fmt.Sprintf("its metrics stood still for %s while its clock moved", secs(l.w.runtimeStalled)), l.w.runtimeStalled, "s", "tokio_rt"))
	}
	if w := l.l.Waiting; w != nil {
		if s, ok := w.Oldest().Get(); ok {
			v.Evidence = append(v.Evidence, f.evidence("oldest", "waits for at least "+secs(s), s, "s", "ss lastrcv, lastsnd"))
		}
	}
	return v
}

// fdExhausted: accept fails for lack of descriptors.
func fdExhausted(f *facts, l *listener) (model.Verdict, bool) {
	if l.w.fdsFull != yes || l.peak.Or(0) == 0 {
		return model.Verdict{}, false
	}
	v := model.Verdict{
		Class: model.ClassFDExhausted, Severity: model.SeverityCritical,
		Sentence: fmt.Sprintf("No descriptor is left, so that accept fails and the queue of %s fills although the workers would have time.", l.name()),
		Since:    model.Known(f.to.Or(0) - l.w.fdsSeconds),
		Evidence: append([]model.Evidence{f.evidence("descriptors", l.w.fdsWords(), l.w.fdsSeconds, "s", "/proc, /metrics")}, f.queueEvidence(l)...),
		Unknown:  f.unknowns(l),
		Now:      []model.Action{do(model.ActIsolate, "Take the pod out of its services, or restart it: that frees the descriptors for a while.")},
		Fix:      []model.Action{do(model.ActRaiseFDLimit, "Find the leak, or raise the descriptor limit of the container.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not the backlog: nothing is accepted from a deeper queue either.")},
	}
	return v, true
}

// imbalance: one of N equal sockets is full while the others are empty. The
// kernel picks a socket by hash, so that its share of clients meets it for ever.
func imbalance(f *facts, l *listener) (model.Verdict, bool) {
	s := l.skew
	if s.seconds < stallSeconds-slack {
		return model.Verdict{}, false
	}
	n := len(l.l.Sockets)
	v := model.Verdict{
		Class: model.ClassImbalance, Severity: model.SeverityCritical,
		Sentence: fmt.Sprintf("One of the %d sockets of %s is full and the others are empty: the worker behind socket %d does not accept, and one client in %d meets it.", n, l.name(), s.socket+1, n),
		Since:    model.Known(f.at(s.from)), Over: !s.lasts,
		Evidence: append([]model.Evidence{
			f.evidence("sockets", fmt.Sprintf("socket %d of %d full for %s, the others drained", s.socket+1, n, secs(s.seconds)), s.seconds, "s", "ss"),
		}, f.queueEvidence(l)...),
		Unknown: f.unknowns(l),
		Now:     []model.Action{do(model.ActIsolate, "Take the pod out of its services: a share of its clients is lost whatever the others do.")},
		Fix:     []model.Action{do(model.ActRestart, "Find what that worker hangs in, and restart it.")},
		Not:     []model.Action{do(model.ActRaiseBacklog, "Not a larger backlog: it holds more connections that nobody accepts. Not more workers.")},
	}
	if l.overflows.Or(0) == 0 || v.Over {
		v.Severity = model.SeverityWarning
	}
	return v, true
}
