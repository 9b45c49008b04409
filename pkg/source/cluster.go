package source

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// Pods is the selection, kept current.
type Pods interface {
	Pods() []*corev1.Pod
	Gone() []*corev1.Pod
	// Unmeshed pods were left out, since there are meshed ones and nothing was named.
	Unmeshed() int
	// Problems are the parts of the selection that mean no pod; Err is why the
	// watch is behind, nil when it is not.
	Problems() []error
	Err() error
	Stop()
}

// Prober runs the probes.
type Prober interface {
	Ensure(ctx context.Context, pod *corev1.Pod, spec collect.ProbeSpec) (collect.Probe, error)
	Follow(ctx context.Context, namespace, pod, container string, since time.Duration, sink func(parse.Frame, time.Time)) error
}

// Pages fetches pages of a proxy's admin endpoint.
type Pages interface {
	Get(ctx context.Context, path string) (collect.Response, error)
	Close()
}

// ClusterOptions are what a Cluster needs of the world.
type ClusterOptions struct {
	Pods     Pods
	Prober   Prober
	Probe    collect.ProbeSpec
	Adapters []plugins.Adapter
	// Via is the rung that was asked for. Empty is `auto`: the probe, and where
	// that is refused what the proxy itself tells.
	Via model.Rung
	// Allow says whether a probe may be added to a pod that has none that lives:
	// nil, or why not. nil allows all.
	Allow func(ctx context.Context, pod *corev1.Pod) error
	// Target chooses the container whose processes a probe sees where none was
	// named; proxy is the container of the pod's proxy, if it has one.
	Target func(pod *corev1.Pod, proxy string) string
	// Exec samples from a shell in the first of the containers that has one, for
	// Via exec.
	Exec func(ctx context.Context, pod *corev1.Pod, containers []string, sink func(parse.Frame, time.Time)) error
	// LogHead reads the beginning of a container's log; nil leaves it out.
	LogHead func(ctx context.Context, pod *corev1.Pod, container string) ([]byte, error)
	// Pulling says whether the kubelet pulls the image of a container just now, in
	// its own words; empty when it does not or may not be asked.
	Pulling func(ctx context.Context, pod *corev1.Pod, container string) string
	// Caller names the pod behind an address; nil leaves addresses alone.
	Caller func(address string) model.Value[string]
	// Notes are what is to be said of the selection itself.
	Notes []string
	// Pages opens the admin endpoint of a pod; nil leaves metrics out.
	Pages func(pod *corev1.Pod, port uint16) Pages
	// NodeCPUs tells how many CPUs a node has; unknown where it may not be read.
	NodeCPUs func(ctx context.Context, node string) model.Value[int64]
	// Manifest tells what a pod was made from, as that is now. It may take its time:
	// nothing waits for it. nil leaves it out.
	Manifest func(ctx context.Context, pod *corev1.Pod) model.Manifest
	// Workload names the owner of a pod.
	Workload func(pod *corev1.Pod) model.Workload
	// Window is how far differences reach back; Interval the time between ticks.
	Window   time.Duration
	Interval time.Duration
	// StartLimit is how long a pod's first frame may take before its row says that
	// it failed; a frame that comes later is taken all the same. A minute when 0.
	StartLimit time.Duration
	Now        func() time.Time
}

// startAtOnce is how many probes are asked for at the same time: enough to have
// fifty pods up within seconds, few enough not to be throttled by the client's
// own rate limit.
const startAtOnce = 16

// Cluster is a Source over the pods of a cluster.
type Cluster struct {
	opt    ClusterOptions
	ctx    context.Context // the followers' life, not a call's: Close ends it
	cancel context.CancelFunc
	slots  chan struct{}
	wg     sync.WaitGroup
	tick   ticker

	mu        sync.Mutex
	followers map[string]*follower // by pod UID
}

// NewCluster starts nothing yet; the first Next does.
func NewCluster(opt ClusterOptions) *Cluster {
	ctx, cancel := context.WithCancel(context.Background())
	return &Cluster{
		opt: opt, ctx: ctx, cancel: cancel,
		slots:     make(chan struct{}, startAtOnce),
		tick:      ticker{interval: opt.Interval},
		followers: map[string]*follower{},
	}
}

// Next gathers all pods as they are now.
func (c *Cluster) Next(ctx context.Context) (model.Snapshot, error) {
	seq, err := c.tick.wait(ctx, c.opt.Now)
	if err != nil {
		return model.Snapshot{}, err
	}
	c.reconcile()
	s := model.Snapshot{Seq: seq, Time: c.opt.Now().UTC(), Notes: append([]string(nil), c.opt.Notes...)}
	c.mu.Lock()
	followers := make([]*follower, 0, len(c.followers))
	for _, f := range c.followers {
		followers = append(followers, f)
	}
	c.mu.Unlock()
	for _, f := range followers {
		s.Pods = append(s.Pods, f.snapshot())
	}
	sort.Slice(s.Pods, func(i, j int) bool {
		a, b := s.Pods[i].Meta, s.Pods[j].Meta
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.UID < b.UID
	})
	for _, err := range c.opt.Pods.Problems() {
		s.Problems = append(s.Problems, err.Error())
	}
	if err := c.opt.Pods.Err(); err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("watching pods: %v", err))
	}
	s.Notes = append(s.Notes, endings(s)...)
	if n := c.opt.Pods.Unmeshed(); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("left out, without a proxy: %s (name them, or give a selector, to see them)", podCount(n)))
	}
	return s, nil
}

func podCount(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// Renew asks for new probes where the old ones have ended, which happens only
// because somebody says so.
func (c *Cluster) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.followers {
		f.askAgain()
	}
}

// Close ends all followers and the watch, and waits for them.
func (c *Cluster) Close() {
	c.cancel()
	c.wg.Wait()
	c.opt.Pods.Stop()
}

// reconcile starts a follower for each new pod, and tells the others how their
// pod is now. Followers of deleted pods stay as rows, stopped.
func (c *Cluster) reconcile() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.opt.Pods.Pods() {
		f := c.followers[string(pod.UID)]
		if f == nil {
			f = newFollower(c.opt, pod)
			c.followers[string(pod.UID)] = f
		}
		f.update(pod)
		if f.startable() {
			c.start(f)
		}
	}
	for _, pod := range c.opt.Pods.Gone() {
		f := c.followers[string(pod.UID)]
		if f == nil {
			continue
		}
		f.gone(pod)
	}
	c.forget()
}

// forget drops the followers of deleted pods that the selection no longer
// remembers, so that a long run over many rollouts stays bounded.
func (c *Cluster) forget() {
	known := make(map[string]bool, len(c.followers))
	for _, pod := range c.opt.Pods.Pods() {
		known[string(pod.UID)] = true
	}
	for _, pod := range c.opt.Pods.Gone() {
		known[string(pod.UID)] = true
	}
	for uid, f := range c.followers {
		if !known[uid] && f.isGone() {
			delete(c.followers, uid)
		}
	}
}

func (c *Cluster) start(f *follower) {
	ctx, cancel := context.WithCancel(c.ctx)
	f.begin(cancel)
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		f.followQueues(ctx, c.slots)
	}()
	if endpoint, ok := f.admin(); ok && c.opt.Pages != nil {
		c.wg.Add(1)
		go func() {
			defer c.wg.Done()
			f.followMetrics(ctx, endpoint)
		}()
	}
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		f.learnNode(ctx)
		f.followPulling(ctx)
	}()
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		f.followManifest(ctx)
	}()
}
