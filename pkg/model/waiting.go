package model

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
	// in which nothing left the queue. Unknown while something does.
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
