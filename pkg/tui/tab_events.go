package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// podEvents are those of the pod up to the moment that is shown, the newest first.
func (a *app) podEvents() []timeline.Event {
	var own []timeline.Event
	all := a.events()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Pod == a.detail {
			own = append(own, all[i])
		}
	}
	return own
}

// events lists what happened to the pod; the chosen one is marked, and Enter shows the
// screen as it was then.
func (d *detail) events(page *podPage) {
	events := d.podEvents()
	d.add("", d.styles.dim.Render("  newest first; "+d.keys.accept.Help().Key+" shows the screen as it was then"))
	if len(events) == 0 {
		d.add("", "  nothing has happened to this pod since it was first looked at")
		return
	}
	chosen := page.chosen(events)
	for i, e := range events {
		mark := "  "
		if i == chosen {
			mark = "> "
		}
		style := d.styles.plain
		letter := " "
		switch e.Severity {
		case model.SeverityCritical:
			style, letter = d.styles.bad, "C"
		case model.SeverityWarning:
			style, letter = d.styles.warn, "W"
		}
		ago := cell(agoWord(max(0, d.viewNow().Sub(e.Time)))+" ago", 11, true)
		head := mark + e.Time.UTC().Format("15:04:05Z") + d.styles.dim.Render(ago) + "  " + style.Render(letter) + " "
		room := max(10, d.width-ansi.StringWidth(head))
		for j, l := range wrap(fmt.Sprintf("%s: %s", e.Kind, render.Clean(e.Text)), room) {
			if j > 0 {
				head = cell("", ansi.StringWidth(head), false)
			}
			d.add(head + l)
		}
	}
}

// jumpToChosen shows the screen as it was at the chosen event.
func (a *app) jumpToChosen(p *podPage) tea.Cmd {
	events := a.podEvents()
	if len(events) == 0 {
		return nil
	}
	return a.jump(events[p.chosen(events)].Time)
}

// chosen is the place of the chosen event, which stays chosen when others come; the
// newest where none was chosen, or it is no longer known.
func (p *podPage) chosen(events []timeline.Event) int {
	return max(0, slices.Index(events, p.event))
}

// choose takes the event some places further, an older one when n is positive.
func (a *app) choose(p *podPage, n int) {
	events := a.podEvents()
	if len(events) == 0 {
		return
	}
	at := min(max(0, p.chosen(events)+n), len(events)-1)
	p.event = events[at]
	if at == 0 {
		p.event = timeline.Event{}
	}
	a.layout()
	for i, l := range a.detailLines() {
		if strings.HasPrefix(l, "> ") {
			// It stays in sight, with what comes before and after it.
			a.scroll.SetYOffset(min(max(a.scroll.YOffset, i-a.scroll.Height+4), max(0, i-2)))
			return
		}
	}
}
