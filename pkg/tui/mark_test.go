package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// counted gives a snapshot of one pod whose counter says total.
func countedPods(n int, totals ...int64) model.Snapshot {
	s := many(len(totals), n)
	for i, total := range totals {
		s.Pods[i].Counters.ListenOverflows = known(total)
	}
	return s
}

func TestSinceTheMark(t *testing.T) {
	a := screen(t, 160, 40)
	deliver(a, countedPods(1, 500, 7))
	press(a, "m")
	if v := a.View(); !strings.Contains(v, "counting from 12:00:01Z") || !strings.Contains(v, "+0 since mark 12:00:01Z") {
		t.Errorf("the mark does not show:\n%s", v)
	}
	deliver(a, countedPods(9, 512, 7))
	if w := a.markWord(); w != "+12 since mark 12:00:01Z" {
		t.Errorf("%q", w)
	}
	for _, c := range []struct {
		name   string
		change func(*model.Pod)
		want   int64 // -1: unknown
	}{
		{"as it was", func(*model.Pod) {}, 12},
		{"another sandbox", func(p *model.Pod) { p.Sample.Sandbox = "s2" }, -1},
		{"a pod that came later", func(p *model.Pod) { p.Meta.UID, p.Meta.Created = "new", noon.Add(5*time.Second) }, 512},
		{"a pod that nobody looked at then", func(p *model.Pod) { p.Meta.UID = "old" }, -1},
		{"hostNetwork", func(p *model.Pod) { p.HostNetwork = true }, -1},
		{"unread", func(p *model.Pod) { p.Counters.ListenOverflows = model.Unknown[int64]("why") }, -1},
	} {
		p := a.live.Pods[0]
		c.change(&p)
		if got := a.sinceMark(p, overflowsOf).Or(-1); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	press(a, "w", "enter", "2") // without groups the first line is a pod
	if v := a.View(); !strings.Contains(v, "SINCE MARK") || !strings.Contains(v, "+12") {
		t.Errorf("the page does not count:\n%s", v)
	}
	press(a, "M")
	if a.markWord() != "" {
		t.Error("the mark is still there")
	}
}
