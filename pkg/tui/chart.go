package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// chartLeft is the room for the figures left of a chart.
const chartLeft = 8

// chartSpan is how far back charts reach, by the room there is: a column is at least a
// second.
func (d *detail) chartSpan() (columns int, span time.Duration) {
	columns = max(10, min(d.width-chartLeft-2, 240))
	return columns, time.Duration(columns) * max(time.Second, (5*time.Minute/time.Duration(columns)).Round(time.Second))
}

// columnsOf gives the worst figure of each part of the time up to the moment that is
// shown. A part of which nothing is known stays unknown.
func columnsOf(columns int, from, to time.Time, each func(add func(at time.Time, v model.Value[float64]))) []model.Value[float64] {
	out := make([]model.Value[float64], columns)
	span := to.Sub(from)
	each(func(at time.Time, v model.Value[float64]) {
		f, ok := v.Get()
		if !ok || at.After(to) || !at.After(from) {
			return
		}
		i := min(columns-1, int(float64(at.Sub(from))/float64(span)*float64(columns)))
		if f > out[i].Or(-1) {
			out[i] = v
		}
	})
	return out
}

// chart draws values over some rows of blocks, with a line at the limit where that is
// known. Gaps are gaps.
func (d *detail) chart(values []model.Value[float64], limit model.Value[float64], rows int, format func(float64) string) {
	top := limit.Or(0)
	for _, v := range values {
		top = max(top, v.Or(0))
	}
	if top <= 0 {
		top = 1
	}
	levels := []rune(" ▁▂▃▄▅▆▇█")
	limitRow := -1
	if l, ok := limit.Get(); ok {
		limitRow = min(rows-1, int((l-0.001)/top*float64(rows)))
	}
	for row := rows - 1; row >= 0; row-- {
		var b strings.Builder
		for _, v := range values {
			f, ok := v.Get()
			eighths := int(f/top*float64(rows)*8+0.999) - row*8
			switch {
			case ok && f > 0 && eighths > 0:
				b.WriteRune(levels[min(8, eighths)])
			case row == limitRow:
				b.WriteRune('─')
			case ok && row == 0:
				b.WriteRune('▁')
			default:
				b.WriteByte(' ')
			}
		}
		left := ""
		switch {
		case row == limitRow:
			left = format(limit.Or(0))
		case row == rows-1:
			left = format(top)
		}
		d.add("  " + d.styles.dim.Render(cell(left, chartLeft-1, true)+"│") + b.String())
	}
}

// axis is the time below a chart.
func (d *detail) axis(columns int, from, to time.Time) {
	line := []rune(strings.Repeat(" ", columns))
	ticks := max(1, columns/20)
	for i := range ticks {
		at := i * columns / ticks
		text := from.Add(to.Sub(from) * time.Duration(at) / time.Duration(columns)).UTC().Format("15:04:05Z")
		copy(line[at:], []rune(text))
	}
	d.add("  " + d.styles.dim.Render(strings.Repeat(" ", chartLeft-1)+"└"+string(line)))
}

// queueCharts are the depth of the fullest queue against its limit, and what was
// refused; and a small curve for each listener.
func (d *detail) queueCharts() {
	track := d.timeline.Track(d.pod.Key())
	points := track.Points()
	if len(points) < 2 || d.pod.HostNetwork {
		return
	}
	columns, span := d.chartSpan()
	to := d.viewNow()
	from := to.Add(-span)
	limit := model.Value[float64]{}
	depth := columnsOf(columns, from, to, func(add func(time.Time, model.Value[float64])) {
		for _, p := range points {
			add(p.Time(), p.Depth())
			if p.Limit().IsKnown() && !p.Time().After(to) {
				limit = p.Limit()
			}
		}
	})
	d.section("Depth", "of the fullest queue, the highest in each "+render.Seconds(model.Known((span/time.Duration(columns)).Seconds()))+"; samples miss bursts")
	d.chart(depth, limit, d.chartRows(), func(f float64) string { return render.Short(model.Known(int64(f + 0.5))) })
	refused := columnsOf(columns, from, to, func(add func(time.Time, model.Value[float64])) {
		for _, p := range points {
			add(p.Time(), p.Refused())
		}
	})
	d.add("  " + d.styles.dim.Render(cell("refused", chartLeft-1, true)+"│") + d.styles.bad.Render(sparkline(refused)))
	d.axis(columns, from, to)
	d.listenerCurves(track.Queues(), columns, from, to)
}

func (d *detail) chartRows() int {
	if d.height >= 36 {
		return 6
	}
	return 3
}

// busyChart is the workers' busy ratio over time.
func (d *detail) busyChart() {
	points := d.timeline.Track(d.pod.Key()).Points()
	columns, span := d.chartSpan()
	to := d.viewNow()
	from := to.Add(-span)
	known := false
	values := columnsOf(columns, from, to, func(add func(time.Time, model.Value[float64])) {
		for _, p := range points {
			known = known || p.Busy().IsKnown()
			add(p.Time(), p.Busy())
		}
	})
	if !known {
		return
	}
	d.section("Busy ratio", "1 is all workers, all the time")
	d.chart(values, model.Known(1.0), d.chartRows(), func(f float64) string { return fmt.Sprintf("%.1f", f) })
	d.axis(columns, from, to)
}
