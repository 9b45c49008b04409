package timeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sample is a pod at a time of its own clock, with so many overflows in all.
func sample(uptime float64, overflows int64, sandbox string) model.Pod {
	return model.Pod{
		Meta: model.Meta{Name: "a", Namespace: "shop", UID: "u"}, Ready: true,
		Collection: model.Collection{Stage: model.StageOK},
		Sample: model.Sample{
			Uptime: model.Known(uptime), Sandbox: sandbox, Arrived: noon.Add(time.Duration(uptime * float64(time.Second))),
		},
		Counters: model.Counters{ListenOverflows: model.Known(overflows)},
		Listeners: []model.Listener{{Address: "*", Port: 80, Sockets: []model.Socket{{
			Inode: model.Known[uint64](1), Depth: model.Known(overflows % 7), Limit: model.Known[int64](16), Drops: model.Known(overflows),
		}}}},
	}
}

func lineOf(o Options, pods ...model.Pod) *Timeline {
	t := New(o)
	for _, p := range pods {
		at := p.Sample.Arrived
		if at.IsZero() {
			at = t.to.Add(time.Second)
		}
		t.Add(model.Snapshot{Time: at, Pods: []model.Pod{p}})
	}
	return t
}

func refused(t *Timeline) (out []float64) {
	for _, p := range t.Track("u").Points() {
		out = append(out, p.Refused().Or(-1))
	}
	return out
}

