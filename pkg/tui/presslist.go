package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// pressInList acts on a key of the list.
func (a *app) pressInList(msg tea.KeyMsg) tea.Cmd {
	k := a.keys
	switch {
	case key.Matches(msg, k.up):
		a.move(-1)
	case key.Matches(msg, k.down):
		a.move(1)
	case key.Matches(msg, k.pageUp):
		a.move(-max(1, a.listHeight()-1))
	case key.Matches(msg, k.pageDown):
		a.move(max(1, a.listHeight()-1))
	case key.Matches(msg, k.top):
		a.move(-len(a.visible))
	case key.Matches(msg, k.bottom):
		a.move(len(a.visible))
	case key.Matches(msg, k.fold) && a.grouping:
		a.foldHere()
	case key.Matches(msg, k.unfold) && a.isHolder():
		a.unfoldHere()
	case key.Matches(msg, k.open):
		return a.openSelected()
	case key.Matches(msg, k.back):
		a.widen()
	case key.Matches(msg, k.filter):
		a.filtering = true
		a.filter.Focus()
		a.filter.CursorEnd()
	case key.Matches(msg, k.severity):
		a.narrowingAt = (a.narrowingAt + 1) % len(a.narrowings)
		a.sort() // nothing that is asked for may be in a fold of five seconds ago
	case key.Matches(msg, k.namespace):
		a.nextSpace()
	case key.Matches(msg, k.group):
		a.grouping, a.groupingChosen = !a.grouping, true
		a.sift()
	case key.Matches(msg, k.columns):
		a.chooseColumns()
	case key.Matches(msg, k.sort):
		a.orderAt = (a.orderAt + 1) % len(a.orders)
		a.sort()
	case key.Matches(msg, k.reverse):
		a.reversed = !a.reversed
		a.sort()
	}
	return nil
}

// isHolder says whether the selected line holds others.
func (a *app) isHolder() bool {
	l := a.at(a.index())
	return l != nil && l.kind != podLine
}

// openSelected opens the page of the selected pod, or what the selected line holds.
func (a *app) openSelected() tea.Cmd {
	l := a.at(a.index())
	switch {
	case l == nil:
	case l.kind != podLine:
		a.toggleFold(l)
	default:
		a.page, a.detail, a.touched = detailPage, l.key, true
		p := a.opened()
		a.layout()
		a.scroll.SetYOffset(p.offset[p.tab])
	}
	return nil
}

// widen takes one filter off: what was typed first, the namespace last.
func (a *app) widen() {
	switch {
	case a.filter.Value() != "":
		a.clearFilter()
	case a.narrowingAt != 0:
		a.narrowingAt = 0
		a.sift()
	case a.space != "":
		a.setSpace("")
	}
}

// move takes the selection some lines down, or up when n is negative.
func (a *app) move(n int) {
	a.touched = true
	if len(a.visible) == 0 {
		return
	}
	a.selected = a.visible[min(max(0, a.index()+n), len(a.visible)-1)].key
}
