package model

import (
	"cmp"
	"sort"
)

// Window is what happened in a pod's network namespace between two samples. Its
// length comes from the pod's own clock, never from arrival times.
type Window struct {
	Seconds   Value[float64] `json:"seconds"`
	Overflows Value[int64]   `json:"overflows"`
	Drops     Value[int64]   `json:"drops"`
	// Accepted connections: new PassiveOpens less the growth of all queues. Per
	// namespace: one that a proxy passes on within the pod counts twice, and a
	// single sample may be off by one.
	Accepted Value[int64] `json:"accepted"`
	// Unattributed are overflows that no listener's own drop count explains.
	Unattributed Value[int64] `json:"unattributed"`
}

// ListenerWindow is what happened to one listener in the pod's window.
type ListenerWindow struct {
	// Overflows of the namespace that belong to this listener: the namespace's
	// difference, shared out by the sockets' own drop counts as weights.
	Overflows Value[int64] `json:"overflows"`
	// Peak is the highest depth of one of its sockets in the samples of the
	// window. Samples miss bursts: it is a lower bound.
	Peak Value[int64] `json:"peak"`
}

// PerSecond is a count of the window as a rate.
func (w Window) PerSecond(count Value[int64]) Value[float64] {
	n, ok := count.Get()
	if !ok {
		return Unknown[float64](count.Reason())
	}
	s, ok := w.Seconds.Get()
	if !ok || s <= 0 {
		return Unknown[float64](cmp.Or(w.Seconds.Reason(), "the window has no length"))
	}
	return Known(float64(n) / s)
}

// Diff fills the windows of cur from an older sample of the same pod and
// returns it; cur's listeners are copied, never changed in place. Where the two
// are not comparable (another sandbox, a clock that stands still) the windows
// are unknown with the reason: differences start afresh.
func Diff(prev, cur Pod) Pod {
	cur.Window, cur.Listeners = Between(&prev, &cur, nil)
	return cur
}

// Between is Diff without a copy of the pod, for those who compare thousands of them
// every second: the pod's window, and its listeners with theirs, written into room
// where that is large enough.
func Between(prev, cur *Pod, room []Listener) (Window, []Listener) {
	if reason := incomparable(prev, cur); reason != "" {
		return noWindow(cur, reason, room)
	}
	listeners := append(room[:0], cur.Listeners...)
	w := Window{
		Seconds:   Known(cur.Sample.Uptime.Or(0) - prev.Sample.Uptime.Or(0)),
		Overflows: Growth(prev.Counters.ListenOverflows, cur.Counters.ListenOverflows),
		Drops:     Growth(prev.Counters.ListenDrops, cur.Counters.ListenDrops),
		Accepted:  Accepted(prev, cur),
	}
	for i := range listeners {
		listeners[i].Window = ListenerWindow{Peak: peak(&listeners[i])}
	}
	w.Unattributed = attribute(prev.Listeners, listeners, w.Overflows)
	return w, listeners
}

// NoWindow marks every window of the pod as unknown for the given reason.
func NoWindow(cur Pod, reason string) Pod {
	cur.Window, cur.Listeners = noWindow(&cur, reason, nil)
	return cur
}

func noWindow(cur *Pod, reason string, room []Listener) (Window, []Listener) {
	listeners := append(room[:0], cur.Listeners...)
	u := Unknown[int64](reason)
	for i := range listeners {
		listeners[i].Window = ListenerWindow{Overflows: u, Peak: peak(&listeners[i])}
	}
	return Window{Seconds: Unknown[float64](reason), Overflows: u, Drops: u, Accepted: u, Unattributed: u}, listeners
}

// WithoutQueues takes the queue figures off a pod: they are unknown for the
// given reason, since they are no longer those of the present.
func WithoutQueues(p Pod, reason string) Pod {
	p.Listeners = nil
	p.Process = UnknownProcess(reason)
	p.Sockets = Unknown[int64](reason)
	u := Unknown[int64](reason)
	p.Counters = Counters{
		ListenOverflows: u, ListenDrops: u, ReqQFullDoCookies: u, ReqQFullDrop: u,
		SyncookiesSent: u, SyncookiesRecv: u, PassiveOpens: u, Somaxconn: u,
	}
	return NoWindow(p, reason)
}

func incomparable(prev, cur *Pod) string {
	switch {
	case cur.HostNetwork:
		return ReasonHostNetwork
	case prev.Sample.Sandbox != cur.Sample.Sandbox:
		return "another sandbox or probe since: differences start afresh"
	case !prev.Sample.Uptime.IsKnown() || !cur.Sample.Uptime.IsKnown():
		return "the pod's clock was not read"
	case cur.Sample.Uptime.Or(0) <= prev.Sample.Uptime.Or(0):
		return "only one sample so far"
	}
	return ""
}

