package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// A screen must not stay blank while probes start: the first snapshot comes at
// once and says what each pod is doing.
func TestFirstSnapshotDoesNotWaitForProbes(t *testing.T) {
	release := make(chan struct{})
	prober := &fakeProber{
		ensure: func(collect.ProbeSpec) (collect.Probe, error) {
			<-release
			return collect.Probe{Name: "backlog-probe-1"}, nil
		},
		follow: frames(2, constant(0), constant(0)),
	}
	c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, nil)
	s, err := c.Next(context.Background())
	if err != nil || len(s.Pods) != 1 || s.Pods[0].Collection.Stage != model.StageAsking {
		t.Fatalf("first snapshot = %+v, %v", s, err)
	}
	close(release)
	until(t, c, atStage(model.StageOK))
}

func TestFramesBecomeFiguresOfTheWindow(t *testing.T) {
	// 5 frames, a second apart; the window of 3 s holds the last four.
	prober := &fakeProber{follow: frames(5,
		func(i int) int64 { return []int64{17, 0, 9, 2, 0}[i] },
		func(i int) int64 { return []int64{0, 100, 110, 120, 130}[i] })}
	c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, nil)
	p := until(t, c, func(p model.Pod) bool { return p.Sample.Seq == 5 })
	l := p.Listeners[0]
	if l.Role != model.RoleInbound || l.Worst().Limit != model.Known[int64](16) {
		t.Errorf("listener = %+v", l)
	}
	if p.Window.Seconds != model.Known(3.0) || l.Window.Overflows != model.Known[int64](30) {
		t.Errorf("window = %+v, %+v: want 30 overflows in 3 s", p.Window, l.Window)
	}
	if l.Window.Peak != model.Known[int64](9) {
		t.Errorf("peak = %+v: want 9, the highest of the window, not 17 from before it", l.Window.Peak)
	}
}

// Pods that get no probe say why, and nobody is asked for one.
func TestPodsWithoutAProbe(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		model.ReasonHostNetwork:            func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"the pod has finished (Succeeded)": func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"not running yet: 0/1 nodes are available": func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}
		},
		"ErrImagePull: no such image": func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"},
			}}}
		},
	} {
		prober := &fakeProber{follow: frames(1, constant(0), constant(0))}
		c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a", change)}}, prober, nil)
		s, err := c.Next(context.Background())
		if err != nil || !strings.Contains(s.Pods[0].Collection.Message, want) {
			t.Errorf("%s: %+v, %v", want, s.Pods[0].Collection, err)
		}
		if len(prober.asked()) != 0 {
			t.Errorf("%s: a probe was asked for", want)
		}
	}
}

// When the probe cannot be had, the proxy's metrics still tell of the workers,
// and the row says which rung its figures come from.
func TestMetricsRemainWhenTheProbeIsRefused(t *testing.T) {
	prober := &fakeProber{ensure: func(collect.ProbeSpec) (collect.Probe, error) {
		return collect.Probe{}, errors.New("not allowed to patch pods/ephemeralcontainers in namespace shop")
	}}
	c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, func() (string, int, error) {
		return "tokio_rt_workers 1\nprocess_clock_time_seconds 5\n", 200, nil
	})
	p := until(t, c, func(p model.Pod) bool { return p.Runtime.Workers.IsKnown() })
	if p.Collection.Via != model.ViaMetrics || p.Collection.Stage != model.StageFailed ||
		!strings.Contains(p.Collection.Message, "pods/ephemeralcontainers") {
		t.Errorf("collection = %+v", p.Collection)
	}
	if p.Counters.ListenOverflows.IsKnown() || len(p.Listeners) != 0 {
		t.Errorf("figures of the queue appeared from nowhere: %+v", p)
	}
}

// A scrape that fails is told, and old figures do not stay.
func TestMetricsThatStop(t *testing.T) {
	failing := false
	prober := &fakeProber{follow: frames(2, constant(0), constant(0))}
	now := time.Unix(1000, 0)
	pods := &fakePods{pods: []*corev1.Pod{pod("a")}}
	f := newFollower(ClusterOptions{
		Pods: pods, Prober: prober, Window: 3 * time.Second, Now: func() time.Time { return now },
	}, pod("a"))
	f.adapter = fakeProxy{}
	f.history.addReading(model.Runtime{Workers: model.Known[int64](1)})
	f.read = now
	if p := f.snapshot(); p.Runtime.Workers != model.Known[int64](1) {
		t.Errorf("fresh: %+v (failing %v)", p.Runtime.Workers, failing)
	}
	f.problem = "the proxy did not answer within 2s"
	now = now.Add(metricsOldAfter + time.Second)
	if p := f.snapshot(); p.Runtime.Workers.IsKnown() || p.Runtime.Workers.Reason() != f.problem {
		t.Errorf("old: %+v", p.Runtime.Workers)
	}
}

