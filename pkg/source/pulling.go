package source

import (
	"context"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// pullingEvery is how often it is asked whether a starting probe waits for its
// image. The pod's status says ContainerCreating for that, too; only the events
// tell, which not everybody may read.
const pullingEvery = 2 * time.Second

// followPulling looks for the word of the kubelet that it pulls, until the first
// frame is there.
func (f *follower) followPulling(ctx context.Context) {
	if f.opt.Pulling == nil || f.opt.Via == model.ViaMetrics || f.opt.Via == model.ViaExec {
		return
	}
	ticks := time.NewTicker(pullingEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		f.mu.Lock()
		stage, probe, pod, done := f.stage, f.probe, f.pod, len(f.history.frames) > 0
		f.mu.Unlock()
		if done || stage == model.StageFailed || stage == model.StageEnded {
			return
		}
		if stage != model.StageStarting || probe == "" {
			continue
		}
		words := f.opt.Pulling(ctx, pod, probe)
		f.mu.Lock()
		f.pulling = words
		f.mu.Unlock()
	}
}
