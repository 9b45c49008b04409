package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// pressInPage acts on a key on the help page or a pod's page.
func (a *app) pressInPage(msg tea.KeyMsg) tea.Cmd {
	if a.page == detailPage {
		if cmd, done := a.pressInPod(msg); done {
			return cmd
		}
	}
	k := a.keys
	switch {
	case key.Matches(msg, k.back):
		a.leavePage()
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

func (a *app) leavePage() {
	if a.page == helpPage {
		a.page = a.back
		a.scroll.SetYOffset(0)
		return
	}
	p := a.opened()
	p.offset[p.tab] = a.scroll.YOffset
	a.page = listPage
}

// pressInPod acts on the keys that only a pod's page has.
func (a *app) pressInPod(msg tea.KeyMsg) (tea.Cmd, bool) {
	k, p := a.keys, a.opened()
	switch {
	case p.ifs.on && a.pressIfs(msg, &p.ifs):
	case key.Matches(msg, k.tab):
		a.openTab(tab(msg.Runes[0] - '1'))
	case key.Matches(msg, k.nextTab):
		a.openTab(p.tab + 1)
	case key.Matches(msg, k.prevTab):
		a.openTab(p.tab - 1)
	case key.Matches(msg, k.copyNow):
		return a.copyCommand("NOW"), true
	case key.Matches(msg, k.copyFix):
		return a.copyCommand("FIX"), true
	case key.Matches(msg, k.summary):
		return a.copySummary(), true
	case key.Matches(msg, k.whatIf):
		a.toggleIfs(p)
	case p.tab == eventsTab && key.Matches(msg, k.up):
		a.choose(p, -1)
	case p.tab == eventsTab && key.Matches(msg, k.down):
		a.choose(p, 1)
	case p.tab == eventsTab && key.Matches(msg, k.accept):
		return a.jumpToChosen(p), true
	case p.tab == rawTab && key.Matches(msg, k.search):
		a.searching = true
		a.query.SetValue(p.query)
		a.query.Focus()
		a.query.CursorEnd()
	case p.tab == rawTab && key.Matches(msg, k.nextHit):
		a.nextHit(p)
	default:
		return nil, false
	}
	return nil, true
}
