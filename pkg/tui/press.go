package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// single takes apart keys that were typed so fast that they came as one, so that
// jjj is three steps down. What is pasted is text, and stays whole.
func single(msg tea.KeyMsg) []tea.KeyMsg {
	if msg.Type != tea.KeyRunes || msg.Paste || msg.Alt || len(msg.Runes) < 2 {
		return []tea.KeyMsg{msg}
	}
	keys := make([]tea.KeyMsg, len(msg.Runes))
	for i := range msg.Runes {
		keys[i] = tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i : i+1]}
	}
	return keys
}

// press acts on a key.
func (a *app) press(msg tea.KeyMsg) tea.Cmd {
	var cmd tea.Cmd
	switch {
	case key.Matches(msg, a.keys.interrupt):
		return tea.Interrupt
	case key.Matches(msg, a.keys.suspend):
		return tea.Suspend
	case a.asking:
		return a.answerRenew(msg)
	case a.filtering:
		return a.typeFilter(msg)
	case a.searching:
		a.typeQuery(msg)
	case a.chooser != nil:
		a.pressChooser(msg)
	case key.Matches(msg, a.keys.quit):
		return tea.Quit
	case key.Matches(msg, a.keys.pause) && a.page != helpPage:
		return a.togglePause()
	case key.Matches(msg, a.keys.probe) && a.page != helpPage:
		a.askRenew()
	case key.Matches(msg, a.keys.mouse):
		return a.toggleMouse()
	case key.Matches(msg, a.keys.help):
		a.toggleHelp()
	case a.page != helpPage && a.anywhereKey(msg, &cmd):
		return cmd
	case a.page == listPage:
		return a.pressInList(msg)
	default:
		return a.pressInPage(msg)
	}
	return nil
}

// anywhereKey acts on the keys that mean the same in the list and on a pod's page.
func (a *app) anywhereKey(msg tea.KeyMsg, cmd *tea.Cmd) bool {
	var done bool
	if *cmd, done = a.timeKey(msg); done {
		return true
	}
	if *cmd, done = a.keepKey(msg); done {
		return true
	}
	if a.page == listPage && key.Matches(msg, a.keys.summary) {
		*cmd = a.copySummary()
		return true
	}
	return a.page == listPage && a.speedKey(msg)
}

func (a *app) togglePause() tea.Cmd {
	if a.paused.IsZero() {
		a.paused = a.viewNow()
		return nil
	}
	return a.goLive()
}

func (a *app) toggleHelp() {
	if a.page == helpPage {
		a.page = a.back
	} else {
		a.back, a.page = a.page, helpPage
	}
	a.scroll.SetYOffset(0)
}

func (a *app) typeFilter(msg tea.KeyMsg) tea.Cmd {
	switch {
	case key.Matches(msg, a.keys.accept):
		a.filtering = false
		a.filter.Blur()
	case key.Matches(msg, a.keys.abort):
		a.clearFilter()
	case msg.Type == tea.KeyUp:
		a.move(-1)
	case msg.Type == tea.KeyDown:
		a.move(1)
	default:
		a.filter, _ = a.filter.Update(msg)
		a.sift()
	}
	return nil
}

func (a *app) clearFilter() {
	a.filtering = false
	a.filter.Blur()
	a.filter.Reset()
	a.sift()
}
