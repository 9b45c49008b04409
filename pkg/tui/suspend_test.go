package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// ctrl-z gives the terminal back for as long as the screen sleeps.
func TestSuspend(t *testing.T) {
	a := screen(t, 80, 24)
	_, cmd := a.Update(keyNamed("ctrl+z"))
	if cmd == nil {
		t.Fatal("nothing happens")
	}
	if _, ok := cmd().(tea.SuspendMsg); !ok {
		t.Errorf("%T", cmd())
	}
}

// A source that says nothing for a minute leaves rows that say how old they are, and a
// clock that goes on.
func TestASourceThatStalls(t *testing.T) {
	a := screen(t, 120, 40)
	deliver(a, many(3, 1))
	for n := 2; n <= 61; n++ {
		a.Update(clockMsg{seq: a.ticks, at: noon.Add(time.Duration(n) * time.Second)})
	}
	v := a.View()
	if !strings.Contains(v, "12:01:01Z") || !strings.Contains(v, "stale 60s") {
		t.Errorf("the rows look as if they were of now:\n%s", v)
	}
}

// The way through the screen that the README shows, on a real program: list, filter, a
// pod's tabs, the past, and out.
func TestMainPath(t *testing.T) {
	src := &script{snapshots: seconds(31)}
	out, keys, done := start(t, t.Context(), src)
	out.waitFor(t, "12 pods", "x7wqp")
	for _, step := range []struct{ keys, shows string }{
		{"f", ""},
		{"f", ""},
		{"f", ""},
		{"f", ""},
		{"/server", "filter: server"},
		{"\r", "filter: server"},
		{"\r", "[1 Verdict]"},
		{"2", "[2 Queues]"},
		{"3", "Busy ratio"},
		{"4", "Limits"},
		{"5", "newest first"},
		{"6", "[6 Raw]"},
		{"x", "What if"},
		{"x", ""},
		{"m", "counting from"},
		{"[", "nothing is remembered"},
		{"p", "PAUSED"},
		{"?", "A pod's page"},
		{"\x1b", ""},
	} {
		typeKeys(t, keys, step.keys)
		if step.shows != "" {
			out.waitFor(t, step.shows)
		}
	}
	time.Sleep(100 * time.Millisecond) // an escape that a letter follows at once is another key
	typeKeys(t, keys, "q")
	if err := <-done; err != nil {
		t.Errorf("q: %v", err)
	}
	if !strings.Contains(out.String(), leaveAlt) {
		t.Error("the terminal was not left as it was")
	}
}

// panics is a Source that is broken.
type panics struct{ script }

func (p *panics) Next(ctx context.Context) (model.Snapshot, error) {
	s, err := p.script.Next(ctx)
	if s.Seq == 3 {
		panic("a bug in a source")
	}
	return s, err
}

// A crash gives the terminal back as well.
func TestCrashLeavesTheTerminalClean(t *testing.T) {
	out, keys, done := start(t, t.Context(), &panics{script{snapshots: seconds(5)}})
	defer keys.Close()
	if err := <-done; err == nil {
		t.Error("a crash is no error")
	}
	text := out.String()
	if at := strings.LastIndex(text, leaveAlt); at < strings.LastIndex(text, enterAlt) || !strings.Contains(text, "\x1b[?25h") {
		t.Errorf("the terminal was left in %q", text[max(0, len(text)-200):])
	}
}
