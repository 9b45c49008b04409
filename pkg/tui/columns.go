package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

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
			if r.pod.HostNetwork {
				return render.Unknown, a.styles.plain
			}
			return render.Short(r.pod.Counters.ListenOverflows), a.styles.plain
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

// compactQueue is depth/limit in so many columns: 129/128, 12.3k/65.5k, 12k/65k.
func compactQueue(s model.Socket, width int) string {
	q := render.Queue(s)
	if len(q) <= width {
		return q
	}
	if q = render.Short(s.Depth) + "/" + render.Short(s.Limit); len(q) <= width {
		return q
	}
	return thousands(s.Depth) + "/" + thousands(s.Limit)
}

// thousands is a number without its last digits: 65k, 4k.
func thousands(v model.Value[int64]) string {
	n, ok := v.Get()
	if !ok || n < 1000 {
		return render.Short(v)
	}
	if n < 1e6 {
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(min(n/1e6, 999), 10) + "M"
}

// listenerWord names the worst listener; where there is little room its role is a
// letter: i4143, o4140, a8080×4.
func listenerWord(r *row, width int) string {
	if !r.has {
		return render.NoListener(*r.pod)
	}
	name := render.Listener(r.listener)
	role, port, ok := strings.Cut(name, ":")
	if !ok || width >= 8 && ansi.StringWidth(name) <= width {
		return name
	}
	return ansi.Truncate(role, 1, "") + port
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

// waitWord is the share of a second that the target's threads together wanted a CPU
// and did not get one; more than one thread may wait at once.
func waitWord(p *model.Pod) string {
	w, ok := p.Process.Wait.Get()
	if !ok {
		return orElse(p.Collection.Stage == model.StageGone, render.NotApplicable, render.Unknown)
	}
	return strconv.Itoa(int(min(9.99, max(0, w))*100+0.5)) + "%"
}

// nodeWord is the node and the CPUs that the target may use there: 7-21/16c.
func (a *app) nodeWord(r *row) string {
	name := a.nodes[r.pod.Node]
	if n, ok := r.pod.Process.CPUsAllowed.Get(); ok {
		name += "/" + strconv.FormatInt(n, 10) + "c"
	}
	return name
}

// measure sees how much room the columns need whose texts differ in length, and
// what of the nodes' names tells them apart.
func (a *app) measure() {
	a.nodes = map[string]string{}
	for _, r := range a.rows {
		a.nodes[r.pod.Node] = render.Clean(r.pod.Node)
	}
	names := make([]string, 0, len(a.nodes))
	for _, name := range a.nodes {
		names = append(names, name)
	}
	head, tail := shared(names)
	for node, name := range a.nodes {
		a.nodes[node] = name[head : len(name)-tail]
	}
	a.widths = map[string]int{}
	for _, r := range a.rows {
		a.widths[columnNode] = max(a.widths[columnNode], ansi.StringWidth(a.nodeWord(r)))
		a.widths[columnListener] = max(a.widths[columnListener], ansi.StringWidth(listenerWord(r, 99)))
	}
}

// shared is how many bytes all names begin and end with, up to a hyphen or a dot:
// a pool's name and a domain.
func shared(names []string) (head, tail int) {
	if len(names) < 2 {
		return 0, 0
	}
	low, high := slices.Min(names), slices.Max(names)
	for i := 0; i < min(len(low), len(high)) && low[i] == high[i]; i++ {
		if strings.IndexByte("-.", low[i]) >= 0 {
			head = i + 1
		}
	}
	suffix := names[0][head:]
	for _, name := range names {
		for !strings.HasSuffix(name[head:], suffix) {
			suffix = suffix[1:]
		}
	}
	dot := strings.IndexByte(suffix, '.')
	if dot < 0 {
		return head, 0
	}
	return head, len(suffix) - dot
}

// placed is a column with the place it has on this screen.
type placed struct {
	column
	at int
}

// sized gives the column the width and title that it has on this screen.
func (a *app) sized(c column) column {
	if a.width >= 100 || c.brief == "" {
		c.brief = c.title
	}
	switch {
	case a.width < 60:
		c.width = cmp.Or(c.tiny, c.narrow, c.width)
	case a.width < 100:
		c.width = cmp.Or(c.narrow, c.width)
	case a.width >= 140:
		c.width = cmp.Or(c.wide, c.width)
	}
	if c.fits > 0 && (a.width >= 140 || c.title == columnNode) {
		c.width = min(max(c.width, a.widths[c.title]), c.fits)
	}
	return c
}

// place chooses the columns for the screen's width and gives the width of the name
// and where the sentence behind the verdict begins.
func (a *app) place() (cols []placed, name, end int) {
	longest := max(a.longest, minName)
	room := a.width - markWidth - min(longest, max(minName, a.width/4))
	candidates := make([]column, 0, len(a.columns))
	for _, c := range a.columns {
		shown, chosen := a.wanted[c.id()]
		if chosen && !shown || c.title == columnWhy {
			continue
		}
		if chosen {
			c.rank -= 100 // before all that nobody asked for
		}
		candidates = append(candidates, a.sized(c))
	}
	order := slices.Clone(candidates)
	slices.SortStableFunc(order, func(x, y column) int { return cmp.Compare(x.rank, y.rank) })
	takes := map[string]bool{}
	for _, c := range order {
		if c.width+1 <= room {
			takes[c.id()] = true
			room -= c.width + 1
		}
	}
	used := markWidth
	for _, c := range candidates {
		if takes[c.id()] {
			cols = append(cols, placed{column: c})
			used += c.width + 1
		}
	}
	name = max(1, min(longest, maxName, a.width-used))
	at := markWidth + name + 1
	for i := range cols {
		cols[i].at = at
		at += cols[i].width + 1
	}
	return cols, name, at
}

// minName keeps the columns in place while names are short.
const minName = 12
