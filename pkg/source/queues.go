package source

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// followQueues reads the pod's queues by the rung that was asked for, until the
// pod is gone. Only `auto` ever falls to a lower rung, and to none that starts
// something in a container that the user did not ask to be entered.
func (f *follower) followQueues(ctx context.Context, slots chan struct{}) {
	switch f.opt.Via {
	case model.ViaMetrics:
		f.setStage(model.StageFailed, reasonNotAsked)
	case model.ViaExec:
		f.followExec(ctx, slots)
	default:
		f.followProbe(ctx, slots)
	}
}

// reasonNotAsked is why queues are unknown under --via metrics.
const reasonNotAsked = "the queue was not asked for (--via metrics)"

// followProbe makes sure that the pod has a probe and reads its log until the
// pod is gone. A probe whose time is over is not renewed: that is for whoever
// started it to say. One that died with its target is replaced by one without a
// target, since the target restarts.
func (f *follower) followProbe(ctx context.Context, slots chan struct{}) {
	spec := f.opt.Spec(f.current(), f.sidecar())
	for {
		probe, err := f.ensure(ctx, spec, slots)
		if err == nil {
			err = f.readProbe(ctx, probe)
		}
		var broken *collect.ProbeError
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			f.setStage(model.StageEnded, "the probe's time is over (--probe-ttl)")
			spec.Ended = probe.Name
		case errors.As(err, &broken) && spec.Target != "" && diedWithTarget(broken, f.hasFrames()):
			// The pod as the watch saw it last may still call the dead probe alive.
			spec.Target, spec.Loose, spec.Ended = "", false, probe.Name
			continue
		default:
			f.fail(err)
			if passes(err) {
				if pause(ctx, askAgainAfter) != nil {
					return
				}
				continue
			}
			if broken != nil && broken.Stage == model.StageEnded {
				spec.Ended = probe.Name
			}
		}
		// Whoever may not add a probe, or was told not to, may still read one that
		// somebody else adds later; and an image may come after all.
		if !f.waitForProbe(ctx, spec) {
			return
		}
	}
}

// Spec is the probe for a pod: with the target that was asked for, or else the
// app's container as a preference. proxy is the container of the pod's proxy.
func (o *ClusterOptions) Spec(pod *corev1.Pod, proxy string) collect.ProbeSpec {
	spec := o.Probe
	if spec.Target != "" || o.Target == nil {
		return spec
	}
	spec.Loose = true
	// The server that an adapter knows comes before other containers.
	if server := o.server(pod); server != nil && proxy == "" {
		alone := *pod
		alone.Spec.Containers = []corev1.Container{*server}
		spec.Target = o.Target(&alone, "")
	}
	if spec.Target == "" {
		spec.Target = o.Target(pod, proxy)
	}
	return spec
}

// server is the container that the pod's adapter names; nil when it names none.
func (o *ClusterOptions) server(pod *corev1.Pod) *corev1.Container {
	for _, a := range o.Adapters {
		if name, ok := a.Match(pod); ok {
			return containerNamed(pod, name)
		}
	}
	return nil
}

// diedWithTarget says whether a probe ended since it shared the processes of a
// container that is not there any more. One whose image cannot be pulled is
// another matter: a second entry would wait just as long.
func diedWithTarget(e *collect.ProbeError, hadFrames bool) bool {
	if hadFrames || e.Stage == model.StageEnded {
		return true
	}
	return strings.Contains(e.Message, "target container")
}

// readProbe follows the log from as far back as the window and two readings of
// the threads reach, which a probe that runs has printed already: rates are then
// known at once.
func (f *follower) readProbe(ctx context.Context, probe collect.Probe) error {
	f.mu.Lock()
	f.probe = probe.Name
	if !probe.New && f.stage == model.StageAsking {
		f.stage = model.StageWaiting
	}
	f.mu.Unlock()
	pod := f.current()
	return f.opt.Prober.Follow(ctx, pod.Namespace, pod.Name, probe.Name, max(f.opt.Window+2*time.Second, logReach), f.takeFrame(probe.Name))
}

// ensure gives a probe that lives, or adds one where that is allowed.
func (f *follower) ensure(ctx context.Context, spec collect.ProbeSpec, slots chan struct{}) (collect.Probe, error) {
	pod := f.current()
	if f.opt.Allow != nil && collect.Possible(pod) == nil && !collect.Living(pod, spec) {
		if err := f.opt.Allow(ctx, pod); err != nil {
			return collect.Probe{}, err
		}
	}
	select {
	case <-ctx.Done():
		return collect.Probe{}, ctx.Err()
	case slots <- struct{}{}:
	}
	defer func() { <-slots }()
	return f.opt.Prober.Ensure(ctx, pod, spec)
}

// waitForProbe waits until a probe runs in the pod, or somebody asks for a new
// one. It is false when the context ended.
func (f *follower) waitForProbe(ctx context.Context, spec collect.ProbeSpec) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-f.renew:
			f.setStage(model.StageAsking, "")
			return true
		case <-f.changed:
			if collect.Running(f.current(), spec) {
				return true
			}
		}
	}
}

// followExec samples from a shell inside one of the pod's own containers.
func (f *follower) followExec(ctx context.Context, slots chan struct{}) {
	if f.opt.Exec == nil {
		f.setStage(model.StageFailed, "exec is not possible here")
		return
	}
	pod := f.current()
	select {
	case <-ctx.Done():
		return
	case slots <- struct{}{}:
	}
	f.setStage(model.StageStarting, "running the sampler in a container of the pod")
	<-slots
	if err := f.opt.Exec(ctx, pod, f.containers(pod), f.takeFrame("exec")); err != nil && ctx.Err() == nil {
		f.fail(err)
	}
}

// containers are those to look for a shell in: the one that was named, or else
// the app's, and the proxy's last, since its image has none.
func (f *follower) containers(pod *corev1.Pod) []string {
	if f.opt.Probe.Target != "" {
		return []string{f.opt.Probe.Target}
	}
	var names []string
	proxy := f.sidecar()
	for _, c := range pod.Spec.Containers {
		if c.Name != proxy {
			names = append(names, c.Name)
		}
	}
	if proxy != "" {
		names = append(names, proxy)
	}
	return names
}

// fail marks the pod as one that gives no queue figures, and why.
func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleted {
		return
	}
	f.stage, f.message, f.rights = model.StageFailed, err.Error(), collect.MissingRights(err)
}

func (f *follower) hasFrames() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.history.frames) > 0
}
