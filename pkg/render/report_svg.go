package render

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// Sizes of a picture, in its own units.
const (
	pictureWidth  = 760
	plotLeft      = 52
	plotRight     = 748
	depthTop      = 14
	depthBottom   = 104
	refusedTop    = 112
	refusedBottom = 140
	bandTop       = 146
	bandBottom    = 156
	busyTop       = 170
	busyBottom    = 210
	pictureHeight = 232
	// columnsOfPicture is how fine it is: each column shows the worst of its time.
	columnsOfPicture = 348
)

// column is what a picture shows of a part of the time; NaN is unknown.
type pictureColumn struct {
	depth, limit, refused, busy float64
	severity                    model.Severity
	seen                        bool
}

// picture draws a pod's history: the fullest queue against its limit, refused packets,
// what was judged, and the busy ratio. Gaps are gaps.
func picture(points []timeline.Point, from, to time.Time) string {
	columns := pictureColumns(points, from, to)
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p(`<svg class="picture" viewBox="0 0 %d %d" role="img" aria-label="queue depth, refused packets, verdicts and busy ratio over time">`, pictureWidth, pictureHeight)
	topDepth, topRefused := 0.0, 0.0
	for _, c := range columns {
		topDepth = max(topDepth, number(c.depth)+1, number(c.limit)+1)
		topRefused = max(topRefused, number(c.refused))
	}
	topDepth = max(topDepth, 4)
	depthAt := func(v float64) float64 { return depthBottom - (depthBottom-depthTop)*min(1, v/topDepth) }
	label := func(x, y float64, anchor, text string) {
		p(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
	}
	// frames and titles
	p(`<g class="frame"><path d="M%d %dV%dH%d"/><path d="M%d %dH%d"/><path d="M%d %dV%dH%d"/></g>`,
		plotLeft, depthTop, depthBottom, plotRight, plotLeft, refusedBottom, plotRight, plotLeft, busyTop, busyBottom, plotRight)
	label(plotLeft-6, depthTop+8, "end", shortFigure(topDepth-1))
	label(plotLeft-6, depthBottom, "end", "0")
	label(plotLeft+4, depthTop-3, "start", "queue (line: limit)")
	label(plotLeft-6, refusedBottom, "end", "refused")
	if topRefused > 0 {
		label(plotLeft-6, refusedTop+9, "end", shortFigure(topRefused))
	}
	label(plotLeft-6, bandBottom, "end", "verdict")
	label(plotLeft-6, busyTop+8, "end", "1")
	label(plotLeft-6, busyBottom, "end", "0")
	busy := "busy"
	if !slices.ContainsFunc(columns, func(c pictureColumn) bool { return !math.IsNaN(c.busy) }) {
		busy = "busy: unknown"
	}
	label(plotLeft+4, busyTop-3, "start", busy)
	width := float64(plotRight-plotLeft) / float64(len(columns))
	x := func(i int) float64 { return plotLeft + float64(i)*width }
	for i, c := range columns {
		if c.depth > 0 {
			p(`<rect class="depth" x="%.1f" y="%.1f" width="%.2f" height="%.1f"/>`, x(i), depthAt(c.depth), width, depthBottom-depthAt(c.depth))
		}
		if c.refused > 0 {
			h := max(2, (refusedBottom-refusedTop)*c.refused/topRefused)
			p(`<rect class="refused" x="%.1f" y="%.1f" width="%.2f" height="%.1f"/>`, x(i), refusedBottom-h, max(width, 1.5), h)
		}
		if c.busy > 0 {
			h := (busyBottom - busyTop) * min(1, c.busy)
			p(`<rect class="busy" x="%.1f" y="%.1f" width="%.2f" height="%.1f"/>`, x(i), busyBottom-h, width, h)
		}
	}
	b.WriteString(limitLine(columns, x, depthAt))
	b.WriteString(bands(columns, x))
	for _, t := range timeTicks(from, to) {
		at := plotLeft + float64(plotRight-plotLeft)*t.Sub(from).Seconds()/max(1, to.Sub(from).Seconds())
		p(`<path class="tick" d="M%.1f %dV%d"/>`, at, busyBottom, busyBottom+4)
		label(at, busyBottom+16, "middle", t.UTC().Format("15:04:05")+"Z")
	}
	b.WriteString("</svg>")
	return b.String()
}

// limitLine is the backlog in force, broken where it is unknown.
func limitLine(columns []pictureColumn, x func(int) float64, depthAt func(float64) float64) string {
	var b strings.Builder
	drawing := false
	for i, c := range columns {
		if math.IsNaN(c.limit) {
			// A column between two samples is no gap.
			drawing = drawing && !c.seen && i+1 < len(columns) && !math.IsNaN(columns[i+1].limit)
			continue
		}
		if drawing {
			fmt.Fprintf(&b, "L%.1f %.1f", x(i+1), depthAt(c.limit))
		} else {
			fmt.Fprintf(&b, "M%.1f %.1fL%.1f %.1f", x(i), depthAt(c.limit), x(i+1), depthAt(c.limit))
		}
		drawing = true
	}
	if b.Len() == 0 {
		return ""
	}
	return `<path class="limit" d="` + b.String() + `"/>`
}

// bands say what was judged: a letter where each begins, so that nobody needs colours.
func bands(columns []pictureColumn, x func(int) float64) string {
	var b strings.Builder
	for i := 0; i < len(columns); {
		s := columns[i].severity
		j := i + 1
		for unseen := 0; j < len(columns) && (columns[j].severity == s || !columns[j].seen); j++ {
			if unseen++; columns[j].seen {
				unseen = 0
			} else if unseen > mostBetween {
				break // nobody looked
			}
		}
		if s == model.SeverityCritical || s == model.SeverityWarning {
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`, s, x(i), bandTop, x(j)-x(i), bandBottom-bandTop)
			fmt.Fprintf(&b, `<text class="letter" x="%.1f" y="%d">%s</text>`, x(i)+2, bandBottom-2, strings.ToUpper(string(s[:1])))
		} else if s == model.SeverityInfo {
			fmt.Fprintf(&b, `<rect class="info" x="%.1f" y="%d" width="%.1f" height="3"/>`, x(i), bandBottom-3, x(j)-x(i))
		}
		i = j
	}
	return b.String()
}

// pictureColumns gives the worst of each part of the time.
func pictureColumns(points []timeline.Point, from, to time.Time) []pictureColumn {
	columns := make([]pictureColumn, columnsOfPicture)
	for i := range columns {
		columns[i] = pictureColumn{depth: math.NaN(), limit: math.NaN(), refused: math.NaN(), busy: math.NaN()}
	}
	span := to.Sub(from)
	if span <= 0 {
		return columns
	}
	var before time.Time // the point before
	for _, p := range points {
		// A sample stands for the time since the one before, where that is not long ago:
		// how the queue was meanwhile nobody knows.
		end := int(float64(p.Time().Sub(from)) / float64(span) * columnsOfPicture)
		begin := end
		if s, ok := p.Seconds().Get(); ok && s <= mostBetween {
			begun := p.Time().Add(-time.Duration(s * float64(time.Second)))
			// A frame's way here may have taken longer than that of the one before.
			if !before.IsZero() && begun.After(before) && begun.Sub(before) < time.Second {
				begun = before
			}
			begin = int(float64(begun.Sub(from)) / float64(span) * columnsOfPicture)
		}
		before = p.Time()
		end = min(end, columnsOfPicture-1)
		if end < 0 || begin >= columnsOfPicture {
			continue
		}
		for i := max(0, min(begin+1, end)); i <= end; i++ {
			c := &columns[i]
			c.seen = true
			if d, ok := p.Depth().Get(); ok && !(c.depth > d) {
				c.depth = d
				if l, ok := p.Limit().Get(); ok {
					c.limit = l
				}
			}
			if b, ok := p.Busy().Get(); ok && !(c.busy > b) {
				c.busy = b
			}
			if s := p.Severity(); c.severity == "" || s.Rank() < c.severity.Rank() {
				c.severity = s
			}
		}
		if n, ok := p.Refused().Get(); ok {
			c := &columns[end]
			c.refused = number(c.refused) + n
		}
	}
	return columns
}

// mostBetween is how many seconds two samples may be apart and still be one curve.
const mostBetween = 5

// number is 0 for what is unknown: for sizes of drawings alone.
func number(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

func shortFigure(f float64) string { return Short(model.Known(int64(f + 0.5))) }

// timeTicks are at most six round times within a span.
func timeTicks(from, to time.Time) []time.Time {
	step := time.Second
	for _, s := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		30 * time.Minute, time.Hour, 3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
	} {
		if step = s; to.Sub(from)/s <= 6 {
			break
		}
	}
	var ticks []time.Time
	for t := from.Truncate(step).Add(step); !t.After(to) && len(ticks) < 12; t = t.Add(step) {
		ticks = append(ticks, t)
	}
	return ticks
}
