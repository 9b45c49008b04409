package tui

import (
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// A curve's parts hold what was refused in their time; one long look is spread over
// the time that it took, and nobody knows of the time before the first.
func TestRates(t *testing.T) {
	line := timeline.New(timeline.Options{})
	add := func(second int, total model.Value[int64]) {
		p := pod("a", second)
		p.Sample.Arrived = noon.Add(time.Duration(second) * time.Second)
		p.Counters.ListenOverflows = total
		line.Add(model.Snapshot{Time: p.Sample.Arrived, Pods: []model.Pod{p}})
	}
	add(40, known(0))
	add(50, known(20)) // 2 a second from 40 to 50
	add(60, model.Unknown[int64]("x"))
	add(70, known(20))
	add(100, known(110)) // one long look: 3 a second from 70 to 100
	got := rates(line.Track("uid-a").Points(), noon.Add(100*time.Second), 6)
	want := []float64{2, -1, -1, 3, 3, 3}
	for i := range want {
		if got[i].Or(-1) != want[i] {
			t.Errorf("part %d: %v, want %v", i, got[i], want[i])
		}
	}
}
