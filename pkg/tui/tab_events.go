package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// eventsTab is what happened to the pod up to the moment that is shown, newest first.
func (d *detail) eventsTab() {
	events := d.eventsOnPage()
	if len(events) == 0 {
		d.add("", "  "+d.styles.dim.Render("nothing has happened to this pod since the screen began to look"))
		return
	}
	at := d.eventAt(events)
	d.add("")
	for i, e := range events {
		when := e.Time.UTC().Format("15:04:05Z")
		if e.Time.YearDay() != d.viewNow().YearDay() {
			when = e.Time.UTC().Format("01-02 15:04:05Z")
		}
		head := orElse(i == at, "> ", "  ") + when + "  " + cell(agoWord(d.viewNow().Sub(e.Time))+" ago", 11, true) + "  "
		mark := eventMark(e)
		style := d.styles.eventSeverity(e)
		if i == at {
			d.focus = len(d.lines)
			style = style.Bold(true)
		}
		room := d.width - len(head) - 3
		for j, l := range wrap(render.Clean(e.Text), room) {
			if j > 0 {
				head, mark = strings.Repeat(" ", len(head)), " "
			}
			d.add(d.styles.dim.Render(head) + style.Render(mark+" "+l))
		}
	}
}

// eventMark says in a letter how bad an event is.
func eventMark(e timeline.Event) string {
	switch e.Severity {
	case model.SeverityCritical:
		return "C"
	case model.SeverityWarning:
		return "W"
	}
	return " "
}

func (s styles) eventSeverity(e timeline.Event) lipgloss.Style {
	switch e.Severity {
	case model.SeverityCritical:
		return s.bad
	case model.SeverityWarning:
		return s.warn
	}
	return s.plain
}

// eventsOnPage are the events of the pod whose page is open, newest first.
func (a *app) eventsOnPage() []timeline.Event {
	var found []timeline.Event
	all := a.events()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Pod == a.detail {
			found = append(found, all[i])
		}
	}
	return found
}

// eventAt is the place of the selected event; the newest where it is not there.
func (a *app) eventAt(events []timeline.Event) int {
	for i, e := range events {
		if e == a.openPage().event {
			return i
		}
	}
	return 0
}

// pressInEvents selects an event, or goes to its time.
func (a *app) pressInEvents(msg tea.KeyMsg) (tea.Cmd, bool) {
	k, events := a.keys, a.eventsOnPage()
	if len(events) == 0 {
		return nil, false
	}
	at, page := a.eventAt(events), max(1, a.scroll.Height-1)
	switch {
	case key.Matches(msg, k.accept):
		a.say(render.Clean(events[at].Text))
		return a.jump(events[at].Time), true
	case key.Matches(msg, k.up):
		at--
	case key.Matches(msg, k.down):
		at++
	case key.Matches(msg, k.pageUp):
		at -= page
	case key.Matches(msg, k.pageDown):
		at += page
	case key.Matches(msg, k.top):
		at = 0
	case key.Matches(msg, k.bottom):
		at = len(events) - 1
	default:
		return nil, false
	}
	a.openPage().event = events[min(max(0, at), len(events)-1)]
	return nil, true
}
