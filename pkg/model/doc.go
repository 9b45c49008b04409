// Package model holds the values that everything else speaks in: a Snapshot of
// pods, their listeners and sockets, the counters of their network namespace,
// the proxy's runtime, and the knobs somebody set. It also holds the pure rules
// on those values: grouping sockets into listeners, what happened between two
// samples, and the busy ratio of a runtime.
//
// Nothing here reads or writes: bytes become these values in pkg/parse, and
// these values become words in pkg/render and pkg/tui. The JSON tags are the
// public schema of `kubectl backlog get -o json`.
package model
