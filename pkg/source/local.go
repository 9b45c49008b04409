package source

import (
	"context"
	"sync"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// LocalOptions are what a Local source needs of the world.
type LocalOptions struct {
	// Name of the single "pod": this machine's host name.
	Name string
	// PID is the process whose namespace and threads are looked at; 0: none.
	PID int
	// Run samples that network namespace until the context ends.
	Run      func(ctx context.Context, sink func(parse.Frame, time.Time)) error
	Window   time.Duration
	Interval time.Duration
	Now      func() time.Time
}

// Local is a Source over the network namespace that this process, or another one,
// is in, shown as one pod without a cluster around it.
type Local struct {
	opt    LocalOptions
	cancel context.CancelFunc
	done   chan struct{}
	tick   ticker

	mu      sync.Mutex
	history history
	err     error
	ended   bool
}

// NewLocal starts sampling at once; Close ends it.
func NewLocal(opt LocalOptions) *Local {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Local{
		opt: opt, cancel: cancel, done: make(chan struct{}),
		tick: ticker{interval: opt.Interval}, history: history{window: opt.Window},
	}
	go func() {
		defer close(l.done)
		err := opt.Run(ctx, func(f parse.Frame, arrived time.Time) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.history.addFrame(f, "local", arrived)
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err, l.ended = err, true
	}()
	return l
}

// Next gathers the listeners as they are now.
func (l *Local) Next(ctx context.Context) (model.Snapshot, error) {
	seq, err := l.tick.wait(ctx, l.opt.Now)
	if err != nil {
		return model.Snapshot{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	p := model.Pod{
		Meta:       model.Meta{Name: l.opt.Name},
		Ready:      true,
		Collection: model.Collection{Via: model.ViaLocal, Stage: model.StageWaiting},
		Runtime:    model.UnknownRuntime("no proxy was looked for on this machine"),
	}
	l.history.fill(&p)
	if l.opt.PID == 0 {
		p.Process = model.UnknownProcess("no process was named (--pid)")
	}
	for i := range p.Listeners {
		p.Listeners[i].Role = model.RoleApp
	}
	switch {
	case l.ended && l.err != nil:
		p.Collection.Stage, p.Collection.Message = model.StageFailed, l.err.Error()
	case len(l.history.frames) == 0:
	case now.Sub(p.Sample.Arrived) > StaleAfter:
		p.Collection.Stage = model.StageStale
	default:
		p.Collection.Stage = model.StageOK
	}
	return model.Snapshot{Seq: seq, Time: now.UTC(), Pods: []model.Pod{p}}, nil
}

// Close ends sampling and waits for it.
func (l *Local) Close() {
	l.cancel()
	<-l.done
}