func TestBadPages(t *testing.T) {
	for want, page := range map[string]func() (string, int, error){
		"503":                func() (string, int, error) { return "", 503, nil },
		"not a metrics page": func() (string, int, error) { return "<html><body>hello</body></html>", 200, nil },
		"none of the figures": func() (string, int, error) {
			return "# TYPE other_total counter\nother_total 1\n", 200, nil
		},
		"refused": func() (string, int, error) { return "", 0, errors.New("connection refused") },
	} {
		_, err := scrape(context.Background(), fakePages{page}, "/metrics", fakeProxy{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A probe with a target dies when the target restarts; it is replaced by one
// without. A probe whose time is over is not replaced.
func TestProbesThatEnd(t *testing.T) {
	t.Run("with its target", func(t *testing.T) {
		n := 0
		prober := &fakeProber{
			ensure: func(collect.ProbeSpec) (collect.Probe, error) {
				n++
				return collect.Probe{Name: fmt.Sprintf("backlog-probe-%d", n)}, nil
			},
			follow: func(ctx context.Context, container string, sink func(parse.Frame, time.Time)) error {
				sink(frameAt(1, 100, 0, 0), time.Now())
				if container == "backlog-probe-1" {
					return &collect.ProbeError{Stage: model.StageFailed, Message: "exit code 137"}
				}
				<-ctx.Done()
				return ctx.Err()
			},
		}
		pods := &fakePods{pods: []*corev1.Pod{pod("a")}}
		c := NewCluster(ClusterOptions{
			Pods: pods, Prober: prober, Probe: collect.ProbeSpec{Target: "app"},
			Window: time.Second, Interval: time.Millisecond, Now: time.Now,
		})
		defer c.Close()
		p := until(t, c, func(p model.Pod) bool {
			return p.Collection.Probe == "backlog-probe-2" && p.Collection.Stage == model.StageOK
		})
		if specs := prober.asked(); len(specs) != 2 || specs[0].Target != "app" || specs[1].Target != "" || specs[1].Ended != "backlog-probe-1" {
			t.Errorf("asked for %+v", specs)
		}
		if p.Window.Overflows.IsKnown() {
			t.Errorf("a difference across two probes: %+v", p.Window)
		}
	})
	t.Run("by its ttl", func(t *testing.T) {
		prober := &fakeProber{follow: func(_ context.Context, _ string, sink func(parse.Frame, time.Time)) error {
			sink(frameAt(1, 100, 0, 0), time.Now())
			return nil
		}}
		c := newTestCluster(t, &fakePods{pods: []*corev1.Pod{pod("a")}}, prober, nil)
		until(t, c, atStage(model.StageEnded))
		if n := len(prober.asked()); n != 1 {
			t.Errorf("%d probes were asked for, want no renewal", n)
		}
	})
}

// A deleted pod stays as a row with what was known of it, and is left alone.
func TestDeletedPodStaysAsARow(t *testing.T) {
	ended := make(chan struct{})
	prober := &fakeProber{follow: func(ctx context.Context, _ string, sink func(parse.Frame, time.Time)) error {
		sink(frameAt(1, 100, 3, 655), time.Now())
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}}
	a := pod("a")
	pods := &fakePods{pods: []*corev1.Pod{a}}
	c := newTestCluster(t, pods, prober, nil)
	until(t, c, atStage(model.StageOK))
	pods.remove(a)
	p := until(t, c, atStage(model.StageGone))
	if p.Counters.ListenOverflows != model.Known[int64](655) {
		t.Errorf("what was known is gone too: %+v", p.Counters)
	}
	<-ended
}

// Frames that stop arriving make a row stale; the figures say of when they are.
func TestStaleRows(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFollower(ClusterOptions{Window: time.Second, Now: func() time.Time { return now }}, pod("a"))
	f.takeFrame("backlog-probe-1")(frameAt(1, 100, 0, 0), now)
	if p := f.snapshot(); p.Collection.Stage != model.StageOK {
		t.Errorf("fresh: %+v", p.Collection)
	}
	now = now.Add(StaleAfter + time.Second)
	if p := f.snapshot(); p.Collection.Stage != model.StageStale || !strings.Contains(p.Collection.Message, "00:16:40Z") {
		t.Errorf("4.5 s later: %+v", p.Collection)
	}
}

// A row whose probe has ended does not show old figures as the present.
func TestEndedRowsForgetTheirFigures(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFollower(ClusterOptions{Window: time.Second, Now: func() time.Time { return now }}, pod("a"))
	f.takeFrame("backlog-probe-1")(frameAt(1, 100, 0, 0), now)
	f.setStage(model.StageEnded, "the probe's time is over")
	if p := f.snapshot(); len(p.Listeners) != 1 {
		t.Errorf("at once: %+v", p.Listeners)
	}
	now = now.Add(StaleAfter + time.Second)
	p := f.snapshot()
	if len(p.Listeners) != 0 || p.Counters.ListenOverflows.IsKnown() || p.Window.Overflows.Reason() != "the probe's time is over" {
		t.Errorf("later: %+v %+v %+v", p.Listeners, p.Counters, p.Window)
	}
	if state, _ := p.Condition(); state != model.StateUnknown {
		t.Errorf("state = %s", state)
	}
}

// The watch's trouble and what it left out reach the reader.
func TestNotesOfTheWatch(t *testing.T) {
	pods := &fakePods{pods: []*corev1.Pod{pod("a")}, err: errors.New("connection refused"), unmeshed: 12}
	c := newTestCluster(t, pods, &fakeProber{follow: frames(1, constant(0), constant(0))}, nil)
	s, err := c.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(s.Notes, "\n")
	if !strings.Contains(notes, "connection refused") || !strings.Contains(notes, "without a proxy: 12 pods") {
		t.Errorf("notes = %q", notes)
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	c := newTestCluster(t, &fakePods{}, &fakeProber{}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// Where nodes may not be read, the CPUs are those that the target may run on,
// and that is said.
func TestCPUsWithoutNodes(t *testing.T) {
	f := newFollower(ClusterOptions{Now: time.Now}, pod("a"))
	f.nodeCPUs = model.Unknown[int64]("reading node n1: forbidden")
	p := model.Pod{Process: model.UnknownProcess("no target")}
	if got := f.cpus(&p); got.Reason() != "reading node n1: forbidden" || len(p.Notes) > 0 {
		t.Errorf("neither is known: %+v, %v", got, p.Notes)
	}
	p.Process.CPUsAllowed = model.Known[int64](16)
	if got := f.cpus(&p); got != model.Known[int64](16) || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "Cpus_allowed_list: reading node n1") {
		t.Errorf("from the target: %+v, %v", got, p.Notes)
	}
	f.nodeCPUs, p.Notes = model.Known[int64](8), nil
	if got := f.cpus(&p); got != model.Known[int64](8) || len(p.Notes) > 0 {
		t.Errorf("the node's own: %+v, %v", got, p.Notes)
	}
}

// What the proxy's log said at its start stands in only where its metrics were
// never read: a proxy that answered before and does not now is away.
func TestWorkersOfTheLog(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFollower(ClusterOptions{Now: func() time.Time { return now }}, pod("a"))
	f.adapter, f.problem, f.logged = fakeProxy{}, "not allowed to get pods/portforward", model.Known[int64](3)
	if p := f.snapshot(); p.Runtime.Workers != model.Known[int64](3) || len(p.Notes) != 1 {
		t.Errorf("never read: %+v, notes %q", p.Runtime.Workers, p.Notes)
	}
	f.history.addReading(model.Runtime{Workers: model.Known[int64](2)})
	f.read = now.Add(-metricsOldAfter - time.Second)
	if p := f.snapshot(); p.Runtime.Workers.IsKnown() || len(p.Notes) != 0 {
		t.Errorf("read before: %+v, notes %q", p.Runtime.Workers, p.Notes)
	}
}

// A frame that could not read the sockets does not say that nothing listens.
func TestSocketsThatWereNotRead(t *testing.T) {
	h := history{window: 3 * time.Second}
	frame := frameAt(1, 100, 0, 0)
	frame.Sockets, frame.SocketsRead = nil, false
	h.addFrame(frame, "s", time.Now())
	var p model.Pod
	if h.fill(&p); p.Sockets.IsKnown() || p.Sockets.Reason() == "" {
		t.Errorf("not read: %+v", p.Sockets)
	}
	frame.Seq, frame.Uptime, frame.SocketsRead = 2, model.Known(101.0), true
	h.addFrame(frame, "s", time.Now())
	if h.fill(&p); p.Sockets != model.Known[int64](0) {
		t.Errorf("none: %+v", p.Sockets)
	}
}
