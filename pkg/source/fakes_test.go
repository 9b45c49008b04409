package source

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakePods is a selection that a test changes by hand.
type fakePods struct {
	mu       sync.Mutex
	pods     []*corev1.Pod
	deleted  []*corev1.Pod
	err      error
	unmeshed int
}

func (f *fakePods) Pods() []*corev1.Pod { f.mu.Lock(); defer f.mu.Unlock(); return f.pods }
func (f *fakePods) Gone() []*corev1.Pod { f.mu.Lock(); defer f.mu.Unlock(); return f.deleted }
func (f *fakePods) Err() error          { f.mu.Lock(); defer f.mu.Unlock(); return f.err }
func (f *fakePods) Unmeshed() int       { return f.unmeshed }
func (f *fakePods) Problems() []error   { return nil }
func (f *fakePods) Stop()               {}

func (f *fakePods) remove(pod *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pods, f.deleted = nil, []*corev1.Pod{pod}
}

// fakeProber gives a probe, and frames for each time its log is followed.
type fakeProber struct {
	ensure func(spec collect.ProbeSpec) (collect.Probe, error)
	follow func(ctx context.Context, container string, sink func(parse.Frame, time.Time)) error

	mu    sync.Mutex
	specs []collect.ProbeSpec
}

func (f *fakeProber) Ensure(_ context.Context, _ *corev1.Pod, spec collect.ProbeSpec) (collect.Probe, error) {
	f.mu.Lock()
	f.specs = append(f.specs, spec)
	f.mu.Unlock()
	if f.ensure == nil {
		return collect.Probe{Name: "backlog-probe-1", New: true}, nil
	}
	return f.ensure(spec)
}

func (f *fakeProber) Follow(ctx context.Context, _, _, container string, _ time.Duration, sink func(parse.Frame, time.Time)) error {
	return f.follow(ctx, container, sink)
}

func (f *fakeProber) asked() []collect.ProbeSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]collect.ProbeSpec(nil), f.specs...)
}

// frameAt is one frame of a pod with an inbound listener of backlog 16.
func frameAt(seq uint64, uptime float64, depth, overflows int64) parse.Frame {
	return parse.Frame{
		Seq: seq, Uptime: model.Known(uptime), SocketsRead: true,
		Sockets: []model.Socket{{
			Address: "0.0.0.0", Port: 4143, Inode: model.Known[uint64](7),
			Depth: model.Known(depth), Limit: model.Known[int64](16), Drops: model.Known(overflows),
		}},
		Counters: model.Counters{ListenOverflows: model.Known(overflows), PassiveOpens: model.Known[int64](0)},
	}
}

// frames gives a follow that prints so many frames a second apart and then waits.
func frames(n int, depth func(i int) int64, overflows func(i int) int64) func(context.Context, string, func(parse.Frame, time.Time)) error {
	return func(ctx context.Context, _ string, sink func(parse.Frame, time.Time)) error {
		for i := range n {
			sink(frameAt(uint64(i+1), float64(100+i), depth(i), overflows(i)), time.Now())
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

func constant(n int64) func(int) int64 { return func(int) int64 { return n } }

// fakeProxy is an adapter for every pod with a container called proxy.
type fakeProxy struct{}

func (fakeProxy) Name() string { return "fake" }

func (fakeProxy) Match(pod *corev1.Pod) (string, bool) {
	for _, c := range pod.Spec.Containers {
		if c.Name == "proxy" {
			return c.Name, true
		}
	}
	return "", false
}

func (fakeProxy) Roles(*corev1.Pod) map[uint16]model.Role {
	return map[uint16]model.Role{4143: model.RoleInbound}
}

func (fakeProxy) Admin(*corev1.Pod) model.Endpoint {
	return model.Endpoint{Port: 4191, Metrics: "/metrics"}
}

func (fakeProxy) Runtime(page *parse.Metrics) (model.Runtime, model.Value[string]) {
	r := model.UnknownRuntime("not on the page")
	for name, to := range map[string]*model.Value[float64]{
		"tokio_rt_busy_seconds_total": &r.BusySeconds, "process_clock_time_seconds": &r.Clock, "process_start_time_seconds": &r.Start,
	} {
		if v, ok := page.Value(name); ok {
			*to = model.Known(v)
		}
	}
	if v, ok := page.Value("tokio_rt_workers"); ok {
		r.Workers = model.Known(int64(v))
	}
	return r, model.Known("1.2.3")
}

// fakePages serves one page, or an error.
type fakePages struct {
	page func() (string, int, error)
}

func (f fakePages) Get(context.Context, string) (collect.Response, error) {
	body, status, err := f.page()
	return collect.Response{Status: status, Body: []byte(body)}, err
}
func (fakePages) Close() {}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "proxy"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func newTestCluster(t *testing.T, pods *fakePods, prober *fakeProber, page func() (string, int, error)) *Cluster {
	t.Helper()
	opt := ClusterOptions{
		Pods: pods, Prober: prober, Adapters: []plugins.Adapter{fakeProxy{}},
		Window: 3 * time.Second, Interval: time.Millisecond, Now: time.Now,
	}
	if page != nil {
		opt.Pages = func(*corev1.Pod, uint16) Pages { return fakePages{page} }
	}
	c := NewCluster(opt)
	t.Cleanup(c.Close)
	return c
}

// until takes snapshots until the only pod is as wanted.
func until(t *testing.T, c Source, want func(model.Pod) bool) model.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var last model.Snapshot
	for {
		s, err := c.Next(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the pod never became as wanted; last: %+v", last.Pods)
		}
		if err != nil {
			t.Fatal(err)
		}
		last = s
		if len(s.Pods) == 1 && want(s.Pods[0]) {
			return s.Pods[0]
		}
	}
}

func atStage(stage model.Stage) func(model.Pod) bool {
	return func(p model.Pod) bool { return p.Collection.Stage == stage }
}
