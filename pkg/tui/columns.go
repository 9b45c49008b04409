package tui

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// column is one column of the list.
type column struct {
	title string
	width int
	// narrow is the width on a screen of less than 100 columns; 0 is as width.
	narrow int
	right  bool
	// from is the least width of the screen at which the column is shown.
	from int
	// queue columns are empty for a pod without queue figures: its stage or
	// what went wrong stands there instead.
	queue bool
	// sort names the order that sorts by this column.
	sort string
	text func(a *app, r *row, width int) (string, lipgloss.Style)
}

const (
	markWidth = 2
	minName   = 12
	maxName   = 63 // no pod that a Deployment makes is longer
)

// columns are the list's columns right of the pod's name. At 80 columns a name
// has 23 left, at 120 it has 33: room for DEPLOYMENT-HASH-SUFFIX of usual size.
func columns() []column {
	return []column{
		{title: "NODE", width: 14, from: 170, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return middle(render.Clean(r.pod.Node), width), a.styles.dim
		}},
		{title: "LISTENER", width: 10, from: 50, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return orElse(r.has, render.Listener(r.listener), render.NoListener(*r.pod)), a.styles.plain
		}},
		{title: "Q/LIMIT", width: 9, right: true, queue: true, sort: "depth", text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			if !r.has {
				return render.NoListener(*r.pod), a.styles.plain
			}
			s := r.listener.Worst()
			fill, _ := render.Fill(s)
			return compactQueue(s), a.styles.level(fill, 0.5, 1)
		}},
		{width: 6, from: 100, queue: true, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			fill, ok := 0.0, false
			if r.has {
				fill, ok = render.Fill(r.listener.Worst())
			}
			return orElse(ok, bar(fill, width), ""), a.styles.level(fill, 0.5, 1)
		}},
		{title: "PEAK", width: 5, right: true, from: 140, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return orElse(r.has, render.Peak(r.listener), render.NoListener(*r.pod)), a.styles.plain
		}},
		{title: "OVF/s", width: 6, narrow: 5, right: true, from: 56, queue: true, sort: "overflows", text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return overflowRate(a, r)
		}},
		{title: "60s", width: 10, from: 90, queue: true, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			style := a.styles.dim
			if r.rate.Or(0) > 0 {
				style = a.styles.bad
			}
			return sparkline(rates(r.points, a.viewNow(), width)), style
		}},
		{title: "SINCE", width: 5, right: true, from: 72, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			if r.pod.HostNetwork {
				return render.Unknown, a.styles.plain
			}
			return render.Short(r.pod.Counters.ListenOverflows), a.styles.plain
		}},
		{title: "ACC/s", width: 5, right: true, from: 126, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return render.Rate(r.pod.Window.PerSecond(r.pod.Window.Accepted)), a.styles.plain
		}},
		{title: "WRK", width: 5, narrow: 4, right: true, from: 67, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			w := render.Workers(*r.pod)
			return w, orStyle(strings.Contains(w, "≠"), a.styles.warn, a.styles.plain)
		}},
		{title: "BUSY", width: 4, right: true, from: 61, sort: "busy", text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			busy := r.pod.Runtime.Window.Busy.Or(0)
			return render.Busy(*r.pod), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{width: 5, from: 112, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			busy, ok := r.pod.Runtime.Window.Busy.Get()
			return orElse(ok, bar(busy, width), ""), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{title: "CFG", width: 3, from: 84, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			c := render.Config(*r.pod)
			if strings.Contains(c, "≠") {
				return "≠", a.styles.warn
			}
			return c, a.styles.plain
		}},
		{title: "VERDICT", width: 19, narrow: 11, sort: "worst", text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return a.stateWord(r, width)
		}},
	}
}

func orElse(ok bool, text, otherwise string) string {
	if ok {
		return text
	}
	return otherwise
}

func orStyle(ok bool, style, otherwise lipgloss.Style) lipgloss.Style {
	if ok {
		return style
	}
	return otherwise
}

// compactQueue is depth/limit in nine columns: 129/128, 12.3k/65.5k.
func compactQueue(s model.Socket) string {
	if q := render.Queue(s); len(q) <= 9 {
		return q
	}
	text := render.Short(s.Depth) + "/" + render.Short(s.Limit)
	return text
}

// overflowRate is the worst listener's; where overflows cannot be told apart it
// is the pod's, marked with a star that the help page explains.
func overflowRate(a *app, r *row) (string, lipgloss.Style) {
	if !r.has && !r.rate.IsKnown() {
		return render.NoListener(*r.pod), a.styles.plain
	}
	rate, mark := r.rate, "*"
	if own := r.pod.Window.PerSecond(r.listener.Window.Overflows); r.has && own.IsKnown() {
		rate, mark = own, ""
	}
	if rate.Or(0) > 0 {
		return render.Rate(rate) + mark, a.styles.bad
	}
	return render.Rate(rate), a.styles.plain
}

// placed is a column with the place it has on this screen.
type placed struct {
	column
	at int
}

// place chooses the columns for the screen's width and gives the width of the
// name and where the reason after the state begins.
func (a *app) place() (cols []placed, name, end int) {
	used := markWidth
	for _, c := range columns() {
		if a.width >= c.from {
			if a.width < 100 && c.narrow > 0 {
				c.width = c.narrow
			}
			cols = append(cols, placed{column: c})
			used += c.width + 1
		}
	}
	longest := minName
	for _, l := range a.visible {
		longest = max(longest, ansi.StringWidth(a.podName(*a.rows[l.key].pod)))
	}
	name = max(1, min(longest, maxName, a.width-used))
	at := markWidth + name + 1
	for i := range cols {
		cols[i].at = at
		at += cols[i].width + 1
	}
	return cols, name, at
}
