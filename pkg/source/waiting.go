package source

import (
	"net/netip"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// waitingOldAfter is the age in seconds from which what a queue held is not shown
// any more: the sampler asks every five seconds while the queue is not empty, two
// ports a frame.
const waitingOldAfter = 20

// queues keeps what each listener's queue held when it was last asked.
type queues struct {
	last map[model.Place]model.Waiting
}

// take reads a frame. What it keeps is never changed later, so that a Snapshot
// may share it.
func (q *queues) take(f parse.Frame, listeners []model.Listener) {
	for _, w := range f.Waiting {
		for i, part := range share(w, listeners) {
			if part == nil {
				continue
			}
			at := listeners[i].Place()
			var prev *model.Waiting
			if last, ok := q.last[at]; ok {
				prev = &last
			}
			if q.last == nil {
				q.last = map[model.Place]model.Waiting{}
			}
			q.last[at] = model.WaitingAt(prev, f.Uptime, part.connections, part.omitted)
		}
	}
	// An empty queue is a new beginning: whoever waited in it is gone.
	for at := range q.last {
		if l := model.ListenerAt(listeners, at); l == nil || empty(*l) {
			delete(q.last, at)
		}
	}
}

// empty says that all queues of a listener are known to be empty.
func empty(l model.Listener) bool {
	for _, s := range l.Sockets {
		if s.Depth.Or(1) > 0 {
			return false
		}
	}
	return true
}

// fill puts who waits beside the listeners' figures of the newest frame.
func (q *queues) fill(listeners []model.Listener, uptime model.Value[float64]) {
	for i := range listeners {
		w, ok := q.last[listeners[i].Place()]
		if !ok || w.Total() == 0 || uptime.Or(0)-w.Uptime.Or(0) > waitingOldAfter {
			continue
		}
		// Names are put into the callers later, for one snapshot.
		w.Callers = slices.Clone(w.Callers)
		listeners[i].Waiting = &w
	}
}

// portion is a listener's share of what waits at its port.
type portion struct {
	connections []model.Connection
	omitted     int
}

// share gives each listener of the port the connections that were made to it, by
// the address on this side. Of those that were left out only the number is
// known: they count with the listener that has most. It is nil for listeners of
// other ports.
func share(w parse.Waiting, listeners []model.Listener) []*portion {
	parts := make([]*portion, len(listeners))
	var of []int
	for i, l := range listeners {
		if l.Port == w.Port {
			of = append(of, i)
			parts[i] = &portion{}
		}
	}
	if len(of) == 0 {
		return parts
	}
	for _, c := range w.Connections {
		i := of[0]
		if len(of) > 1 {
			i = slices.MinFunc(of, func(a, b int) int { return distance(listeners[a], c.Local) - distance(listeners[b], c.Local) })
		}
		parts[i].connections = append(parts[i].connections, c.Connection)
	}
	most := slices.MaxFunc(of, func(a, b int) int { return len(parts[a].connections) - len(parts[b].connections) })
	parts[most].omitted = w.Omitted
	return parts
}

// distance orders the listeners of one port by how well they fit a connection's
// local address, as the kernel chooses: the very address first, then the "any" of
// its family, then the dual-stack one. An empty queue cannot be it.
func distance(l model.Listener, local string) int {
	d := 8
	listens, err0 := netip.ParseAddr(l.Address)
	to, err1 := netip.ParseAddr(local)
	switch {
	case l.Address == local, err0 == nil && err1 == nil && listens.Unmap() == to.Unmap():
		d = 0
	case l.Address == "0.0.0.0" && err1 == nil && to.Is4(), l.Address == "::" && err1 == nil && to.Is6() && !to.Is4In6():
		d = 2
	case l.Address == "*":
		d = 4
	case l.Address == "::": // an older ss writes it for dual stack too
		d = 6
	}
	if empty(l) {
		d += 16
	}
	return d
}
