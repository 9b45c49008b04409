package tui

import (
	"io"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

// In ASCII mode nothing else reaches the screen, on any page, and nothing is cut.
func TestASCII(t *testing.T) {
	plain := screen(t, 80, 24)
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.Ascii)
	a := newApp(Options{Title: "prod-eu1/shöp", Now: plain.poller.now, ASCII: true}, plain.poller, r)
	a.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	watchFleet(a, 31)
	goldenView(t, "ascii-80x24.txt", a)
	for _, size := range []struct{ width, height int }{{120, 40}, {200, 50}} {
		a.Update(tea.WindowSizeMsg{Width: size.width, Height: size.height})
		for _, keys := range [][]string{{"esc"}, {"c"}, {"esc", "enter"}, {"esc", "?"}, {"esc", "/", "大", "ä"}} {
			press(a, keys...)
			fits(t, a)
			if i := strings.IndexFunc(a.View(), func(r rune) bool { return r >= 0x80 }); i >= 0 {
				t.Errorf("after %v %q is on the screen", keys, a.View()[i:min(len(a.View()), i+4)])
			}
			press(a, "esc")
		}
	}
	for _, text := range []string{"▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉█", "▸▾→←↑↓⏎…×≠≥≤·─", "大文字", "\x1b[31mrot\x1b[0m"} {
		if got, want := ansi.StringWidth(toASCII(text)), ansi.StringWidth(text); got != want {
			t.Errorf("%q becomes %q, of %d columns instead of %d", text, toASCII(text), got, want)
		}
	}
}
