package model

import (
	"strings"
	"testing"
)

// sample makes a pod as one frame shows it.
func sample(uptime float64, overflows int64, sockets ...Socket) Pod {
	return Pod{
		Sample:    Sample{Uptime: Known(uptime), Sandbox: "a"},
		Listeners: GroupSockets(sockets),
		Counters: Counters{
			ListenOverflows: Known(overflows), ListenDrops: Known(overflows),
			PassiveOpens: Known(overflows * 10),
		},
	}
}

// The recorded case of four SO_REUSEPORT rows and one other listener, whose own
// drop counts added up exactly to the namespace's: 54+10+10+12 and 4.
func TestOverflowsGoToTheListenerWhoseDropsGrew(t *testing.T) {
	before := sample(100, 1000,
		socket("0.0.0.0", 80, 1, 0, 8, 5), socket("0.0.0.0", 80, 2, 0, 8, 0), socket("0.0.0.0", 80, 3, 0, 8, 0),
		socket("0.0.0.0", 80, 4, 0, 8, 0), socket("127.0.0.1", 9000, 5, 0, 8, 7))
	after := sample(110, 1090,
		socket("0.0.0.0", 80, 1, 9, 8, 59), socket("0.0.0.0", 80, 2, 0, 8, 10), socket("0.0.0.0", 80, 3, 0, 8, 10),
		socket("0.0.0.0", 80, 4, 0, 8, 12), socket("127.0.0.1", 9000, 5, 0, 8, 11))
	got := Diff(before, after)
	if got.Window.Overflows != Known[int64](90) || got.Window.Seconds != Known(10.0) {
		t.Errorf("window = %+v", got.Window)
	}
	if a, b := got.Listeners[0].Window.Overflows, got.Listeners[1].Window.Overflows; a != Known[int64](86) || b != Known[int64](4) {
		t.Errorf("shares = %+v and %+v, want 86 and 4", a, b)
	}
	if got.Window.Unattributed != Known[int64](0) {
		t.Errorf("unattributed = %+v", got.Window.Unattributed)
	}
	if after.Listeners[0].Window.Overflows.IsKnown() {
		t.Error("Diff changed the sample that it was given")
	}
	if rate := got.Window.PerSecond(got.Window.Overflows); rate != Known(9.0) {
		t.Errorf("rate = %+v, want 9 a second by the pod's clock", rate)
	}
}

func TestAttribution(t *testing.T) {
	noDrops := func(s Socket) Socket { s.Drops = Unknown[int64]("skmem without d"); return s }
	a, b := socket("*", 1, 1, 0, 8, 0), socket("*", 2, 2, 0, 8, 0)
	grown := func(s Socket, d int64) Socket { s.Drops = Known(s.Drops.Or(0) + d); return s }
	renewed := func(s Socket, inode uint64, d int64) Socket { s.Inode, s.Drops = Known(inode), Known(d); return s }
	for name, c := range map[string]struct {
		before, after []Socket
		overflows     int64
		want          []Value[int64] // shares by listener
		unattributed  Value[int64]
	}{
		"d counts twice at the last ACK: only its proportion matters": {
			[]Socket{a, b},
			[]Socket{grown(a, 20), grown(b, 10)},
			15,
			[]Value[int64]{Known[int64](10), Known[int64](5)},
			Known[int64](0),
		},
		"shares are whole and add up": {
			[]Socket{a, b},
			[]Socket{grown(a, 1), grown(b, 1)},
			3,
			[]Value[int64]{Known[int64](2), Known[int64](1)},
			Known[int64](0),
		},
		"nothing happened": {
			[]Socket{a, b},
			[]Socket{a, b},
			0,
			[]Value[int64]{Known[int64](0), Known[int64](0)},
			Known[int64](0),
		},
		"a socket that was re-created counts from 0, not backwards": {
			[]Socket{grown(a, 50), b},
			[]Socket{renewed(a, 77, 4), grown(b, 4)},
			8,
			[]Value[int64]{Known[int64](4), Known[int64](4)},
			Known[int64](0),
		},
		"overflows that no socket explains belong to nobody": {
			[]Socket{a, b},
			[]Socket{a, b},
			5,
			[]Value[int64]{Unknown[int64]("no listening socket's own drop count grew with it"), Unknown[int64]("no listening socket's own drop count grew with it")},
			Known[int64](5),
		},
		"unknown drop counts of several listeners: no guess": {
			[]Socket{noDrops(a), noDrops(b)},
			[]Socket{noDrops(a), noDrops(b)},
			5,
			[]Value[int64]{Unknown[int64]("the sockets' own drop counts are unknown (kernel or iproute2 too old)"), Unknown[int64]("the sockets' own drop counts are unknown (kernel or iproute2 too old)")},
			Known[int64](5),
		},
		"unknown drop count of the only listener: nobody else can own them": {
			[]Socket{noDrops(a)},
			[]Socket{noDrops(a)},
			5,
			[]Value[int64]{Known[int64](5)},
			Known[int64](0),
		},
	} {
		got := Diff(sample(1, 0, c.before...), sample(2, c.overflows, c.after...))
		for i, want := range c.want {
			if l := got.Listeners[i]; l.Window.Overflows != want {
				t.Errorf("%s: %s got %+v, want %+v", name, l, l.Window.Overflows, want)
			}
		}
		if got.Window.Unattributed != c.unattributed {
			t.Errorf("%s: unattributed = %+v, want %+v", name, got.Window.Unattributed, c.unattributed)
		}
	}
}

// What cannot be compared gives no rate at all, and says why.
func TestIncomparableSamplesHaveNoWindow(t *testing.T) {
	s := socket("*", 80, 1, 0, 8, 0)
	before, after := sample(100, 5, s), sample(103, 9, s)
	for want, c := range map[string]struct{ before, after Pod }{
		"sandbox":    {before, with(after, func(p *Pod) { p.Sample.Sandbox = "b" })},
		"one sample": {after, after},
		"clock":      {before, with(after, func(p *Pod) { p.Sample.Uptime = Unknown[float64]("no /proc") })},
		"node's":     {with(before, func(p *Pod) { p.HostNetwork = true }), with(after, func(p *Pod) { p.HostNetwork = true })},
	} {
		got := Diff(c.before, c.after)
		for _, v := range []Value[int64]{got.Window.Overflows, got.Window.Accepted, got.Listeners[0].Window.Overflows} {
			if v.IsKnown() || !strings.Contains(v.Reason(), want) {
				t.Errorf("%s: %+v", want, v)
			}
		}
	}
	back := Diff(with(before, func(p *Pod) { p.Counters.ListenOverflows = Known[int64](50) }), after)
	if back.Window.Overflows.IsKnown() {
		t.Errorf("a counter that went backwards gave %+v", back.Window.Overflows)
	}
}

func with(p Pod, change func(*Pod)) Pod { change(&p); return p }

// accepted = new PassiveOpens - growth of the queues: it matched what servers
// really accepted in every recorded series.
func TestAcceptedAreOpensLessGrowthOfQueues(t *testing.T) {
	before, after := sample(1, 0, socket("*", 80, 1, 2, 128, 0)), sample(2, 0, socket("*", 80, 1, 102, 128, 0))
	after.Counters.PassiveOpens = Known[int64](130)
	if got := Diff(before, after).Window.Accepted; got != Known[int64](30) {
		t.Errorf("accepted = %+v, want 130 - (102-2) = 30", got)
	}
}
