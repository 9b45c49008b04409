package tui

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// column is one column of the list.
type column struct {
	title string
	// brief is the title where the column is narrow.
	brief string
	// name is what it is chosen by, where the title is shared or empty.
	name string
	// rank decides which columns there is room for: the lowest come first.
	rank  int
	width int
	// tiny, narrow and wide are the widths on screens of less than 60 and 100 columns
	// and of at least 140; 0 is as the next one.
	tiny, narrow, wide int
	// now says that the figure is of this moment: a deleted pod has none.
	now bool
	// fits columns take the room that the widest of their texts needs, from their
	// width to this one, on wide screens.
	fits  int
	right bool
	// queue columns are empty for a pod without queue figures: its stage or
	// what went wrong stands there instead.
	queue bool
	// sort names the order that sorts by this column.
	sort string
	text func(a *app, r *row, width int) (string, lipgloss.Style)
}

// id is what the column is chosen by.
func (c column) id() string { return cmp.Or(c.name, c.title) }

const (
	markWidth = 2
	maxName   = 63 // no pod that a Deployment makes is longer

	columnNode, columnListener, columnVerdict, columnFor = "NODE/CPU", "LISTENER", "VERDICT", "FOR"
)

// columns are the list's columns right of the pod's name.
func columns() []column {
	return []column{
		{title: columnNode, width: 8, fits: 16, rank: 10, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return middle(a.nodeWord(r), width), a.styles.dim
		}},
		{title: columnListener, brief: "PORT", width: 8, narrow: 7, fits: 13, rank: 3, queue: true, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return listenerWord(r, width), a.styles.plain
		}},
		{title: "Q/LIMIT", width: 9, tiny: 7, narrow: 8, right: true, now: true, rank: 1, queue: true, sort: "depth", text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			if !r.has {
				return render.NoListener(*r.pod), a.styles.plain
			}
			return compactQueue(r.listener.Worst(), width), a.styles.level(r.fill, 0.5, 1)
		}},
		{name: "Q/LIMIT bar", width: 5, now: true, rank: 13, queue: true, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return orElse(r.fill >= 0, bar(r.fill, width), ""), a.styles.level(r.fill, 0.5, 1)
		}},
		{title: "PEAK", width: 5, right: true, rank: 11, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return orElse(r.has, render.Peak(r.listener), render.NoListener(*r.pod)), a.styles.plain
		}},
		{title: "OVF/s", width: 5, now: true, right: true, rank: 2, queue: true, sort: "overflows", text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return overflowRate(a, r)
		}},
		{title: "60s", width: 6, wide: 10, rank: 8, queue: true, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			style := a.styles.dim
			if r.rate.Or(0) > 0 {
				style = a.styles.bad
			}
			return sparkline(rates(r.points, a.viewNow(), width)), style
		}},
		{title: "SINCE", width: 5, right: true, rank: 6, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return a.sinceWord(r)
		}},
		{title: "ACC/s", width: 5, now: true, right: true, rank: 7, queue: true, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return render.Rate(r.pod.Window.PerSecond(r.pod.Window.Accepted)), a.styles.plain
		}},
		{title: "WRK", width: 4, narrow: 3, wide: 5, right: true, rank: 5, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			w := render.Workers(*r.pod)
			return w, orStyle(strings.Contains(w, "≠"), a.styles.warn, a.styles.plain)
		}},
		{title: "BUSY", width: 4, now: true, right: true, rank: 4, sort: "busy", text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			busy := r.pod.Runtime.Window.Busy.Or(0)
			return render.Busy(*r.pod), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{name: "BUSY bar", width: 5, now: true, rank: 15, text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			busy, ok := r.pod.Runtime.Window.Busy.Get()
			return orElse(ok, bar(busy, width), ""), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{title: "WAIT", width: 4, now: true, right: true, rank: 12, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return waitWord(r.pod), a.styles.level(r.pod.Process.Wait.Or(0), 0.2, 0.5)
		}},
		{title: "CFG", width: 3, rank: 14, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			c := render.Config(*r.pod)
			if strings.Contains(c, "≠") {
				return "≠", a.styles.warn
			}
			return c, a.styles.plain
		}},
		{title: columnVerdict, width: 16, tiny: 11, narrow: 14, wide: 19, rank: 0, sort: "worst", text: func(a *app, r *row, width int) (string, lipgloss.Style) {
			return a.stateWord(r, width)
		}},
		{title: columnFor, width: 4, right: true, rank: 9, text: func(a *app, r *row, _ int) (string, lipgloss.Style) {
			return a.heldWord(r), a.styles.dim
		}},
		// The sentence takes what is left; it is listed here so that it can be chosen.
		{title: columnWhy, rank: 99},
	}
}

// columnWhy is the sentence behind the verdict.
const columnWhy = "SENTENCE"

// ColumnNames are the names by which columns are chosen, from left to right.
func ColumnNames() []string {
	var names []string
	for _, c := range columns() {
		names = append(names, c.id())
	}
	return names
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
