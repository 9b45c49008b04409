package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Waiting is what a listener's accept queue held when it was last asked: only
// connections that the program has not accepted (ss shows them with inode 0).
// It is asked only while the queue is not empty, and every few seconds at most,
// so it may be older than the sample beside it.
type Waiting struct {
	// Uptime is the pod's own clock in seconds when the queue was asked.
	Uptime Value[float64] `json:"uptime"`
	// Connections that wait, those that have waited longest first, at most
	// MaxWaiting of them; Omitted is how many more there were.
	Connections []Connection `json:"connections,omitempty"`
	Omitted     int          `json:"omitted,omitempty"`
	// Stuck is how many of them were in the queue already the time before, by
	// the kernel's own socket identity: as many as wait and the queue stands
	// still. Unknown when it was asked for the first time.
	Stuck Value[int64] `json:"stuck"`
	// Since is the pod's clock in seconds at the first of the consecutive samples
	// in which nothing left the queue. Unknown while something does. A connection
	// that its caller resets is no longer told by the kernel, so that it looks as
	// if it had left.
	Since Value[float64] `json:"since"`
	// Callers are the peers by address, those with most connections first.
	Callers []Caller `json:"callers,omitempty"`
}

// MaxWaiting bounds the connections of one queue that are kept.
const MaxWaiting = 256

// Connection is one that waits in an accept queue.
type Connection struct {
	// Peer is the caller's address and port as ss prints them.
	Peer string `json:"peer"`
	// ID is the kernel's socket identity (ss's sk:), the same in every sample.
	ID string `json:"id"`
	// State is "established", or "close-wait" when the caller has given up: it
	// still takes its place in the queue.
	State string `json:"state"`
	// Waited is how long it has waited at least, in seconds, from what the kernel
	// says of the last packets (lastrcv, lastsnd). It bounds the wait from below
	// even before the first sample.
	Waited Value[float64] `json:"waited"`
}

// Caller is a peer of connections that wait.
type Caller struct {
	Address string `json:"address"`
	// Pod is "namespace/name" of the pod with this address, where it could be
	// found.
	Pod         Value[string] `json:"pod"`
	Connections int           `json:"connections"`
}

// Oldest is how long the connection that has waited longest has waited at
// least, in seconds.
func (w Waiting) Oldest() Value[float64] {
	best := Unknown[float64]("no connection waits, or the kernel does not tell since when")
	for _, c := range w.Connections {
		if s, ok := c.Waited.Get(); ok && s > best.Or(-1) {
			best = c.Waited
		}
	}
	return best
}

// WaitingAt is what a queue held at a time, with what the time before, if there
// was one, tells about it. conns are what was told of it, and omitted how many
// more there were.
func WaitingAt(prev *Waiting, uptime Value[float64], conns []Connection, omitted int) Waiting {
	w := Waiting{Uptime: uptime, Omitted: omitted, Connections: slices.Clone(conns), Callers: callersOf(conns)}
	slices.SortStableFunc(w.Connections, func(a, b Connection) int { return cmp.Compare(b.Waited.Or(-1), a.Waited.Or(-1)) })
	if n := len(w.Connections) - MaxWaiting; n > 0 {
		w.Connections = slices.Clip(w.Connections[:MaxWaiting])
		w.Omitted += n
	}
	w.Stuck, w.Since = standstill(prev, w)
	return w
}

// standstill compares the kernel's own identities of the connections.
func standstill(prev *Waiting, w Waiting) (stuck Value[int64], since Value[float64]) {
	no := func(format string, args ...any) (Value[int64], Value[float64]) {
		why := fmt.Sprintf(format, args...)
		return Unknown[int64](why), Unknown[float64](why)
	}
	if prev == nil {
		return no("the queue was asked for the first time")
	}
	ids := make(map[string]bool, len(w.Connections))
	for _, c := range w.Connections {
		if c.ID == "" {
			return no("this ss tells no identity of the connections")
		}
		ids[c.ID] = true
	}
	var same, left int
	for _, c := range prev.Connections {
		if ids[c.ID] {
			same++
		} else {
			left++
		}
	}
	stuck = Known(int64(same))
	_, since = no("%d of those that waited are no longer there: accepted, or reset by the caller", left)
	switch {
	case len(prev.Connections) == 0:
		_, since = no("nobody waited the time before")
	case left > 0 && w.Omitted > 0:
		_, since = no("only %d of the connections in this queue are known", len(w.Connections))
	case left == 0 && prev.Since.IsKnown():
		since = prev.Since
	case left == 0:
		since = prev.Uptime
	}
	return stuck, since
}

// callersOf counts the peers by address. One that came over a dual-stack socket
// is the same caller as over IPv4.
func callersOf(conns []Connection) []Caller {
	at := map[string]int{}
	var callers []Caller
	for _, c := range conns {
		address := hostOf(c.Peer)
		i, seen := at[address]
		if !seen {
			i = len(callers)
			at[address] = i
			callers = append(callers, Caller{Address: address})
		}
		callers[i].Connections++
	}
	slices.SortFunc(callers, func(a, b Caller) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.Address, b.Address))
	})
	return callers
}

// hostOf is the address of "10.0.0.5:46374" or "[::ffff:10.0.0.5]:46384".
func hostOf(peer string) string {
	if a, err := netip.ParseAddrPort(peer); err == nil {
		return a.Addr().Unmap().String()
	}
	return peer
}

// StandsStill is for how long nothing has left the queue, in seconds.
func (w Waiting) StandsStill() Value[float64] {
	from, ok := w.Since.Get()
	if !ok {
		return Unknown[float64](w.Since.Reason())
	}
	to, ok := w.Uptime.Get()
	if !ok || to < from {
		return Unknown[float64](cmp.Or(w.Uptime.Reason(), "the pod's clock went backwards"))
	}
	return Known(to - from)
}

// Total is how many connections wait, those that are not listed included.
func (w Waiting) Total() int { return len(w.Connections) + w.Omitted }
