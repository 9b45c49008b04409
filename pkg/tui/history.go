package tui

import (
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// sparkSeconds is how far back a row's little curve reaches.
	sparkSeconds = 60.0
	// maxPoints bounds a pod's history whatever its clock says.
	maxPoints = 240
)

// point is what happened in a pod between two samples that followed each other.
type point struct {
	// at is the pod's own clock at the end, in seconds.
	at, seconds float64
	overflows   model.Value[int64]
}

// track is one pod's history.
type track struct {
	last   model.Pod
	points []point
}

// history holds the tracks of all pods that are in the newest snapshot.
type history map[string]*track

// add takes a snapshot in and forgets pods that are no longer in it.
func (h history) add(s model.Snapshot) {
	present := make(map[string]bool, len(s.Pods))
	for _, p := range s.Pods {
		key := p.Key()
		present[key] = true
		t := h[key]
		if t == nil {
			t = &track{}
			h[key] = t
		}
		t.add(p)
	}
	for key := range h {
		if !present[key] {
			delete(h, key)
		}
	}
}

// add takes the pod's newest sample in; one that was seen before adds nothing.
// Points are only ever appended: slices of them that rows hold stay as they are.
func (t *track) add(p model.Pod) {
	now, ok := p.Sample.Uptime.Get()
	if !ok || p.HostNetwork {
		return
	}
	before, known := t.last.Sample.Uptime.Get()
	switch {
	case known && t.last.Sample.Sandbox != p.Sample.Sandbox:
		t.points = nil
	case known && now < before:
		t.points = nil // another clock: the node has restarted
	case known && now == before:
		return
	case known:
		w := model.Diff(t.last, p).Window
		if seconds, ok := w.Seconds.Get(); ok {
			t.points = append(t.points, point{at: now, seconds: seconds, overflows: w.Overflows})
		}
	}
	t.last = p
	for len(t.points) > 0 && (t.points[0].at < now-sparkSeconds || len(t.points) > maxPoints) {
		t.points = t.points[1:]
	}
}

// rates gives the overflow rate in each of n equal parts of the last minute,
// oldest first, ending at the given time of the pod's clock. A part of which
// nothing is known is unknown, never 0.
func rates(points []point, end float64, n int) []model.Value[float64] {
	out := make([]model.Value[float64], n)
	width := sparkSeconds / float64(n)
	for i := range out {
		from := end - sparkSeconds + float64(i)*width
		to := from + width
		var covered, sum float64
		for _, p := range points {
			overflows, ok := p.overflows.Get()
			shared := min(to, p.at) - max(from, p.at-p.seconds)
			if !ok || shared <= 0 || p.seconds <= 0 {
				continue
			}
			covered += shared
			sum += shared * float64(overflows) / p.seconds
		}
		if covered > 0 {
			out[i] = model.Known(sum / covered)
		}
	}
	return out
}
