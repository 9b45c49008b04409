package tui

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", path, cmp.Diff(string(want), got))
	}
}

// golden view: trailing spaces are left out, so that the files can be read and
// edited.
func goldenView(t *testing.T, name string, a *app) {
	t.Helper()
	lines := strings.Split(a.View(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	golden(t, name, strings.Join(lines, "\n")+"\n")
	fits(t, a)
}

// fits fails when the view is larger than the screen, or holds what a terminal
// would obey.
func fits(t testing.TB, a *app) {
	t.Helper()
	view := a.View()
	lines := strings.Split(view, "\n")
	if len(lines) > a.height {
		t.Fatalf("%d lines on a screen of %d:\n%s", len(lines), a.height, view)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > a.width {
			t.Fatalf("line %d has %d columns on a screen of %d: %q", i, w, a.width, l)
		}
	}
	for _, r := range view {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Fatalf("%U reaches the screen: %q", r, view)
		}
	}
}

var sizes = []struct{ width, height int }{{60, 15}, {80, 24}, {120, 40}, {200, 50}}

func TestViewStarts(t *testing.T) {
	goldenView(t, "start-80x24.txt", screen(t, 80, 24))
}

func TestViewList(t *testing.T) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%dx%d", s.width, s.height), func(t *testing.T) {
			a := screen(t, s.width, s.height)
			watch(a, 31)
			goldenView(t, fmt.Sprintf("list-%dx%d.txt", s.width, s.height), a)
		})
	}
}

func TestViewDetail(t *testing.T) {
	for _, s := range []struct {
		pod, tab      string
		width, height int
	}{
		{"server", "2", 40, 12},
		{"search", "4", 120, 60},
		{"oldkernel", "2", 120, 60},
		{"oldkernel", "4", 120, 60},
		{"redis", "2", 120, 40},
		{"exporter", "2", 80, 40},
		{"noimage", "1", 80, 40},
		{"fresh", "1", 80, 24},
		{"old-", "1", 80, 24},
	} {
		name := fmt.Sprintf("detail-%s-%s-%dx%d.txt", strings.Trim(s.pod, "-"), s.tab, s.width, s.height)
		t.Run(name, func(t *testing.T) {
			a := screen(t, s.width, s.height)
			watch(a, 31)
			press(a, "/", s.pod, "enter", "enter", s.tab)
			goldenView(t, name, a)
		})
	}
}

func TestViewHelp(t *testing.T) {
	for _, s := range []struct{ width, height int }{{120, 40}, {200, 50}} {
		a := screen(t, s.width, s.height)
		watch(a, 3)
		press(a, "?")
		goldenView(t, fmt.Sprintf("help-%dx%d.txt", s.width, s.height), a)
	}
	a := screen(t, 80, 24)
	watch(a, 3)
	press(a, "?")
	goldenView(t, "help-80x24.txt", a)
	press(a, "pgdown", "pgdown")
	goldenView(t, "help-80x24-scrolled.txt", a)
	press(a, "esc")
	if a.page != listPage {
		t.Error("esc does not leave the help page")
	}
}

func TestViewFilter(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 31)
	press(a, "/", "w", "e", "b")
	goldenView(t, "filter-80x24.txt", a)
	press(a, "z")
	goldenView(t, "filter-none-80x24.txt", a)
}
