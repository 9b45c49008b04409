package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// maxRawLines bounds the page: a proxy may print anything.
const maxRawLines = 5000

// rawText is what ss, nstat and the proxy said, word for word. Hits of a search are
// marked at the left, so that nobody needs colours.
func (d *detail) rawText(page *podPage) {
	if len(d.pod.Raw) == 0 {
		text := "nothing was read of this pod yet"
		if d.moment.held {
			text = "raw text is kept of the newest moment alone (p goes there); recordings, and the flight recorder's file, have it of every moment"
		}
		if d.moment.held && d.replay != nil {
			text = "raw text is read while the recording plays: p plays on from here"
		}
		d.add("")
		d.text("  ", text)
		return
	}
	query := strings.ToLower(page.query)
	hits := 0
	for _, t := range d.pod.Raw {
		d.section(render.Clean(t.Name), "")
		for l := range strings.Lines(t.Text) {
			if len(d.lines) >= maxRawLines {
				d.add("  …", "  "+d.styles.dim.Render(fmt.Sprintf("more than %d lines: recordings have all", maxRawLines)))
				return
			}
			// Tabs and the like are shown as what they are.
			l = render.Clean(strings.TrimRight(l, "\n"))
			mark, style := "  ", d.styles.plain
			if query != "" && strings.Contains(strings.ToLower(l), query) {
				mark, style = "» ", d.styles.bold
				hits++
			}
			for i, part := range breakAt(l, max(10, d.width-2)) {
				if i > 0 {
					mark = "  "
				}
				d.add(mark + style.Render(part))
			}
		}
	}
	if query != "" {
		d.lines = append([]string{d.styles.dim.Render(fmt.Sprintf("  %s for %q; n goes to the next, / searches for something else", render.Plural(hits, "line"), render.Clean(page.query)))}, d.lines...)
	}
}

// breakAt cuts a line that is longer than the screen, wherever that is.
func breakAt(l string, n int) []string { return strings.Split(ansi.Hardwrap(l, n, true), "\n") }

// newQuery is where somebody types what to search for.
func newQuery(st styles, r *lipgloss.Renderer) textinput.Model {
	q := textinput.New()
	q.Prompt = "search: "
	q.PromptStyle, q.TextStyle = st.bold, st.plain
	q.Cursor.Style, q.Cursor.TextStyle = r.NewStyle(), r.NewStyle()
	q.CharLimit = 100
	// As in the filter: no blinking, and no program for pasting.
	q.Cursor.SetMode(cursor.CursorStatic)
	q.KeyMap.Paste.SetEnabled(false)
	return q
}

// typeQuery takes the keys while somebody types what to search for.
func (a *app) typeQuery(msg tea.KeyMsg) {
	p := a.opened()
	switch {
	case key.Matches(msg, a.keys.accept):
		a.searching = false
		a.query.Blur()
		p.query, p.hit = a.query.Value(), -1
		a.layout()
		a.nextHit(p)
	case key.Matches(msg, a.keys.abort):
		a.searching = false
		a.query.Blur()
		p.query, p.hit = "", -1
	default:
		a.query, _ = a.query.Update(msg)
	}
}

// nextHit scrolls to the next line that holds the query, from the top again behind the
// last one.
func (a *app) nextHit(p *podPage) {
	if p.query == "" {
		a.say("/ searches")
		return
	}
	lines := a.detailLines()
	for i := range lines {
		at := (p.hit + 1 + i) % len(lines)
		if strings.HasPrefix(lines[at], "» ") {
			p.hit = at
			a.scroll.SetYOffset(max(0, at-a.scroll.Height/3))
			return
		}
	}
	a.say(fmt.Sprintf("%q is not in it", p.query))
}
