package tui

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// listenerCurves draws a small curve of the depth of each listener that was ever not
// empty in the time; a queue that stood still is drawn as it stood.
func (d *detail) listenerCurves(queues []timeline.Queue, columns int, from, to time.Time) {
	begun := false
	seen := to // the newest sample: how the queue was after it nobody knows
	if points := d.timeline.Track(d.pod.Key()).Points(); len(points) > 0 && points[len(points)-1].Time().Before(to) {
		seen = points[len(points)-1].Time()
	}
	for _, q := range queues {
		values := stepsOver(q.Steps, columns, from, to, seen)
		busy := false
		for _, v := range values {
			busy = busy || v.Or(0) > 0
		}
		if !busy || len(queues) < 2 {
			continue
		}
		if !begun {
			d.section("Depth of each listener", "those whose queue was not always empty")
			begun = true
		}
		name := render.Listener(q.Listener)
		d.add("  " + d.styles.dim.Render(cell(name, chartLeft+3, false)) + sparkline(values[min(4, len(values)):]))
	}
}

// stepsOver gives the highest depth in each part of a time. A step holds until the
// next.
func stepsOver(steps []timeline.Step, columns int, from, to, seen time.Time) []model.Value[float64] {
	out := make([]model.Value[float64], columns)
	part := to.Sub(from) / time.Duration(columns)
	if part <= 0 {
		return out
	}
	for i, s := range steps {
		end := seen
		if i+1 < len(steps) && steps[i+1].Time().Before(seen) {
			end = steps[i+1].Time()
		}
		if s.Time().After(to) || end.Before(from) || !s.Depth().IsKnown() {
			continue
		}
		first := max(0, int(s.Time().Sub(from)/part))
		last := min(columns-1, int(end.Sub(from)/part))
		for c := first; c <= last; c++ {
			if s.Depth().Or(0) > out[c].Or(-1) {
				out[c] = s.Depth()
			}
		}
	}
	return out
}
