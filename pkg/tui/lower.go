package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

const (
	// leastPreview is the height from which what lies below the list is more than
	// three lines, leastEvents what the newest events are worth showing in.
	leastPreview, leastEvents = 9, 4
	// besideFrom is the width from which the events stand beside the preview.
	besideFrom = 170
	// bothFrom is the height that holds a preview with all its parts and events.
	bothFrom = 16
)

// lowerHeight is how many lines below the list tell of the selected line and of
// what happened: a share of the screen, and what the list leaves empty.
func (a *app) lowerHeight() int {
	if a.height < 20 || len(a.visible) == 0 {
		return 0
	}
	least := 3
	if a.height >= 30 {
		least = a.height * 2 / 5
	}
	return max(least, a.height-a.headerHeight()-2-len(a.visible))
}

// lower draws them.
func (a *app) lower(height int) []string {
	switch {
	case height <= 0:
		return nil
	case height < leastPreview:
		return a.previewShort(height)
	case a.width >= besideFrom:
		left := a.width * 3 / 5
		return beside(append([]string{""}, a.preview(left-2, height-1)...), append([]string{""}, a.eventLines(a.width-left, height-1)...), left)
	}
	room := height - 1
	if height >= bothFrom {
		room -= leastEvents + 1
	}
	lines := append([]string{""}, a.preview(a.width, room)...)
	if room := height - len(lines) - 1; room >= leastEvents {
		lines = append(append(lines, ""), a.eventLines(a.width, room)...)
	}
	return lines
}

// beside puts two columns of lines next to each other.
func beside(left, right []string, at int) []string {
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out[i] = cell(l, at, false) + r
	}
	return out
}

// rule is a line with a heading in it.
func (a *app) rule(text string, width int) string {
	st := a.styles
	text = ansi.Truncate(text, max(0, width-8), "…")
	rest := max(0, width-4-ansi.StringWidth(text))
	return st.dim.Render("── ") + st.bold.Render(text) + st.dim.Render(" "+strings.Repeat("─", rest))
}

// eventLines are the newest events of all pods, the newest first.
func (a *app) eventLines(width, height int) []string {
	lines := []string{a.rule("events", width)}
	events := a.events()
	if len(events) == 0 {
		return append(lines, a.styles.dim.Render("nothing has happened since the screen was opened"))
	}
	name := min(34, max(12, width/4))
	for i := len(events) - 1; i >= 0 && len(lines) < height; i-- {
		e := &events[i]
		// No news of many pods are one line: forty probes that begin hide nothing.
		pods := map[string]bool{e.Pod: true}
		for e.Severity == model.SeverityInfo && i > 0 && events[i-1].Severity == e.Severity && events[i-1].Text == e.Text {
			i--
			pods[events[i].Pod] = true
		}
		style, letter := a.styles.plain, " "
		switch e.Severity {
		case model.SeverityCritical:
			style, letter = a.styles.bad, "C"
		case model.SeverityWarning:
			style, letter = a.styles.warn, "W"
		}
		who := render.Clean(e.Name)
		if a.severalSpaces() {
			who = render.Clean(e.Namespace) + "/" + who
		}
		if n := len(pods); n > 1 {
			who = render.Plural(n, "pod")
		}
		text := e.Time.UTC().Format("15:04:05Z") + " " + style.Render(letter) + " " + cell(middle(who, name), name, false) + "  "
		lines = append(lines, text+ansi.Truncate(render.Clean(e.Text), max(0, width-ansi.StringWidth(text)), "…"))
	}
	return lines
}
