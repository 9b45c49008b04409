package source

import (
	"context"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// logEvery is the least time between two looks at the beginning of a proxy's
// log: it changes only when the proxy restarts.
const logEvery = time.Minute

// logReader takes the workers from the proxy's own log where its metrics cannot
// be read.
type logReader struct {
	container string // its ID: another one has another log
	asked     time.Time
}

// read looks at the log if there is reason to believe that it tells something
// new.
func (l *logReader) read(ctx context.Context, f *follower) {
	reader, ok := f.adapter.(plugins.LogReader)
	if !ok || f.opt.LogHead == nil {
		return
	}
	pod := f.current()
	id := ""
	if status := collect.ContainerStatus(pod, f.proxy); status != nil {
		id = status.ContainerID
	}
	if !l.asked.IsZero() && id == l.container && f.opt.Now().Sub(l.asked) < logEvery {
		return
	}
	l.container, l.asked = id, f.opt.Now()
	workers := model.Unknown[int64]("the proxy's log cannot be read")
	if head, err := f.opt.LogHead(ctx, pod, f.proxy); err == nil {
		workers = reader.WorkersFromLog(head)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = workers
}
