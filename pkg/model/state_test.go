package model

import "testing"

// One word for a pod; the worst that holds wins, and no figure is taken for
// another: an unread queue is never "ok".
func TestCondition(t *testing.T) {
	healthy := Pod{
		Collection: Collection{Stage: StageOK},
		Listeners:  []Listener{{Port: 4143, Sockets: []Socket{socket("*", 4143, 1, 0, 128, 0)}}},
		Window:     Window{Overflows: Known[int64](0)},
	}
	full := func(depth, limit int64) func(*Pod) {
		return func(p *Pod) { p.Listeners = GroupSockets([]Socket{socket("*", 4143, 1, depth, limit, 0)}) }
	}
	for _, c := range []struct {
		name   string
		change func(*Pod)
		want   State
	}{
		{"nothing to say", func(*Pod) {}, StateOK},
		{"old overflows are history", func(p *Pod) { p.Counters.ListenOverflows = Known[int64](5000) }, StateOK},
		{"new overflows", func(p *Pod) { p.Window.Overflows = Known[int64](1) }, StateOverflowing},
		{"at the limit", full(128, 128), StateFull},
		{"one below", full(127, 128), StateOK},
		{"a backlog of 0 that is empty is not full", full(0, 0), StateOK},
		{"busy", func(p *Pod) { p.Runtime.Window.Busy = Known(0.97) }, StateSaturated},
		{"loaded but well", func(p *Pod) { p.Runtime.Window.Busy = Known(0.83) }, StateOK},
		{"stalled", func(p *Pod) { p.Runtime.Window.Stalled = Known(4.0) }, StateStalled},
		{"drift", func(p *Pod) { p.Knobs = []Knob{{Name: "workers", Asked: Known[int64](2), InForce: Known[int64](1)}} }, StateDrift},
		{"no queue", func(p *Pod) { p.Listeners = nil }, StateUnknown},
		{"sockets that could not be read", func(p *Pod) { p.Listeners, p.Sockets = nil, Unknown[int64]("ss failed") }, StateUnknown},
		{"nothing listens", func(p *Pod) { p.Listeners, p.Sockets = nil, Known[int64](0) }, StateOK},
		{"probe failed", func(p *Pod) { p.Collection.Stage, p.Collection.Message = StageFailed, "ErrImagePull" }, StateUnknown},
		{"pulling", func(p *Pod) { p.Collection.Stage = StagePulling }, StatePending},
		{"old figures do not say ok", func(p *Pod) { p.Collection.Stage = StageStale }, StateUnknown},
		{"old figures may tell of a fault", func(p *Pod) { p.Collection.Stage = StageStale; p.Window.Overflows = Known[int64](1) }, StateOverflowing},
		{"gone beats all", func(p *Pod) { p.Collection.Stage = StageGone; p.Window.Overflows = Known[int64](9) }, StateGone},
		{"hostNetwork says nothing about the pod", func(p *Pod) { p.HostNetwork = true }, StateUnknown},
	} {
		p := healthy
		c.change(&p)
		if got, why := p.Condition(); got != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got, why, c.want)
		}
	}
}

func TestRankPutsTheWorstFirst(t *testing.T) {
	if StateOverflowing.Rank() >= StateSaturated.Rank() || StateUnknown.Rank() >= StateOK.Rank() {
		t.Error("an overflowing pod must stand above a saturated one, an unread one above a healthy one")
	}
}

// A row of one listener does not take over the state of another's queue.
func TestConditionOfAListener(t *testing.T) {
	p := Pod{
		Collection: Collection{Stage: StageOK},
		Listeners:  GroupSockets([]Socket{socket("*", 4143, 1, 17, 16, 9), socket("*", 8080, 2, 0, 128, 0)}),
		Window:     Window{Overflows: Known[int64](9)},
	}
	p.Listeners[0].Window.Overflows, p.Listeners[1].Window.Overflows = Known[int64](9), Known[int64](0)
	if got, _ := p.ConditionOf(p.Listeners[0]); got != StateOverflowing {
		t.Errorf("the full listener is %s", got)
	}
	if got, _ := p.ConditionOf(p.Listeners[1]); got != StateOK {
		t.Errorf("the empty listener is %s", got)
	}
	p.Runtime.Window.Busy = Known(0.99)
	if got, _ := p.ConditionOf(p.Listeners[1]); got != StateSaturated {
		t.Errorf("the empty listener of a saturated proxy is %s", got)
	}
	p.Listeners[1].Window.Overflows = Unknown[int64]("no drop counts")
	if got, _ := p.ConditionOf(p.Listeners[1]); got != StateOverflowing {
		t.Errorf("a listener whose share is unknown is %s, want the pod's", got)
	}
}
