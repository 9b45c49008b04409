package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// follower collects for one pod.
type follower struct {
	opt     ClusterOptions
	adapter plugins.Adapter
	proxy   string // container of the proxy or server; empty where the adapter names none

	// changed says that the pod is another than before, renew that somebody wants
	// a new probe. Both hold one signal.
	changed, renew chan struct{}

	mu       sync.Mutex
	pod      *corev1.Pod
	cancel   context.CancelFunc
	started  bool
	begun    time.Time // when it was
	deleted  bool
	stage    model.Stage
	message  string
	broken   string        // why the probe's log is asked for anew; empty while frames come
	rights   []model.Right // that the user lacks for more
	probe    string
	pulling  string // what the kubelet says of the probe's image while it pulls it
	history  history
	version  model.Value[string]
	nodeCPUs model.Value[int64]
	// problem says why metrics are missing; read is when the last page came.
	problem       string
	problemRights []model.Right
	read          time.Time
	page          []model.RawText // what it said
	// logged are the workers as the proxy's own log tells them, where its metrics
	// cannot be read.
	logged model.Value[int64]
	// manifest is what the pod was made from, env what the proxy's process told of
	// its environment.
	manifest model.Manifest
	env      map[string]model.Value[string]
}

func newFollower(opt ClusterOptions, pod *corev1.Pod) *follower {
	f := &follower{
		opt: opt, pod: pod, stage: model.StageAsking,
		changed: make(chan struct{}, 1), renew: make(chan struct{}, 1),
		history:  history{window: opt.Window},
		version:  model.Unknown[string](ReasonNoMetricsYet),
		nodeCPUs: model.Unknown[int64]("the node was not read yet"),
		manifest: noManifest(opt),
	}
	for _, a := range opt.Adapters {
		if container, ok := a.Match(pod); ok {
			f.adapter, f.proxy = a, container
			break
		}
	}
	return f
}

// update takes the pod as the watch sees it now.
func (f *follower) update(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pod != pod {
		signal(f.changed)
	}
	f.pod = pod
	if f.started && f.probe != "" && len(f.history.frames) == 0 && f.stage != model.StageFailed {
		if stage, message := collect.ProbeState(pod, f.probe); stage != "" {
			f.stage, f.message = stage, message
		}
	}
	if !f.started {
		f.stage, f.message = unstarted(pod)
	}
}

// signal leaves a signal where one is waited for, without waiting itself.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// askAgain makes a pod whose probe has ended ask for another one.
func (f *follower) askAgain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.started && !f.deleted && f.stage == model.StageEnded {
		signal(f.renew)
	}
}

// unstarted says what a pod without a probe waits for, or why it gets none.
func unstarted(pod *corev1.Pod) (model.Stage, string) {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return model.StageGone, fmt.Sprintf("the pod has finished (%s): nothing listens in it any more", pod.Status.Phase)
	case pod.Spec.HostNetwork:
		return model.StageFailed, model.ReasonHostNetwork
	case !anyRunning(pod):
		return model.StageFailed, "the pod is not running yet: " + pendingReason(pod)
	}
	return model.StageAsking, ""
}

// anyRunning says whether some container of the pod runs, so that there is
// something to look at: sidecars run while the rest still waits.
func anyRunning(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodRunning {
		return true
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if s.State.Running != nil {
			return true
		}
	}
	return false
}

// pendingReason gives the scheduler's or the kubelet's own words.
func pendingReason(pod *corev1.Pod) string {
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Message != "" {
			return w.Reason + ": " + w.Message
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	return string(pod.Status.Phase)
}

func (f *follower) startable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.started && !f.deleted && f.stage == model.StageAsking && f.pod.DeletionTimestamp == nil
}

func (f *follower) begin(cancel context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started, f.cancel, f.begun = true, cancel, f.opt.Now()
}

// gone keeps the pod as a row, and stops asking for anything.
func (f *follower) gone(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleted {
		return
	}
	f.deleted, f.pod = true, pod
	f.stage, f.message = model.StageGone, "the pod was deleted; figures are the last ones seen"
	if p := pod.Status.Phase; p == corev1.PodSucceeded || p == corev1.PodFailed {
		f.message = fmt.Sprintf("the pod has finished (%s); figures are the last ones seen", p)
	}
	if f.cancel != nil {
		f.cancel()
	}
}

func (f *follower) isGone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deleted
}

func (f *follower) admin() (model.Endpoint, bool) {
	teller, ok := f.adapter.(plugins.AdminTeller)
	if !ok {
		return model.Endpoint{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	endpoint := teller.Admin(f.pod)
	if endpoint.Port == 0 {
		f.problem = endpoint.Why
	}
	return endpoint, endpoint.Port != 0
}

func (f *follower) current() *corev1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pod
}

func (f *follower) setStage(stage model.Stage, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.deleted {
		f.stage, f.message, f.rights = stage, message, nil
	}
}

func (f *follower) learnNode(ctx context.Context) {
	if f.opt.NodeCPUs == nil {
		return
	}
	cpus := f.opt.NodeCPUs(ctx, f.current().Spec.NodeName)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodeCPUs = cpus
}

func (f *follower) takeFrame(probe string) func(parse.Frame, time.Time) {
	return func(frame parse.Frame, arrived time.Time) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.history.addFrame(frame, string(f.pod.UID)+"/"+probe, arrived)
		if !f.deleted {
			f.stage, f.message, f.rights = model.StageOK, "", nil
			f.broken = ""
		}
	}
}