func TestPoints(t *testing.T) {
	unread := func(p model.Pod) model.Pod { p.HostNetwork = true; return p }
	for _, c := range []struct {
		name    string
		samples []model.Pod
		want    []float64
	}{
		{"one sample tells of no time", []model.Pod{sample(1, 500, "s")}, []float64{-1}},
		{"differences", []model.Pod{sample(1, 500, "s"), sample(2, 500, "s"), sample(3, 507, "s")}, []float64{-1, 0, 7}},
		{"the same sample twice", []model.Pod{sample(1, 5, "s"), sample(2, 6, "s"), sample(2, 6, "s")}, []float64{-1, 1}},
		{"another sandbox starts afresh", []model.Pod{sample(1, 5, "s"), sample(3, 0, "t"), sample(4, 2, "t")}, []float64{-1, -1, 2}},
		{"the node restarted: its clock began anew", []model.Pod{sample(9, 5, "s"), sample(1, 7, "t"), sample(2, 9, "t")}, []float64{-1, -1, 2}},
		{"a counter that went backwards is unknown", []model.Pod{sample(1, 5, "s"), sample(2, 4, "s")}, []float64{-1, -1}},
		{"of a hostNetwork pod nothing is its own", []model.Pod{unread(sample(1, 5, "s")), unread(sample(2, 9, "s"))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := refused(lineOf(Options{}, c.samples...)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Frames that came between two snapshots are points of their own, at the time at
// which they were taken.
func TestEarlierFrames(t *testing.T) {
	p := sample(10, 9, "s")
	p.Earlier = []model.Pod{sample(8, 2, "s"), sample(9, 5, "s")}
	line := lineOf(Options{}, sample(7, 1, "s"), p)
	if got, want := refused(line), []float64{-1, 1, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if at := line.Track("u").Points()[1].Time(); !at.Equal(noon.Add(8 * time.Second)) {
		t.Errorf("the frame is of %s", at)
	}
}

func TestQueuesKeepWhatChanges(t *testing.T) {
	line := lineOf(Options{}, sample(1, 0, "s"), sample(2, 0, "s"), sample(3, 0, "s"), sample(4, 3, "s"), sample(5, 3, "s"), sample(6, 3, "s"))
	queues := line.Track("u").Queues()
	if len(queues) != 1 || queues[0].Listener.Port != 80 {
		t.Fatalf("%+v", queues)
	}
	var got []float64
	for _, s := range queues[0].Steps {
		got = append(got, s.Time().Sub(noon).Seconds(), s.Depth().Or(-1), s.Refused().Or(-1))
	}
	// The step behind a refusal says that it was over.
	if want := []float64{1, 0, -1, 4, 3, 3, 5, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// How a queue was while nobody looked is unknown, and what was refused meanwhile is no
// burst; a listener that is no more has no depth.
func TestQueuesHaveGaps(t *testing.T) {
	gone := sample(64, 60, "s")
	gone.Listeners = nil
	line := lineOf(Options{}, sample(1, 3, "s"), sample(2, 3, "s"), sample(62, 59, "s"), sample(63, 60, "s"), gone)
	var got []float64
	for _, s := range line.Track("u").Queues()[0].Steps {
		got = append(got, s.Time().Sub(noon).Seconds(), s.Depth().Or(-1), s.Refused().Or(-1))
	}
	if want := []float64{1, 3, -1, 3, -1, -1, 62, 3, -1, 63, 4, 1, 64, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSum(t *testing.T) {
	line := lineOf(Options{}, sample(1, 0, "s"), sample(2, 5, "s"), sample(3, 6, "s"), sample(5, 16, "s"))
	k := line.Track("u")
	for _, c := range []struct {
		name              string
		from, to          float64
		refused, seconds  float64
		samples           int
		peak, wantUnknown float64
	}{
		{name: "all", refused: 16, seconds: 4, samples: 4, peak: 6},
		{name: "after a mark", from: 2, refused: 11, seconds: 3, samples: 2, peak: 6},
		{name: "up to", to: 2, refused: 5, seconds: 1, samples: 2, peak: 5},
		{name: "nothing", from: 9, refused: -1, seconds: -1, samples: 0, peak: -1},
	} {
		at := func(s float64) time.Time {
			if s == 0 {
				return time.Time{}
			}
			return noon.Add(time.Duration(s * float64(time.Second)))
		}
		s := k.Sum(at(c.from), at(c.to))
		if s.Refused.Or(-1) != c.refused || s.Seconds.Or(-1) != c.seconds || s.Samples != c.samples || s.Peak.Or(-1) != c.peak {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestStepMergesPoints(t *testing.T) {
	var pods []model.Pod
	for i := range 60 {
		pods = append(pods, sample(float64(i), int64(i), "s"))
	}
	line := lineOf(Options{Step: 10 * time.Second}, pods...)
	got := refused(line)
	if len(got) != 6 || got[1] != 10 {
		t.Errorf("%v", got)
	}
	if s := line.Track("u").Sum(time.Time{}, time.Time{}); s.Refused.Or(0) != 59 {
		t.Errorf("%+v", s)
	}
}

func TestReachBounds(t *testing.T) {
	line := New(Options{Reach: 100 * time.Second, Events: 50})
	for i := range 2000 {
		p := sample(float64(i), int64(i/20*20), "s")
		p.Ready = i%2 == 0
		line.Add(model.Snapshot{Time: p.Sample.Arrived, Pods: []model.Pod{p}})
	}
	if n := len(line.Track("u").Points()); n < 100 || n > 200 {
		t.Errorf("%d points", n)
	}
	if n := len(line.Events()); n == 0 || n > 50 {
		t.Errorf("%d events", n)
	}
	if from, to := line.Span(); to.Sub(from) != 100*time.Second {
		t.Errorf("from %s to %s", from, to)
	}
	line.Add(model.Snapshot{Time: line.to.Add(time.Hour)})
	if len(line.Keys()) != 0 {
		t.Error("a pod that is long gone is remembered")
	}
}

// Without a reach a pod that was deleted is remembered however long ago that was, as
// far as there are not too many.
func TestDeletedPodsAreRemembered(t *testing.T) {
	line := lineOf(Options{}, sample(1, 0, "s"), sample(2, 5, "s"))
	line.Add(model.Snapshot{Time: noon.Add(8 * time.Hour)})
	if k := line.Track("u"); k == nil || k.Sum(time.Time{}, time.Time{}).Refused.Or(0) != 5 {
		t.Errorf("%+v", k)
	}
	for n := range mostTracks + 5 {
		p := sample(1, 0, "s")
		p.Meta.UID = fmt.Sprint(n)
		line.Add(model.Snapshot{Time: noon.Add(9*time.Hour + time.Duration(n)*20*time.Second), Pods: []model.Pod{p}})
	}
	if n := len(line.Keys()); n != mostTracks || line.Track("u") != nil {
		t.Errorf("%d are remembered", n)
	}
}

func TestEvents(t *testing.T) {
	with := func(p model.Pod, change func(*model.Pod)) model.Pod { change(&p); return p }
	verdict := func(c model.Class, s model.Severity) func(*model.Pod) {
		return func(p *model.Pod) {
			p.Verdicts = []model.Verdict{{Class: c, Severity: s, Listener: "in:4143", Sentence: "words"}}
		}
	}
	for _, c := range []struct {
		name string
		pods []model.Pod
		want []string
	}{
		{"nothing", []model.Pod{sample(1, 5, "s"), sample(2, 5, "s")}, nil},
		{"a burst is one event", []model.Pod{sample(1, 0, "s"), sample(2, 5, "s"), sample(3, 9, "s"), sample(30, 12, "s")}, []string{
			"refused +5 refused in 1 s", "refused +3 refused in 27 s",
		}},
		{"a verdict is told of once it has stood, and flicker is not", []model.Pod{
			with(sample(1, 0, "s"), verdict(model.ClassTooEarly, model.SeverityInfo)),
			with(sample(2, 0, "s"), verdict(model.ClassHealthy, model.SeverityInfo)),
			with(sample(3, 0, "s"), verdict(model.ClassUndecided, model.SeverityCritical)),
			with(sample(4, 0, "s"), verdict(model.ClassBurst, model.SeverityWarning)),
			with(sample(5, 0, "s"), verdict(model.ClassUndecided, model.SeverityCritical)),
			with(sample(6, 0, "s"), verdict(model.ClassBurst, model.SeverityWarning)),
			with(sample(7, 0, "s"), verdict(model.ClassBurst, model.SeverityWarning)),
			with(sample(9, 0, "s"), verdict(model.ClassBurst, model.SeverityWarning)),
			with(sample(10, 0, "s"), verdict(model.ClassHealthy, model.SeverityInfo)),
			with(sample(11, 0, "s"), verdict(model.ClassBurst, model.SeverityWarning)),
			with(sample(12, 0, "s"), verdict(model.ClassHealthy, model.SeverityInfo)),
			with(sample(15, 0, "s"), verdict(model.ClassHealthy, model.SeverityInfo)),
		}, []string{"verdict burst-overflow on in:4143: words", "verdict healthy on in:4143: words"}},
		{"restarts", []model.Pod{
			with(sample(1, 0, "s"), func(p *model.Pod) { p.Runtime.Start = model.Known(100.0) }),
			with(sample(2, 0, "t"), func(p *model.Pod) { p.Runtime.Start = model.Known(200.0) }),
		}, []string{"restart another sandbox or probe: counters start afresh", "restart the proxy has restarted"}},
		{"collecting", []model.Pod{
			with(sample(1, 0, "s"), func(p *model.Pod) { p.Collection.Stage = model.StageWaiting }), sample(2, 0, "s"),
			with(sample(3, 0, "s"), func(p *model.Pod) { p.Collection = model.Collection{Stage: model.StageStale, Message: "why"} }), sample(4, 0, "s"),
			with(sample(5, 0, "s"), func(p *model.Pod) { p.Collection.Stage = model.StageGone; p.Ready = false }),
		}, []string{"probe first figures", "probe figures have stopped: why", "probe figures arrive again", "gone gone"}},
		{"not ready", []model.Pod{sample(1, 0, "s"), with(sample(2, 0, "s"), func(p *model.Pod) { p.Ready = false })}, []string{"ready not ready any more"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, e := range lineOf(Options{}, c.pods...).EventsOf("u") {
				got = append(got, string(e.Kind)+" "+e.Text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// What is told of later stands at the time when it began.
func TestEventsAreInOrder(t *testing.T) {
	var pods []model.Pod
	for i := 1; i <= 8; i++ {
		p := sample(float64(i), 0, "s")
		p.Verdicts = []model.Verdict{{Class: model.ClassHealthy}}
		if i >= 3 {
			p.Verdicts[0].Class = model.ClassBurst
		}
		p.Ready = i < 4
		pods = append(pods, p)
	}
	events := lineOf(Options{}, pods...).Events()
	if len(events) != 2 || events[0].Kind != KindVerdict || !events[0].Time.Equal(noon.Add(3*time.Second)) || events[1].Kind != KindReady {
		t.Errorf("%+v", events)
	}
}

func TestNewPods(t *testing.T) {
	line := lineOf(Options{}, sample(1, 0, "s"))
	other := sample(2, 0, "s")
	other.Meta = model.Meta{Name: "b", UID: "v"}
	line.Add(model.Snapshot{Time: noon.Add(2 * time.Second), Pods: []model.Pod{sample(2, 0, "s"), other}})
	if e := line.Events(); len(e) != 1 || e[0].Kind != KindNew || e[0].Name != "b" {
		t.Errorf("%+v", e)
	}
	if keys := line.Keys(); !slices.Equal(keys, []string{"v", "u"}) {
		t.Errorf("%v", keys)
	}
}

// BenchmarkAdd is what a second of a thousand pods costs.
func BenchmarkAdd(b *testing.B) {
	line := New(Options{Reach: 15 * time.Minute})
	pods := make([]model.Pod, 1000)
	i := 0
	for b.Loop() {
		for j := range pods {
			pods[j] = sample(float64(i), int64(i), "s")
			pods[j].Meta.UID = string(rune('a'+j%26)) + string(rune('a'+j/26))
		}
		line.Add(model.Snapshot{Time: noon.Add(time.Duration(i) * time.Second), Pods: pods})
		i++
	}
}
