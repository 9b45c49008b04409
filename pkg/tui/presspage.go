package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// pressInPage acts on the keys of the pages that scroll.
func (a *app) pressInPage(msg tea.KeyMsg) tea.Cmd {
	if a.page == detailPage {
		if cmd, done := a.pressInTab(msg); done {
			return cmd
		}
	}
	k := a.keys
	switch {
	case key.Matches(msg, k.back):
		if a.page == helpPage {
			a.page = a.back
		} else {
			a.leavePage()
		}
		a.scroll.SetYOffset(0)
	case key.Matches(msg, k.up):
		a.scroll.ScrollUp(1)
	case key.Matches(msg, k.down):
		a.scroll.ScrollDown(1)
	case key.Matches(msg, k.pageUp):
		a.scroll.PageUp()
	case key.Matches(msg, k.pageDown):
		a.scroll.PageDown()
	case key.Matches(msg, k.top):
		a.scroll.GotoTop()
	case key.Matches(msg, k.bottom):
		a.scroll.GotoBottom()
	}
	return nil
}

// pressInTab acts on the keys that a pod's page alone has.
func (a *app) pressInTab(msg tea.KeyMsg) (tea.Cmd, bool) {
	k, p := a.keys, a.openPage()
	switch {
	case key.Matches(msg, k.nextTab):
		a.showTab(p.tab + 1)
	case key.Matches(msg, k.prevTab):
		a.showTab(p.tab - 1)
	case key.Matches(msg, k.tab):
		a.showTab(tab(msg.String()[0] - '1'))
	case key.Matches(msg, k.search):
		a.beginSearch()
	case key.Matches(msg, k.nextHit):
		a.nextHitOnPage()
	case p.tab == eventsTab:
		return a.pressInEvents(msg)
	default:
		return nil, false
	}
	return nil, true
}
