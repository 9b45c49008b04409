package model

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// waiters are connections by their kernel identity, the first has waited longest.
func waiters(ids ...string) []Connection {
	var conns []Connection
	for i, id := range ids {
		conns = append(conns, Connection{Peer: fmt.Sprintf("10.0.0.%d:4000", i%2+1), ID: id, State: "established", Waited: Known(float64(100 - i))})
	}
	return conns
}

// Each step asks the queue five seconds after the one before.
func TestWaitingStandsStill(t *testing.T) {
	type step struct {
		ids     []string
		omitted int
		stuck   string
		still   string
	}
	const first = "?the queue was asked for the first time"
	tests := map[string][]step{
		"the same for ten seconds": {
			{ids: []string{"a", "b"}, stuck: first, still: first},
			{ids: []string{"a", "b"}, stuck: "2", still: "5"},
			{ids: []string{"b", "a"}, stuck: "2", still: "10"},
		},
		"more come and none leaves": {
			{ids: []string{"a"}, stuck: first, still: first},
			{ids: []string{"a", "b"}, stuck: "1", still: "5"},
			{ids: []string{"a", "b", "c"}, stuck: "2", still: "10"},
		},
		"one leaves, then none": {
			{ids: []string{"a", "b"}, stuck: first, still: first},
			{ids: []string{"b", "c"}, stuck: "1", still: "?1 of those that waited are no longer there: accepted, or reset by the caller"},
			{ids: []string{"b", "c"}, stuck: "2", still: "5"},
		},
		"it stood still, and moves again": {
			{ids: []string{"a", "b"}, stuck: first, still: first},
			{ids: []string{"a", "b"}, stuck: "2", still: "5"},
			{ids: []string{"b"}, stuck: "1", still: "?1 of those that waited are no longer there: accepted, or reset by the caller"},
		},
		"all are new": {
			{ids: []string{"a", "b"}, stuck: first, still: first},
			{ids: []string{"c"}, stuck: "0", still: "?2 of those that waited are no longer there: accepted, or reset by the caller"},
		},
		"nobody waited in between": {
			{ids: []string{"a"}, stuck: first, still: first},
			{stuck: "0", still: "?1 of those that waited are no longer there: accepted, or reset by the caller"},
			{ids: []string{"b"}, stuck: "0", still: "?nobody waited the time before"},
		},
		"one that is missing among many may only not be listed": {
			{ids: []string{"a", "b"}, omitted: 9, stuck: first, still: first},
			{ids: []string{"b", "c"}, omitted: 9, stuck: "1", still: "?only 2 of the connections in this queue are known"},
			{ids: []string{"b", "c"}, omitted: 9, stuck: "2", still: "5"},
		},
		"no identities": {
			{ids: []string{""}, stuck: first, still: first},
			{ids: []string{""}, stuck: "?this ss tells no identity of the connections", still: "?this ss tells no identity of the connections"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			var prev *Waiting
			for i, s := range steps {
				w := WaitingAt(prev, Known(1000+5*float64(i)), waiters(s.ids...), s.omitted)
				if got := shown(w.Stuck); got != s.stuck {
					t.Errorf("step %d: stuck %s, want %s", i, got, s.stuck)
				}
				if got := shown(w.StandsStill()); got != s.still {
					t.Errorf("step %d: stands still %s, want %s", i, got, s.still)
				}
				prev = &w
			}
		})
	}
}

func shown[T any](v Value[T]) string {
	if x, ok := v.Get(); ok {
		return fmt.Sprint(x)
	}
	return "?" + v.Reason()
}

func TestWaitingIsOrderedAndBounded(t *testing.T) {
	var conns []Connection
	for i := range MaxWaiting + 10 {
		conns = append(conns, Connection{Peer: "10.0.0.1:1", ID: fmt.Sprint(i), Waited: Known(float64(i))})
	}
	conns[3].Waited = Unknown[float64]("just come")
	w := WaitingAt(nil, Known(1.0), conns, 5)
	if len(w.Connections) != MaxWaiting || w.Omitted != 15 || w.Total() != MaxWaiting+15 {
		t.Errorf("%d and %d more", len(w.Connections), w.Omitted)
	}
	if w.Connections[0].Waited.Or(0) != MaxWaiting+9 || w.Oldest() != w.Connections[0].Waited {
		t.Errorf("first %+v, oldest %+v", w.Connections[0], w.Oldest())
	}
	if w.Callers[0].Connections != MaxWaiting+10 {
		t.Errorf("callers %+v", w.Callers)
	}
	if conns[0].Waited != Known(0.0) {
		t.Error("the argument was sorted in place")
	}
}

func TestWaitingCallers(t *testing.T) {
	var conns []Connection
	for _, peer := range []string{"10.0.0.9:1", "[::ffff:10.0.0.5]:2", "10.0.0.5:3", "[fe80::1]:4", "10.0.0.1:9", "odd"} {
		conns = append(conns, Connection{Peer: peer})
	}
	var got []string
	for _, c := range WaitingAt(nil, Known(1.0), conns, 0).Callers {
		got = append(got, fmt.Sprintf("%s %d", c.Address, c.Connections))
	}
	if diff := cmp.Diff([]string{"10.0.0.5 2", "10.0.0.1 1", "10.0.0.9 1", "fe80::1 1", "odd 1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingOldestIsUnknownWithoutAges(t *testing.T) {
	w := Waiting{Connections: []Connection{{ID: "a", Waited: Unknown[float64]("x")}}}
	if w.Oldest().IsKnown() || (Waiting{}).Oldest().IsKnown() {
		t.Error("an age out of nothing")
	}
}
