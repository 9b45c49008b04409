package tui

import (
	"strings"
	"testing"
)

// Every column of the list is explained on the help page, and every letter.
func TestHelpExplainsTheList(t *testing.T) {
	a := screen(t, 120, 40)
	help := strings.Join(a.helpLines(), "\n")
	for _, c := range columns() {
		if c.title != "" && !strings.Contains(help, "  "+c.title+" ") {
			t.Errorf("the column %s is not explained", c.title)
		}
	}
	for g := range grades {
		if letter := strings.TrimSpace(g.letter()); !strings.Contains(help, letter) {
			t.Errorf("the letter %q is not explained", letter)
		}
	}
}
