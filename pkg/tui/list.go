package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// podName is the pod's name, with its namespace where there is more than one.
func (a *app) podName(p model.Pod) string {
	if a.severalSpaces() {
		return render.PodName(p)
	}
	return render.Clean(p.Meta.Name)
}

func (a *app) severalSpaces() bool { return len(a.spaces) > 1 && a.space == "" }

// lineName is what stands in the list's first column.
func (a *app) lineName(l *line) string {
	switch {
	case l.kind == restLine:
		return orElse(l.folded, "▸ ", "▾ ") + strconv.Itoa(l.pods) + " " + l.word + ",med"
	case l.group != nil:
		return l.group.short(l.row.pod)
	}
	return a.podName(*l.row.pod)
}

// listLines are the column titles, the rows and what is below them.
func (a *app) listLines() []string {
	cols, name, end := a.place()
	lines := make([]string, 0, a.height)
	lines = append(lines, a.titles(cols, name))
	if len(a.visible) == 0 {
		lines = append(lines, "", a.emptyList())
	}
	last := min(len(a.visible), a.top+a.listHeight())
	for i := min(a.top, last); i < last; i++ {
		l := &a.visible[i]
		if l.kind == groupLine {
			lines = append(lines, a.groupLine(l, name))
			continue
		}
		lines = append(lines, a.rowLine(l, cols, name, end))
	}
	if below := a.visible[last:]; len(below) > 0 && a.listRoom() > a.listHeight() {
		lines = append(lines, a.belowWord(below))
	}
	if a.chooser != nil {
		return overlay(lines, a.chooserLines(a.height-a.headerHeight()-1), a.width)
	}
	for len(lines) < 1+a.listRoom() {
		lines = append(lines, "")
	}
	return append(lines, a.lower(a.lowerHeight())...)
}

// belowWord says what the list has no room for, so that nobody scrolls for nothing.
func (a *app) belowWord(below []line) string {
	var c counts
	groups := 0
	for i := range below {
		switch l := &below[i]; {
		case l.kind == groupLine && l.folded:
			groups++
			for g, n := range l.group.counts {
				c[g] += n
			}
		case l.kind == podLine:
			c[l.row.grade]++
		case l.kind == restLine && l.folded:
			c[l.row.grade] += l.pods
		}
	}
	text := a.styles.dim.Render("↓ " + render.Plural(len(below), "line") + " below")
	if c[gradeOK] > 0 && c[gradeOK] == c.pods() && c[gradeGone] == 0 {
		return text + a.styles.dim.Render(", all ok")
	}
	return text + a.styles.dim.Render(": ") + c.text(a.styles, false)
}

func (a *app) emptyList() string {
	text := "waiting for the first look at the pods…"
	switch {
	case len(a.all) > 0:
		var by []string
		if f := a.filter.Value(); f != "" {
			by = append(by, fmt.Sprintf("%q", render.Clean(f)))
		}
		if n := a.narrowings[a.narrowingAt].name; n != "" {
			by = append(by, n)
		}
		if a.space != "" {
			by = append(by, "namespace "+render.Clean(a.space))
		}
		text = fmt.Sprintf("none of %s matches %s; esc shows all", render.Plural(len(a.all), "pod"), strings.Join(by, ", "))
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
		b.WriteString(" " + cell(mark(c.brief, c.sort), c.width, c.right))
	}
	return a.styles.dim.Render(b.String())
}

// leastWhy is the least room that a sentence behind the verdict is worth.
const leastWhy = 16

// groupName is the workload's, with its namespace where there is more than one.
func (a *app) groupName(g *group) string {
	if a.severalSpaces() && g.namespace != "" {
		return g.namespace + " " + g.name
	}
	return g.name
}

// groupLine draws the header of a workload.
func (a *app) groupLine(l *line, name int) string {
	g, st := l.group, a.styles
	selected := l.key == a.selected
	if selected {
		st = st.marked()
	}
	name = max(name, min(a.longestGroup, a.width/3))
	title := middle(a.groupName(g), max(name, a.width/2))
	number := strconv.Itoa(g.pods())
	word := ": "
	if a.width >= 100 {
		word = orElse(g.pods() == 1, " pod:  ", " pods: ")
	}
	text := orElse(l.folded, "▸", "▾") + orElse(selected, ">", " ") + cell(title, max(name, ansi.StringWidth(title)), false) + " " + cell(number, max(2, len(number)), true) + word
	line := st.bold.Render(text) + g.counts.text(st, false)
	for i, part := range g.about() {
		sep := "  "
		if i == 0 && a.width >= 100 { // the parts of all headers begin at the same column
			sep = strings.Repeat(" ", max(2, markWidth+name+28-ansi.StringWidth(line)))
		}
		room := a.width - ansi.StringWidth(line+sep)
		if w := ansi.StringWidth(part); w > room && (i > 0 || room < leastWhy) {
			continue // a shorter one may fit
		}
		line += st.plain.Render(sep) + orStyle(i == 0 && g.alike != "", st.warn, st.dim).Render(ansi.Truncate(part, room, "…"))
	}
	if selected {
		line += st.plain.Render(strings.Repeat(" ", max(0, a.width-ansi.StringWidth(line))))
	}
	return line
}

// rowLine draws one pod, or the one in the middle of several.
func (a *app) rowLine(l *line, cols []placed, name, end int) string {
	r := l.row
	base := a.styles.plain
	selected := l.key == a.selected
	letter := orElse(l.kind == podLine, r.grade.letter(), " ")
	mark := orElse(selected, ">", " ")
	if selected {
		base = a.styles.bold.Background(a.styles.selected)
	}
	old := r.grade == gradeGone || a.isOld(r.pod)
	paint := func(text string, style lipgloss.Style) string {
		if selected {
			style = style.Background(a.styles.selected)
		}
		return style.Render(text)
	}
	var b strings.Builder
	b.WriteString(paint(letter, a.styles.grade(r.grade)))
	title := a.lineName(l)
	if l.kind == podLine {
		title = middle(title, name)
	}
	b.WriteString(base.Render(mark + cell(title, name, false)))
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
		text, style := "", a.styles.plain
		switch {
		case c.now && r.grade == gradeGone:
			text = orElse(c.title != "", render.NotApplicable, "")
		case l.kind == podLine || c.title != columnNode && c.title != columnFor:
			text, style = c.text(a, r, c.width)
		}
		if old && c.title != columnVerdict {
			style = a.styles.dim
		}
		b.WriteString(paint(" "+cell(text, c.width, c.right), style))
	}
	wanted, chosen := a.wanted[columnWhy]
	if room := a.width - end; room >= leastWhy && (wanted || !chosen) && l.kind == podLine {
		b.WriteString(paint(" "+cell(a.whyWord(r), room-1, false), a.styles.dim))
	} else if selected {
		b.WriteString(paint(strings.Repeat(" ", max(0, a.width-end+1)), a.styles.plain))
	}
	return b.String()
}

// spanned says whether a stage's words take the column's room: the queue's
// figures, and the workers' too when there are none.
func spanned(c placed, r *row) bool {
	switch c.title {
	case columnNode, columnVerdict, columnFor:
		return false
	}
	return c.queue || !r.pod.Runtime.Workers.IsKnown()
}
