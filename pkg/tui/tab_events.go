package tui

import (
	"fmt"

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
	page.event = min(max(0, page.event), len(events)-1)
	for i, e := range events {
		mark := "  "
		if i == page.event {
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
	if p.event >= len(events) || p.event < 0 {
		return nil
	}
	return a.jump(events[p.event].Time)
}
