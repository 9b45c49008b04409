package tui

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// sample is a pod at a time of its own clock, with so many overflows in all.
func sample(uptime float64, overflows int64, sandbox string) model.Pod {
	p := pod("a", 1)
	p.Sample.Uptime, p.Sample.Sandbox = model.Known(uptime), sandbox
	p.Counters.ListenOverflows = known(overflows)
	return p
}

func overflowsOf(t *track) (out []int64) {
	for _, p := range t.points {
		out = append(out, p.overflows.Or(-1))
	}
	return out
}

func TestTrack(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []model.Pod
		want    []int64
	}{
		{"one sample tells nothing", []model.Pod{sample(1, 500, "s")}, nil},
		{"differences", []model.Pod{sample(1, 500, "s"), sample(2, 500, "s"), sample(3, 507, "s")}, []int64{0, 7}},
		{"the same sample twice", []model.Pod{sample(1, 5, "s"), sample(2, 6, "s"), sample(2, 6, "s")}, []int64{1}},
		{"another sandbox starts afresh", []model.Pod{sample(1, 5, "s"), sample(2, 6, "s"), sample(3, 0, "t"), sample(4, 2, "t")}, []int64{2}},
		{"the clock went back", []model.Pod{sample(9, 5, "s"), sample(10, 6, "s"), sample(1, 7, "s"), sample(2, 9, "s")}, []int64{2}},
		{"a counter that went backwards is unknown", []model.Pod{sample(1, 5, "s"), sample(2, 4, "s")}, []int64{-1}},
		{"older than a minute is forgotten", []model.Pod{sample(1, 1, "s"), sample(2, 2, "s"), sample(70, 5, "s")}, []int64{3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &track{}
			for _, p := range c.samples {
				tr.add(p)
			}
			got := overflowsOf(tr)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Fatalf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestTrackIsBounded(t *testing.T) {
	tr := &track{}
	for i := range 5 * maxPoints {
		tr.add(sample(1+float64(i)/1000, int64(i), "s"))
	}
	if len(tr.points) > maxPoints {
		t.Errorf("%d points", len(tr.points))
	}
}

func TestHostNetworkHasNoHistory(t *testing.T) {
	tr := &track{}
	for i := range 3 {
		p := sample(float64(i), int64(i), "s")
		p.HostNetwork = true
		tr.add(p)
	}
	if len(tr.points) > 0 {
		t.Errorf("the node's overflows became the pod's: %v", overflowsOf(tr))
	}
}

func TestRates(t *testing.T) {
	points := []point{
		{at: 50, seconds: 10, overflows: known(20)}, // 2 a second from 40 to 50
		{at: 60, seconds: 10, overflows: model.Unknown[int64]("x")},
		{at: 70, seconds: 10, overflows: known(0)},
		{at: 100, seconds: 30, overflows: known(90)}, // one long look: 3 a second from 70 to 100
	}
	got := rates(points, 100, 6)
	want := []float64{2, -1, 0, 3, 3, 3}
	for i := range want {
		if got[i].Or(-1) != want[i] {
			t.Errorf("part %d: %v, want %v", i, got[i], want[i])
		}
	}
}
