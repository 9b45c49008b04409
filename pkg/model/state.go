package model

import (
	"cmp"
	"fmt"
)

// State is one word for a pod, from what one window shows. It is a summary of
// the figures beside it, not a diagnosis: it never names a cause.
type State string

// The states, worst first.
const (
	StateOverflowing State = "overflowing" // new overflows in the window
	StateFull        State = "queue-full"  // a queue is at its limit, none refused in the window
	StateStalled     State = "stalled"     // the runtime's metrics stand still
	StateSaturated   State = "saturated"   // the workers are busy nearly all the time
	StateDrift       State = "drift"       // asked and in-force values differ
	StateUnknown     State = "unknown"     // the queue could not be read
	StatePending     State = "pending"     // no frame yet
	StateOK          State = "ok"
	StateGone        State = "gone"
)

// BusySaturated is the busy ratio from which workers count as saturated: one
// worker pinned by load was measured at 0.96 to 1.01 over 5 s, a loaded but
// healthy one at 0.83.
const BusySaturated = 0.9

// Condition gives the pod's state and, in a few words, the figure it rests on.
func (p Pod) Condition() (State, string) { return StateOf(&p) }

// StateOf is Condition without a copy of the pod, for those who look at thousands
// every second.
func StateOf(p *Pod) (State, string) {
	state, why := p.condition()
	// Figures that no longer arrive may still tell of a fault, never of health.
	if stage := p.Collection.Stage; state == StateOK && (stage == StageStale || stage == StageEnded) {
		return StateUnknown, p.Collection.Message
	}
	return state, why
}

// ConditionOf is the pod's condition as far as it is one listener's: the queue
// of another listener is left out, what concerns the whole pod is not.
func (p Pod) ConditionOf(l Listener) (State, string) {
	p.Listeners = []Listener{l}
	if n, ok := l.Window.Overflows.Get(); ok {
		p.Window.Overflows = Known(n)
	}
	return p.Condition()
}

func (p *Pod) condition() (State, string) {
	switch p.Collection.Stage {
	case StageGone:
		return StateGone, p.Collection.Message
	case StageAsking, StagePulling, StageStarting, StageWaiting:
		return StatePending, string(p.Collection.Stage)
	}
	if n, ok := p.Window.Overflows.Get(); ok && n > 0 {
		return StateOverflowing, fmt.Sprintf("%d overflows in the window", n)
	}
	for i := range p.Listeners { // a listing of a thousand pods comes by here every second
		l := &p.Listeners[i]
		s := l.Worst()
		limit, ok := s.Limit.Get()
		if depth := s.Depth.Or(-1); ok && depth >= limit && depth > 0 {
			return StateFull, fmt.Sprintf("%s holds %d of %d", l, depth, limit)
		}
	}
	if s, ok := p.Runtime.Window.Stalled.Get(); ok && s >= StallSeconds {
		return StateStalled, fmt.Sprintf("metrics stand still for %.0fs", s)
	}
	if b, ok := p.Runtime.Window.Busy.Get(); ok && b >= BusySaturated {
		return StateSaturated, fmt.Sprintf("workers busy %.0f%%", b*100)
	}
	if p.Collection.Stage == StageFailed {
		return StateUnknown, p.Collection.Message
	}
	if p.HostNetwork {
		return StateUnknown, ReasonHostNetwork
	}
	nobodyListens := p.Sockets.IsKnown() && p.Sockets.Or(1) == 0
	if len(p.Listeners) == 0 && !nobodyListens {
		return StateUnknown, cmp.Or(p.Collection.Message, p.Sockets.Reason())
	}
	for i := range p.Knobs {
		if k := &p.Knobs[i]; k.Differs() {
			return StateDrift, fmt.Sprintf("%s: asked %d, in force %d", k.Name, k.Asked.Or(0), k.InForce.Or(0))
		}
	}
	if nobodyListens {
		return StateOK, "nothing listens in this pod"
	}
	return StateOK, ""
}

// Rank orders states, worst first, for sorting.
func (s State) Rank() int {
	for i, t := range []State{
		StateOverflowing, StateFull, StateStalled, StateSaturated, StateDrift,
		StateUnknown, StatePending, StateGone, StateOK,
	} {
		if s == t {
			return i
		}
	}
	return len(s)
}
