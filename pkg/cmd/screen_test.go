package cmd

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

func TestScreenOptions(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		o     screenOptions
		ascii bool
		color tui.Color
	}{
		{"nothing is set", nil, screenOptions{color: "auto"}, false, tui.ColorAuto},
		{"a UTF-8 locale", map[string]string{"LANG": "de_DE.UTF-8", "TERM": "xterm-256color"}, screenOptions{color: "always"}, false, tui.ColorAlways},
		{"POSIX", map[string]string{"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, screenOptions{color: "never"}, true, tui.ColorNever},
		{"POSIX, but asked for otherwise", map[string]string{"LANG": "C"}, screenOptions{asciiGiven: true}, false, tui.ColorAuto},
		{"the Linux console", map[string]string{"TERM": "linux", "LANG": "C.UTF-8"}, screenOptions{}, true, tui.ColorAuto},
		{"asked for", nil, screenOptions{ascii: true, asciiGiven: true}, true, tui.ColorAuto},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got tui.Options
			c.o.fill(&got, world{getenv: func(name string) string { return c.env[name] }})
			if got.ASCII != c.ascii || got.Color != c.color {
				t.Errorf("ASCII %v, colour %v", got.ASCII, got.Color)
			}
		})
	}
}
