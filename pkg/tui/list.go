package tui

import (
	"fmt"
	"strings"
	"time"

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
	text func(a *app, r row, width int) (string, lipgloss.Style)
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
		{title: "NODE", width: 14, from: 170, text: func(a *app, r row, width int) (string, lipgloss.Style) {
			return middle(render.Clean(r.pod.Node), width), a.styles.dim
		}},
		{title: "LISTENER", width: 10, from: 50, queue: true, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			return orElse(r.has, render.Listener(r.listener), a.nothing(r)), a.styles.plain
		}},
		{title: "Q/LIMIT", width: 9, right: true, queue: true, sort: "depth", text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			if !r.has {
				return a.nothing(r), a.styles.plain
			}
			s := r.listener.Worst()
			fill, _ := render.Fill(s)
			return compactQueue(s), a.styles.level(fill, 0.5, 1)
		}},
		{width: 6, from: 100, queue: true, text: func(a *app, r row, width int) (string, lipgloss.Style) {
			fill, ok := 0.0, false
			if r.has {
				fill, ok = render.Fill(r.listener.Worst())
			}
			return orElse(ok, bar(fill, width), ""), a.styles.level(fill, 0.5, 1)
		}},
		{title: "PEAK", width: 5, right: true, from: 140, queue: true, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			return orElse(r.has, render.Short(r.listener.Window.Peak), a.nothing(r)), a.styles.plain
		}},
		{title: "OVF/s", width: 6, narrow: 5, right: true, from: 56, queue: true, sort: "overflows", text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			return overflowRate(a, r)
		}},
		{title: "60s", width: 10, from: 90, queue: true, text: func(a *app, r row, width int) (string, lipgloss.Style) {
			end := r.pod.Sample.Uptime.Or(0) + max(0, a.viewNow().Sub(r.pod.Sample.Arrived).Seconds())
			style := a.styles.dim
			if r.rate.Or(0) > 0 {
				style = a.styles.bad
			}
			return sparkline(rates(r.points, end, width)), style
		}},
		{title: "SINCE", width: 5, right: true, from: 72, queue: true, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			if r.pod.HostNetwork {
				return render.Unknown, a.styles.plain
			}
			return render.Short(r.pod.Counters.ListenOverflows), a.styles.plain
		}},
		{title: "ACC/s", width: 5, right: true, from: 126, queue: true, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			return render.Rate(r.pod.Window.PerSecond(r.pod.Window.Accepted)), a.styles.plain
		}},
		{title: "WRK", width: 5, narrow: 4, right: true, from: 67, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			w := render.Workers(r.pod)
			return w, orStyle(strings.Contains(w, "≠"), a.styles.warn, a.styles.plain)
		}},
		{title: "BUSY", width: 4, right: true, from: 61, sort: "busy", text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			busy := r.pod.Runtime.Window.Busy.Or(0)
			return render.Busy(r.pod), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{width: 5, from: 112, text: func(a *app, r row, width int) (string, lipgloss.Style) {
			busy, ok := r.pod.Runtime.Window.Busy.Get()
			return orElse(ok, bar(busy, width), ""), a.styles.level(busy, 0.7, model.BusySaturated)
		}},
		{title: "CFG", width: 3, from: 84, text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			c := render.Config(r.pod)
			if strings.Contains(c, "≠") {
				return "≠", a.styles.warn
			}
			return c, a.styles.plain
		}},
		{title: "STATE", width: 11, sort: "worst", text: func(a *app, r row, _ int) (string, lipgloss.Style) {
			return a.stateWord(r)
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

// nothing stands for the queue figures of a pod without a listener of its own.
func (a *app) nothing(r row) string {
	if r.state == model.StateGone || r.pod.Collection.Stage == model.StageOK && !r.pod.HostNetwork {
		return render.NotApplicable
	}
	return render.Unknown
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
func overflowRate(a *app, r row) (string, lipgloss.Style) {
	if !r.has && !r.rate.IsKnown() {
		return a.nothing(r), a.styles.plain
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

// staleAfter is the age from which figures count as old on the screen.
const staleAfter = 3 * time.Second

// ageWord is empty while a pod's figures are current, otherwise their age.
func (a *app) ageWord(p model.Pod) string {
	switch p.Collection.Stage {
	case model.StageOK, model.StageStale, model.StageEnded:
	default:
		return ""
	}
	if p.Sample.Arrived.IsZero() {
		return ""
	}
	limit := staleAfter + max(0, a.poller.interval-time.Second)
	if p.Collection.Stage == model.StageOK && a.viewNow().Sub(p.Sample.Arrived) <= limit {
		return ""
	}
	return render.Age(a.viewNow(), p.Sample.Arrived)
}

// stateWord is the pod's state; old figures say how old they are instead.
func (a *app) stateWord(r row) (string, lipgloss.Style) {
	if age := a.ageWord(r.pod); age != "" {
		if r.pod.Collection.Stage == model.StageEnded {
			return "ended " + age, a.styles.warn
		}
		return "stale " + age, a.styles.warn
	}
	return string(r.state), a.styles.state(r.state)
}

// whyWord is what follows the state where there is room.
func (a *app) whyWord(r row) string {
	why := render.Clean(r.why)
	if r.state == model.StateGone || r.state == model.StatePending || a.stageText(r) != "" {
		return "" // the row says it already
	}
	if a.ageWord(r.pod) != "" {
		why = strings.TrimSuffix("was "+string(r.state)+": "+why, ": ")
		if m := render.Clean(r.pod.Collection.Message); m != "" {
			why = m + "; " + why
		}
	}
	return why
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
	for _, key := range a.visible {
		longest = max(longest, ansi.StringWidth(a.podName(a.rows[key].pod)))
	}
	name = max(1, min(longest, maxName, a.width-used))
	at := markWidth + name + 1
	for i := range cols {
		cols[i].at = at
		at += cols[i].width + 1
	}
	return cols, name, at
}

// podName is the pod's name, with its namespace where there is more than one.
func (a *app) podName(p model.Pod) string {
	name := render.Clean(p.Meta.Name)
	if a.spaces {
		return render.Clean(p.Meta.Namespace) + "/" + name
	}
	return name
}

// listLines are the column titles and the rows.
func (a *app) listLines() []string {
	cols, name, end := a.place()
	lines := []string{a.titles(cols, name)}
	if len(a.visible) == 0 {
		return append(lines, "", a.emptyList())
	}
	last := min(len(a.visible), a.top+a.listHeight())
	for _, key := range a.visible[min(a.top, last):last] {
		lines = append(lines, a.rowLine(a.rows[key], cols, name, end))
	}
	return append(lines, a.preview(a.listHeight()-len(a.visible))...)
}

// previewHeight is the least room that a preview is worth.
const previewHeight = 9

// preview fills room that the list leaves empty with the selected pod's
// listeners and what is wrong with it.
func (a *app) preview(room int) []string {
	r, ok := a.rows[a.selected]
	if !ok || room < previewHeight {
		return nil
	}
	d := &detail{app: a, pod: r.pod, row: r}
	d.headline()
	d.listeners()
	d.drift()
	d.notes()
	lines := append([]string{""}, a.styles.dim.Render(strings.Repeat("─", a.width)))
	lines = append(lines, d.lines[1:]...)
	return lines[:min(room, len(lines))]
}

func (a *app) emptyList() string {
	text := "waiting for the first look at the pods…"
	switch {
	case len(a.all) > 0:
		text = fmt.Sprintf("none of %s matches %q; esc clears the filter", plural(len(a.all), "pod"), render.Clean(a.filter.Value()))
	case a.live.Seq > 0 || !a.live.Time.IsZero():
		text = "no pods match; new ones appear here by themselves"
	}
	return "  " + a.styles.dim.Render(text)
}

func (a *app) titles(cols []placed, name int) string {
	o := a.orders[a.orderAt]
	arrow := "▼"
	if a.reversed {
		arrow = "▲"
	}
	mark := func(title, sort string) string {
		if sort != "" && sort == o.name {
			return title + arrow
		}
		return title
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", markWidth) + cell(mark("POD", "name"), name, false))
	for _, c := range cols {
		b.WriteString(" " + cell(mark(c.title, c.sort), c.width, c.right))
	}
	return a.styles.dim.Render(b.String())
}

// rowLine draws one pod.
func (a *app) rowLine(r row, cols []placed, name, end int) string {
	mark, base := "  ", a.styles.plain
	selected := r.key == a.selected
	if selected {
		mark = "> "
		base = a.styles.bold.Background(a.styles.selected)
	}
	old := a.ageWord(r.pod) != "" || r.state == model.StateGone
	paint := func(text string, style lipgloss.Style) string {
		if selected {
			style = style.Background(a.styles.selected)
		}
		return style.Render(text)
	}
	var b strings.Builder
	b.WriteString(base.Render(mark + cell(middle(a.podName(r.pod), name), name, false)))
	span := a.stageText(r)
	for i := 0; i < len(cols); i++ {
		c := cols[i]
		if span != "" && spanned(c, r) {
			// The words take the room of all figures that are not there.
			last := i
			for last+1 < len(cols) && spanned(cols[last+1], r) {
				last++
			}
			n := cols[last].at + cols[last].width - c.at
			b.WriteString(paint(" "+cell(span, n, false), a.styles.dim))
			span, i = "", last
			continue
		}
		text, style := c.text(a, r, c.width)
		if old && c.title != "STATE" {
			style = a.styles.dim
		}
		b.WriteString(paint(" "+cell(text, c.width, c.right), style))
	}
	if room := a.width - end; room >= 16 {
		b.WriteString(paint(" "+cell(a.whyWord(r), room-1, false), a.styles.dim))
	} else if selected {
		b.WriteString(paint(strings.Repeat(" ", max(0, a.width-end+1)), a.styles.plain))
	}
	return b.String()
}

// spanned says whether a stage's words take the column's room: the queue's
// figures, and the workers' too when there are none.
func spanned(c placed, r row) bool {
	if c.title == "NODE" || c.title == "STATE" {
		return false
	}
	return c.queue || !r.pod.Runtime.Workers.IsKnown()
}

// stageText stands instead of figures while there are none: how far the probe
// has come, or what the kubelet says.
func (a *app) stageText(r row) string {
	c := r.pod.Collection
	message := render.Clean(c.Message)
	with := func(text string) string {
		if message != "" {
			return text + ": " + message
		}
		return text
	}
	switch c.Stage {
	case model.StageAsking:
		return with("asking for a probe…")
	case model.StagePulling:
		return with("pulling the probe's image…")
	case model.StageStarting:
		return with("starting the probe…")
	case model.StageWaiting:
		return with("waiting for the first frame…")
	case model.StageFailed:
		if len(r.pod.Listeners) == 0 {
			return orElse(message != "", message, "the queue could not be read")
		}
	case model.StageGone:
		if len(r.pod.Listeners) == 0 {
			return orElse(message != "", message, "gone")
		}
	}
	if r.pod.HostNetwork {
		return "hostNetwork: the queues are the node's, none is attributed"
	}
	return ""
}

func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
