// Package source puts collecting in order: it keeps a probe's log and a proxy's
// metrics for every pod of a selection and gathers them into one
// model.Snapshot a tick. It is the only place that knows the order of
// collecting; what the bytes mean it leaves to pkg/parse and plugins.
package source

import (
	"context"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Source gives one Snapshot a tick. The first call returns at once, with
// whatever is known by then; the following ones wait for their tick. The only
// error it returns is the context's.
type Source interface {
	Next(ctx context.Context) (model.Snapshot, error)
	// Close stops collecting and waits until nothing of it runs any more.
	Close()
}

// StaleAfter is the age from which a pod's newest frame counts as stale: three
// missed ticks of the probe, one frame a second.
const StaleAfter = 3500 * time.Millisecond

// ticker paces Next: the first call passes, later ones are an interval apart.
type ticker struct {
	interval time.Duration
	next     time.Time
	seq      uint64
}

// wait blocks until the tick and returns its number, counted from 1.
func (t *ticker) wait(ctx context.Context, now func() time.Time) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	at := now()
	if t.seq > 0 && at.Before(t.next) {
		if err := pause(ctx, t.next.Sub(at)); err != nil {
			return 0, err
		}
	}
	t.next = now().Add(t.interval)
	t.seq++
	return t.seq, nil
}
