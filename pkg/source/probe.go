package source

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// followProbe makes sure that the pod has a probe and reads its log until the
// pod is gone. A probe whose time is over is not renewed: that is for whoever
// started it to say. One that died with its target is replaced by one without a
// target, since the target restarts.
func (f *follower) followProbe(ctx context.Context, slots chan struct{}) {
	spec := f.opt.Probe
	for {
		probe, err := f.ensure(ctx, spec, slots)
		if err != nil {
			f.fail(ctx, err)
			return
		}
		f.mu.Lock()
		f.probe = probe.Name
		if !probe.New && f.stage == model.StageAsking {
			f.stage = model.StageWaiting
		}
		f.mu.Unlock()
		// A running probe has printed the window already: read it from there, so
		// that rates are known at once.
		since := f.opt.Window + 2*time.Second
		pod := f.current()
		err = f.opt.Prober.Follow(ctx, pod.Namespace, pod.Name, probe.Name, since, f.takeFrame(probe.Name))
		var broken *collect.ProbeError
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			f.setStage(model.StageEnded, "the probe's time is over (--probe-ttl); start again to add another")
			return
		case errors.As(err, &broken) && spec.Target != "" && f.hasFrames():
			// The pod as the watch saw it last may still call the dead probe alive.
			spec.Target, spec.Ended = "", probe.Name
			continue
		}
		f.fail(ctx, err)
		return
	}
}

func (f *follower) ensure(ctx context.Context, spec collect.ProbeSpec, slots chan struct{}) (collect.Probe, error) {
	select {
	case <-ctx.Done():
		return collect.Probe{}, ctx.Err()
	case slots <- struct{}{}:
	}
	defer func() { <-slots }()
	return f.opt.Prober.Ensure(ctx, f.current(), spec)
}

func (f *follower) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	f.setStage(model.StageFailed, err.Error())
}

func (f *follower) hasFrames() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.history.frames) > 0
}
