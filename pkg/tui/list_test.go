package tui

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// titles gives the visible lines by what stands in their first column, headers with
// their fold sign.
func titles(a *app) string {
	var list []string
	for i := range a.visible {
		l := &a.visible[i]
		if l.kind == groupLine {
			list = append(list, orElse(l.folded, "▸", "▾")+l.group.name)
			continue
		}
		list = append(list, a.lineName(l))
	}
	return strings.Join(list, "\n")
}

func wantTitles(t *testing.T, a *app, when string, want ...string) {
	t.Helper()
	if got := titles(a); got != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", when, got, strings.Join(want, "\n"))
	}
}

// selectLine moves the selection to the line of that title.
func selectLine(t *testing.T, a *app, title string) {
	t.Helper()
	press(a, "g")
	for range a.visible {
		l := a.at(a.index())
		if l.kind == groupLine && l.group.name == title || l.kind != groupLine && a.lineName(l) == title {
			return
		}
		press(a, "j")
	}
	t.Fatalf("no line %q among:\n%s", title, titles(a))
}

// What the list shows in each state, at every size that is looked at.
func TestViewListStates(t *testing.T) {
	sizes := []struct{ width, height int }{{40, 12}, {80, 24}, {120, 40}, {200, 50}, {250, 70}}
	for _, c := range []struct {
		name string
		show func(a *app)
	}{
		{"folded", func(a *app) { watchFleet(a, 31); press(a, "h", "j", "h", "j", "h") }},
		{"unfolded", func(a *app) { watchFleet(a, 31); press(a, "j", "l", "j") }},
		{"filtered", func(a *app) { watchFleet(a, 31); press(a, "/"); typed(a, "deploy/check") }},
		{"severity", func(a *app) { watchFleet(a, 31); press(a, "f") }},
		{"critical", func(a *app) { watchFleet(a, 31); press(a, "f", "f") }},
		{"starting", func(a *app) { deliver(a, begins(1)) }},
		{"stale", func(a *app) {
			watchFleet(a, 31)
			a.Update(clockMsg{seq: a.ticks, at: noon.Add(50 * time.Second)})
		}},
		{"gone", func(a *app) { watchFleet(a, 31); press(a, "/"); typed(a, "gone"); press(a, "enter") }},
		{"refused", func(a *app) { watchFleet(a, 31); press(a, "f", "f", "f") }},
		{"chooser", func(a *app) { watchFleet(a, 31); press(a, "c", "j", "j") }},
		{"flat", func(a *app) { watchFleet(a, 31); press(a, "w") }},
		{"header", func(a *app) { watchFleet(a, 31); press(a, "k") }},
	} {
		for _, s := range sizes {
			name := fmt.Sprintf("list-%s-%dx%d.txt", c.name, s.width, s.height)
			t.Run(name, func(t *testing.T) {
				a := screen(t, s.width, s.height)
				c.show(a)
				goldenView(t, name, a)
			})
		}
	}
}

// begins is a snapshot in which no probe has shown anything yet.
func begins(n int) model.Snapshot {
	s := fleet(n)
	s.Pods = s.Pods[:48]
	stages := []model.Stage{model.StageAsking, model.StagePulling, model.StageStarting, model.StageWaiting}
	for i := range s.Pods {
		p := &s.Pods[i]
		if i%8 == 7 {
			continue
		}
		unread(p, "no frame yet")
		p.Verdicts, p.Collection.Message, p.Collection.Via = nil, "", model.ViaProbe
		p.Collection.Stage = stages[i%4]
	}
	return s
}

func typed(a *app, text string) {
	for _, r := range text {
		press(a, string(r))
	}
}

// No meaning is in colour alone, and each colour mode draws the same text.
func TestViewColours(t *testing.T) {
	for _, c := range []struct {
		name    string
		profile termenv.Profile
	}{{"none", termenv.Ascii}, {"ansi", termenv.ANSI}, {"ansi256", termenv.ANSI256}} {
		t.Run(c.name, func(t *testing.T) {
			r := lipgloss.NewRenderer(io.Discard)
			r.SetColorProfile(c.profile)
			r.SetHasDarkBackground(true)
			plain := screen(t, 80, 24)
			a := newApp(Options{Title: plain.title, Now: plain.poller.now}, plain.poller, r)
			a.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			watchFleet(a, 31)
			view := a.View()
			golden(t, "colour-"+c.name+"-80x24.txt", strings.ReplaceAll(view, "\x1b", "␛")+"\n")
			watchFleet(plain, 31)
			if ansi.Strip(view) != plain.View() {
				t.Error("the text is another than without colour")
			}
		})
	}
}

// What all pods of a workload say together.
func TestWorkloadHeaders(t *testing.T) {
	a := screen(t, 200, 50)
	watchFleet(a, 31)
	v := a.View()
	for _, want := range []string{
		"40 pods: C1 ok39", "ovf 14.0/s", "acc/s median 209", "argocd",
		"ill on 4-CPU nodes only (4 of 4)",
		"11 pods: W2 start1 ok8 x1", "rollout 3/11 new", "helm",
		"config-drift  workers 1≠4: the ratio is set on the namespace, and is not inherited",
	} {
		if !strings.Contains(v, want) {
			t.Errorf("no %q on the screen", want)
		}
	}
	s := many(3, 5)
	for i := range s.Pods {
		s.Pods[i].Manifest.Paused = true
		s.Pods[i].Manifest.Outdated = model.Known(i > 0)
		s.Pods[i].Node = fmt.Sprintf("node-%d", i/2)
		if i < 2 {
			s.Pods[i].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
		}
	}
	s.Pods = append(s.Pods, s.Pods[0])
	s.Pods[3].Meta = model.Meta{Name: "pod-9", Namespace: "other"}
	a = screen(t, 200, 50)
	deliver(a, s)
	v = a.View()
	for _, want := range []string{"shop deploy/pod", "rollout paused 1/3 new", "ill on node-0 only (2 of 2)", "other/pod-9"} {
		if !strings.Contains(v, want) {
			t.Errorf("no %q in:\n%s", want, v)
		}
	}
}

func TestHeaderSaysHowLong(t *testing.T) {
	a := screen(t, 160, 40)
	deliver(a, begins(1))
	for _, want := range []string{"starting 42 of 48 probes: asking 12, pulling 12, starting 12, first frame 6", "42 starting"} {
		if !strings.Contains(a.View(), want) {
			t.Errorf("no %q in:\n%s", want, a.View())
		}
	}
	a = screen(t, 160, 40)
	watchFleet(a, 2)
	if !strings.Contains(a.View(), "82 probes to 13:00Z") {
		t.Errorf("the header does not say until when probes run:\n%s", a.View())
	}
}