// ReasonHostNetwork is why nothing is attributed to a hostNetwork pod.
const ReasonHostNetwork = "hostNetwork: sockets and counters are the node's, nothing is attributed to this pod"

// Accepted is how many connections the pod accepted between two samples: the
// growth of PassiveOpens less that of all queues. Single samples may be off by
// one, since ss and nstat are not read at the same instant.
func Accepted(prev, cur *Pod) Value[int64] {
	opens := Growth(prev.Counters.PassiveOpens, cur.Counters.PassiveOpens)
	n, ok := opens.Get()
	if !ok {
		return opens
	}
	before, ok0 := totalDepth(prev.Listeners)
	after, ok1 := totalDepth(cur.Listeners)
	if !ok0 || !ok1 {
		return Unknown[int64]("a queue's depth is unknown")
	}
	return Known(max(0, n-(after-before)))
}

func totalDepth(listeners []Listener) (int64, bool) {
	var sum int64
	for i := range listeners {
		for j := range listeners[i].Sockets {
			d, ok := listeners[i].Sockets[j].Depth.Get()
			if !ok {
				return 0, false
			}
			sum += d
		}
	}
	return sum, true
}

func peak(l *Listener) Value[int64] {
	best := Unknown[int64]("the depth was not read")
	for i := range l.Sockets {
		if d, ok := l.Sockets[i].Depth.Get(); ok && d >= best.Or(-1) {
			best = Known(d)
		}
	}
	return best
}

// attribute shares the namespace's overflows out to the listeners, by how much
// each one's own drop count grew (largest remainder, so that the shares add up)
// and returns what stays without an owner.
func attribute(prev, cur []Listener, overflows Value[int64]) Value[int64] {
	total, ok := overflows.Get()
	if !ok {
		for i := range cur {
			cur[i].Window.Overflows = overflows
		}
		return overflows
	}
	if total == 0 {
		for i := range cur {
			cur[i].Window.Overflows = Known[int64](0)
		}
		return Known[int64](0)
	}
	weights := make([]int64, len(cur))
	var sum int64
	for i := range cur {
		w, ok := dropGrowth(ListenerAt(prev, cur[i].Place()), cur[i]).Get()
		if !ok && len(cur) > 1 {
			return nobody(cur, total, "the sockets' own drop counts are unknown (kernel or iproute2 too old)")
		}
		if !ok {
			w = 1 // the only listener of the namespace owns every overflow
		}
		weights[i] = w
		sum += w
	}
	if sum == 0 {
		return nobody(cur, total, "no listening socket's own drop count grew with it")
	}
	for i, share := range shares(weights, sum, total) {
		cur[i].Window.Overflows = Known(share)
	}
	return Known[int64](0)
}

func nobody(cur []Listener, total int64, reason string) Value[int64] {
	for i := range cur {
		cur[i].Window.Overflows = Unknown[int64](reason)
	}
	return Known(total)
}

// dropGrowth is how much the drop counts of a listener's sockets grew, by inode
// where it is known, otherwise by position: the row order of ss was stable in
// every recorded series. A new socket counts from 0.
func dropGrowth(prev *Listener, cur Listener) Value[int64] {
	var sum int64
	for i, s := range cur.Sockets {
		now, ok := s.Drops.Get()
		if !ok {
			return Unknown[int64](s.Drops.Reason())
		}
		before := int64(0)
		if old := sameSocket(prev, s, i); old != nil {
			before = old.Drops.Or(0)
		}
		if now < before {
			before = 0 // re-created with the same place in the list: its count restarted
		}
		sum += now - before
	}
	return Known(sum)
}

func sameSocket(prev *Listener, s Socket, position int) *Socket {
	if prev == nil {
		return nil
	}
	if inode, ok := s.Inode.Get(); ok {
		for i := range prev.Sockets {
			if p, ok := prev.Sockets[i].Inode.Get(); ok && p == inode {
				return &prev.Sockets[i]
			}
		}
		return nil
	}
	if position < len(prev.Sockets) {
		return &prev.Sockets[position]
	}
	return nil
}

// ListenerAt is the listener at a place, nil when nobody listens there.
func ListenerAt(listeners []Listener, at Place) *Listener {
	for i := range listeners {
		if l := &listeners[i]; l.Port == at.Port && l.Place() == at {
			return l
		}
	}
	return nil
}

// shares splits total by weights whose sum is positive.
func shares(weights []int64, sum, total int64) []int64 {
	out := make([]int64, len(weights))
	rest := make([]int64, len(weights))
	order := make([]int, len(weights))
	left := total
	for i, w := range weights {
		out[i] = total * w / sum
		rest[i] = total * w % sum
		left -= out[i]
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return rest[order[a]] > rest[order[b]] })
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}
