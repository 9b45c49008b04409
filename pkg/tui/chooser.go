package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// chooser is a small list over the page from which something is chosen.
type chooser struct {
	title string
	keys  string // what its keys do
	names []string
	at    int
	// on says whether a name is chosen, toggle chooses it. one closes the list with
	// the first choice.
	on     func(i int) bool
	toggle func(i int)
	one    bool
}

// pressChooser acts on a key while a chooser is open.
func (a *app) pressChooser(msg tea.KeyMsg) {
	c, k := a.chooser, a.keys
	switch {
	case key.Matches(msg, k.accept) && c.one:
		c.toggle(c.at)
		a.chooser = nil
	case key.Matches(msg, k.accept), key.Matches(msg, k.abort), key.Matches(msg, k.quit), key.Matches(msg, k.columns) && !c.one:
		a.chooser = nil
	case msg.Type == tea.KeySpace:
		c.toggle(c.at)
	case key.Matches(msg, k.up):
		c.at = max(0, c.at-1)
	case key.Matches(msg, k.down):
		c.at = min(len(c.names)-1, c.at+1)
	case key.Matches(msg, k.top):
		c.at = 0
	case key.Matches(msg, k.bottom):
		c.at = len(c.names) - 1
	}
}

// chooserLines draw the chooser in so much room.
func (a *app) chooserLines(room int) []string {
	c, st := a.chooser, a.styles
	width := ansi.StringWidth(c.title) + 2
	for _, name := range c.names {
		width = max(width, ansi.StringWidth(name)+6)
	}
	width = min(max(width, ansi.StringWidth(c.keys)+2), max(4, a.width-4))
	rows := max(1, min(len(c.names), room-4))
	top := min(max(0, c.at-rows/2), len(c.names)-rows)
	bar := strings.Repeat("─", width)
	edge := st.dim.Render("│")
	lines := []string{st.dim.Render("┌" + bar + "┐"), edge + st.bold.Render(cell(" "+c.title, width, false)) + edge}
	for i := top; i < top+rows; i++ {
		style, mark := st.plain, " "
		if i == c.at {
			style, mark = st.bold.Background(st.selected), ">"
		}
		box := orElse(c.on(i), "[x] ", "[ ] ")
		lines = append(lines, edge+style.Render(cell(mark+box+render.Clean(c.names[i]), width, false))+edge)
	}
	return append(lines, edge+st.dim.Render(cell(" "+c.keys, width, false))+edge, st.dim.Render("└"+bar+"┘"))
}

// overlay lays a box over lines, at their right side.
func overlay(lines, box []string, width int) []string {
	for i, b := range box {
		if i >= len(lines) {
			lines = append(lines, "")
		}
		w := ansi.StringWidth(b)
		left := max(0, width-w-1)
		lines[i] = cell(ansi.Truncate(lines[i], left, ""), left, false) + b
	}
	return lines
}
