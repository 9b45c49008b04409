package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

func TestMouse(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 31)
	at := func(x, y int, b tea.MouseButton) {
		a.Update(tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionPress})
	}
	lineOf := func(title string) int {
		for i, l := range strings.Split(a.View(), "\n") {
			if strings.Contains(l, title) {
				return i
			}
		}
		t.Fatalf("%q is not on the screen", title)
		return 0
	}
	at(4, lineOf("q44zd"), tea.MouseButtonLeft)
	if a.touched {
		t.Fatal("the mouse is not the screen's unless it is switched on")
	}
	if _, cmd := a.Update(keyNamed("ctrl+t")); cmd == nil {
		t.Fatal("nothing switches the terminal's mouse on")
	}
	at(4, lineOf("q44zd"), tea.MouseButtonLeft)
	if a.selected != "uid-web-q44zd" || a.page != listPage {
		t.Errorf("a click selects %q", a.selected)
	}
	at(4, lineOf("q44zd"), tea.MouseButtonLeft)
	if a.page != detailPage || a.detail != "uid-web-q44zd" {
		t.Errorf("a second click opens %q", a.detail)
	}
	press(a, "4")
	height := a.height
	a.Update(tea.WindowSizeMsg{Width: a.width, Height: 14})
	at(4, 10, tea.MouseButtonWheelDown)
	if a.scroll.YOffset != wheelStep {
		t.Errorf("the page is scrolled by %d", a.scroll.YOffset)
	}
	a.Update(tea.WindowSizeMsg{Width: a.width, Height: height})
	press(a, "esc")
	before := a.index()
	at(4, 4, tea.MouseButtonWheelDown)
	at(4, 4, tea.MouseButtonWheelUp)
	at(4, 4, tea.MouseButtonWheelUp)
	if got := a.index(); got != before-wheelStep {
		t.Errorf("the wheel moves from %d to %d", before, got)
	}
	at(4, lineOf("deploy/cart"), tea.MouseButtonLeft)
	if !strings.Contains(titles(a), "▾deploy/cart") {
		t.Errorf("a click does not unfold:\n%s", titles(a))
	}
	x := strings.Index(ansi.Strip(a.listLines()[0]), "BUSY")
	at(x, 1, tea.MouseButtonLeft)
	if a.orders[a.orderAt].name != "busy" || a.reversed {
		t.Error("a click on BUSY does not sort by it")
	}
	at(x, 1, tea.MouseButtonLeft)
	if !a.reversed {
		t.Error("a second click does not turn the order around")
	}
	at(3, 1, tea.MouseButtonLeft)
	if a.orders[a.orderAt].name != "name" {
		t.Error("a click on POD does not sort by name")
	}
	at(3, 39, tea.MouseButtonLeft) // the footer
	at(3, 30, tea.MouseButtonLeft) // below the list
	if a.page != listPage {
		t.Error("a click beside the list opened something")
	}
	press(a, "ctrl+t")
	at(4, 4, tea.MouseButtonWheelDown)
	if a.mouseOn || a.index() != before-wheelStep && a.page != listPage {
		t.Error("the mouse was not given back")
	}
}
