package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// search is what is looked for in the raw text.
type search struct {
	text string
	// hit is the number of the hit that the page shows, from 0.
	hit int
}

// maxRawLines bounds the page: what follows is in a recording.
const maxRawLines = 20_000

// rawTab is what the pod's values were made of, word for word.
func (d *detail) rawTab() {
	if len(d.pod.Raw) == 0 {
		why := "no raw text of this pod has arrived"
		if d.moment.held {
			why = "raw text is kept of the newest tick alone; recordings have it"
		}
		d.add("", "  "+d.styles.dim.Render(why))
		return
	}
	hits, omitted := 0, 0
	for _, raw := range d.pod.Raw {
		d.section(render.Clean(raw.Name), fmt.Sprintf("%d bytes", len(raw.Text)))
		for text := range strings.SplitSeq(strings.TrimRight(raw.Text, "\n"), "\n") {
			if len(d.lines) >= maxRawLines {
				omitted++
				continue
			}
			d.rawLine(render.Clean(strings.TrimRight(text, "\r")), &hits)
		}
	}
	if omitted > 0 {
		d.add("", "  "+d.styles.warn.Render(fmt.Sprintf("and %s that a page has no room for; recordings have them", render.Plural(omitted, "line"))))
	}
	d.hits = hits
}

// rawLine adds a line, wrapped, since no column of it may be lost. A line that holds
// what is searched for has a star before it; the one that was found last an arrow.
func (d *detail) rawLine(text string, hits *int) {
	mark, style := "  ", d.styles.plain
	if s := d.page.search; s.text != "" && contains(text, s.text) {
		mark, style = "* ", d.styles.info
		if *hits == s.hit {
			mark, style = "> ", d.styles.info.Bold(true)
			d.focus = len(d.lines)
		}
		*hits++
	}
	for i, l := range wrap(text, d.width-2) {
		d.add(orElse(i == 0, mark, "  ") + style.Render(l))
	}
}

// contains ignores case, unless the text to be found has capitals.
func contains(text, part string) bool {
	if part == strings.ToLower(part) {
		text = strings.ToLower(text)
	}
	return strings.Contains(text, part)
}

// beginSearch takes a text to search for, in the raw text.
func (a *app) beginSearch() {
	a.showTab(rawTab)
	a.searching = true
	a.query.Reset()
	a.query.Focus()
}

// typeSearch takes a key of the text to search for.
func (a *app) typeSearch(msg tea.KeyMsg) {
	switch p := a.openPage(); {
	case key.Matches(msg, a.keys.accept):
		a.searching = false
		a.query.Blur()
		if text := a.query.Value(); text != "" {
			p.search = search{text: text}
		}
		a.layout()
		a.saySearch()
	case key.Matches(msg, a.keys.abort):
		a.searching = false
		a.query.Blur()
		p.search = search{}
	default:
		a.query, _ = a.query.Update(msg)
	}
}

// nextHitOnPage goes to the hit after this one, after the last to the first.
func (a *app) nextHitOnPage() {
	p := a.openPage()
	a.showTab(rawTab)
	if p.search.text == "" {
		a.say("nothing is searched for: / begins")
		return
	}
	a.layout()
	if a.hits > 0 {
		p.search.hit = (p.search.hit + 1) % a.hits
	}
	a.layout()
	a.saySearch()
}

// saySearch says how many hits there are, and which of them is shown.
func (a *app) saySearch() {
	s := a.openPage().search
	switch {
	case s.text == "":
	case a.hits == 0:
		a.say("no line holds " + s.text)
	default:
		a.say(fmt.Sprintf("line %d of %d that hold %s; n goes to the next", s.hit+1, a.hits, s.text))
	}
}
