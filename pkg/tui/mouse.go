package tui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// wheelStep is how many lines a notch of the wheel is.
const wheelStep = 3

// toggleMouse takes the mouse from the terminal, or gives it back: while the screen
// has it no text can be selected.
func (a *app) toggleMouse() tea.Cmd {
	a.mouseOn = !a.mouseOn
	if a.mouseOn {
		a.say("the mouse is the screen's: click, wheel; ctrl-t gives it back")
		return tea.EnableMouseCellMotion
	}
	a.say("the mouse is the terminal's again: text can be selected")
	return tea.DisableMouse
}

// mouse acts on the wheel and on clicks.
func (a *app) mouse(msg tea.MouseMsg) tea.Cmd {
	if !a.mouseOn || msg.Action != tea.MouseActionPress || a.asking || a.filtering {
		return nil
	}
	step := 0
	switch msg.Button {
	case tea.MouseButtonWheelUp:
		step = -wheelStep
	case tea.MouseButtonWheelDown:
		step = wheelStep
	case tea.MouseButtonLeft:
	default:
		return nil
	}
	switch {
	case a.chooser != nil:
		a.chooser.at = min(max(0, a.chooser.at+step), len(a.chooser.names)-1)
	case a.page != listPage:
		if step < 0 {
			a.scroll.ScrollUp(-step)
		} else {
			a.scroll.ScrollDown(step)
		}
	case step != 0:
		a.move(step)
	default:
		return a.click(msg.X, msg.Y)
	}
	return nil
}

// click selects a line, opens or folds the one that is selected already, and sorts
// by a column whose title it hits.
func (a *app) click(x, y int) tea.Cmd {
	titles := a.headerHeight()
	if y == titles {
		a.clickTitle(x)
		return nil
	}
	i := a.top + y - titles - 1
	l := a.at(i)
	if y <= titles || y > titles+a.listHeight() || l == nil {
		return nil
	}
	switch {
	case l.kind != podLine:
		a.toggleFold(l)
	case l.key == a.selected && a.touched:
		return a.openSelected()
	default:
		a.selected, a.touched = l.key, true
	}
	return nil
}

// clickTitle sorts by a column; a second click turns the order around.
func (a *app) clickTitle(x int) {
	cols, name, _ := a.place()
	sort := ""
	if x >= markWidth && x <= markWidth+name {
		sort = "name"
	}
	for _, c := range cols {
		if x >= c.at && x < c.at+c.width {
			sort = c.sort
		}
	}
	for i, o := range a.orders {
		if sort == "" || o.name != sort {
			continue
		}
		if i == a.orderAt {
			a.reversed = !a.reversed
		} else {
			a.orderAt, a.reversed = i, false
		}
		a.sort()
	}
}
