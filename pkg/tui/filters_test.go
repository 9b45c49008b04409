package tui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestSeverityKey(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 31)
	for _, step := range []struct {
		says string
		pods int
	}{
		{"warning and worse", 16}, {"critical only", 3}, {"unknown only", 1}, {"", 84},
	} {
		press(a, "f")
		if got := a.podsShown(); got != step.pods {
			t.Errorf("%q shows %d pods, want %d", step.says, got, step.pods)
		}
		if v := a.footer(); !strings.Contains(v, step.says) {
			t.Errorf("the footer does not say %q: %s", step.says, v)
		}
	}
	press(a, "f", "esc")
	if a.narrowingAt != 0 {
		t.Error("esc does not show all again")
	}
}

// esc takes one filter off after the other.
func TestEscWidens(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(4, 1)
	s.Pods[3].Meta.Namespace = "other"
	deliver(a, s)
	press(a, "a", "f", "/", "x", "enter")
	for _, want := range []string{"namespace other  warning and worse", "namespace other", ""} {
		press(a, "esc")
		if got := a.narrowedWord(); got != want {
			t.Errorf("left: %q, want %q", got, want)
		}
	}
}

func TestNamespaceKey(t *testing.T) {
	spaces := func(n int) model.Snapshot {
		s := many(12, 1)
		for i := range s.Pods {
			s.Pods[i].Meta.Namespace = fmt.Sprintf("ns-%d", i%n)
		}
		return s
	}
	a := flat(t, 120, 40)
	deliver(a, spaces(3))
	for _, want := range []string{"ns-0", "ns-1", "ns-2", ""} {
		press(a, "a")
		if a.space != want {
			t.Errorf("namespace %q, want %q", a.space, want)
		}
		if want != "" && (len(a.visible) != 4 || strings.Contains(a.listLines()[1], want+"/")) {
			t.Errorf("%d pods of %s, as %q", len(a.visible), want, a.listLines()[1])
		}
	}
	a = flat(t, 120, 40)
	deliver(a, spaces(6))
	press(a, "a", "j", "j", "enter")
	if a.space != "ns-1" || len(a.visible) != 2 || a.chooser != nil {
		t.Errorf("namespace %q was chosen of six, %d pods", a.space, len(a.visible))
	}
	press(a, "a")
	goldenView(t, "list-namespaces-120x40.txt", a)
	press(a, "esc")
	if a.space != "ns-1" {
		t.Error("esc chose something")
	}
	s := spaces(6)
	s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool { return p.Meta.Namespace == "ns-1" })
	deliver(a, s)
	if a.space != "" || len(a.visible) != 10 {
		t.Errorf("the namespace is gone: %q, %d pods", a.space, len(a.visible))
	}
	one := flat(t, 120, 40)
	deliver(one, many(2, 1))
	press(one, "a")
	if one.space != "" || !strings.Contains(one.View(), "all pods are of one namespace") {
		t.Error("one namespace: nothing is said")
	}
}

func TestColumnsKey(t *testing.T) {
	a := screen(t, 80, 24)
	watchFleet(a, 31)
	head := func() string { return strings.Join(strings.Fields(a.listLines()[0]), " ") }
	if got := head(); got != "POD PORT Q/LIMIT OVF/s SINCE ACC/s WRK BUSY VERDICT▼" {
		t.Fatalf("at first %q", got)
	}
	// NODE/CPU is the first of the list: it has no room until it is chosen.
	press(a, "c", "space", "esc")
	if got := head(); !strings.Contains(got, "NODE/CPU") || strings.Contains(got, "ACC") {
		t.Errorf("with NODE/CPU %q", got)
	}
	press(a, "c", "j", "j", "space", "enter")
	if got := head(); strings.Contains(got, "Q/LIMIT") {
		t.Errorf("without Q/LIMIT %q", got)
	}
	press(a, "c", "G", "k", "k", "space", "c")
	if got := head(); strings.Contains(got, "VERDICT") || a.chooser != nil {
		t.Errorf("without VERDICT %q", got)
	}
	deliver(a, fleet(32))
	if got := head(); strings.Contains(got, "Q/LIMIT") {
		t.Errorf("the choice was forgotten: %q", got)
	}
}

func TestColumnsOfTheOptions(t *testing.T) {
	plain := screen(t, 80, 24)
	a := newApp(Options{Now: plain.poller.now, Columns: []string{"wait", "VERDICT", "nonsense"}}, plain.poller, lipgloss.NewRenderer(io.Discard))
	watchFleet(a, 3)
	if got := strings.Join(strings.Fields(ansi.Strip(a.listLines()[0])), " "); got != "POD WAIT VERDICT▼" {
		t.Errorf("columns %q", got)
	}
	if names := ColumnNames(); !slices.Contains(names, "WAIT") || !slices.Contains(names, "Q/LIMIT bar") {
		t.Errorf("names %q", names)
	}
}
