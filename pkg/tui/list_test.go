package tui

import (
	"fmt"
	"io"
	"slices"
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
	all := []struct{ width, height int }{{40, 12}, {80, 24}, {120, 40}, {200, 50}, {250, 70}}
	usual := all[1:3]
	for _, c := range []struct {
		name  string
		sizes []struct{ width, height int }
		show  func(a *app)
	}{
		{"folded", all, func(a *app) { watchFleet(a, 31); press(a, "h", "j", "h", "j", "h") }},
		{"unfolded", usual, func(a *app) { watchFleet(a, 31); press(a, "j", "l", "j") }},
		{"filtered", all, func(a *app) { watchFleet(a, 31); press(a, "/"); typed(a, "deploy/check") }},
		{"severity", all, func(a *app) { watchFleet(a, 31); press(a, "f") }},
		{"critical", usual, func(a *app) { watchFleet(a, 31); press(a, "f", "f") }},
		{"starting", all, func(a *app) { deliver(a, begins(1)) }},
		{"stale", all, func(a *app) {
			watchFleet(a, 31)
			a.Update(clockMsg{seq: a.ticks, at: noon.Add(50 * time.Second)})
		}},
		{"gone", usual, func(a *app) { watchFleet(a, 31); press(a, "/"); typed(a, "gone"); press(a, "enter") }},
		{"refused", usual, func(a *app) { watchFleet(a, 31); press(a, "f", "f", "f") }},
		{"chooser", all, func(a *app) { watchFleet(a, 31); press(a, "c", "j", "j") }},
		{"flat", usual, func(a *app) { watchFleet(a, 31); press(a, "w") }},
		{"header", usual, func(a *app) { watchFleet(a, 31); press(a, "k") }},
	} {
		for _, s := range c.sizes {
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

func TestFoldsByDefault(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 31)
	wantTitles(
		t, a, "at first",
		"▾deploy/server", "6bf978ccb4-m2m2q", "▸ 39 healthy,med",
		"▾ds/web", "x7wqp", "b8k2n", "q44zd", "zz81s", "m6h8r", "▸ 3 healthy,med",
		"▾deploy/checkout", "79c4d5f6b8-hq2lw", "79c4d5f6b8-zk8fm", "79c4d5f6b8-w9xbd", "58d7f9c6d4-p5jgr", "▸ 8 healthy,med",
		"▸deploy/search", "▸deploy/cart", "▸sts/redis",
	)
	if r := a.chosen(); r == nil || r.pod.Meta.Name != "server-6bf978ccb4-m2m2q" {
		t.Errorf("the worst pod is not selected: %q", a.selected)
	}
}

// Of many pods with the same verdict three are shown, the others are one line.
func TestEqualVerdictsFold(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(10, 5)
	for i := range 9 {
		severity := model.SeverityWarning
		if i == 8 {
			severity = model.SeverityCritical
		}
		s.Pods[i].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: severity}}
	}
	deliver(a, s)
	wantTitles(t, a, "eight alike", "▾deploy/pod", "1008", "1000", "1001", "1002", "▸ 5 more burst-overflow,med", "1009")
	selectLine(t, a, "▸ 5 more burst-overflow,med")
	press(a, "enter")
	wantTitles(
		t, a, "unfolded", "▾deploy/pod", "1008", "1000", "1001", "1002",
		"▾ 5 more burst-overflow,med", "1003", "1004", "1005", "1006", "1007", "1009",
	)
}

func TestFoldKeys(t *testing.T) {
	a := screen(t, 120, 40)
	deliver(a, many(4, 5))
	for _, step := range []struct {
		key, selected string
		want          []string
	}{
		{"g", "deploy/pod", []string{"▸deploy/pod"}},
		{"right", "deploy/pod", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"right", "▸ 4 healthy,med", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"l", "▾ 4 healthy,med", []string{"▾deploy/pod", "▾ 4 healthy,med", "1000", "1001", "1002", "1003"}},
		{"G", "1003", []string{"▾deploy/pod", "▾ 4 healthy,med", "1000", "1001", "1002", "1003"}},
		{"left", "▸ 4 healthy,med", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"h", "deploy/pod", []string{"▸deploy/pod"}},
		{"h", "deploy/pod", []string{"▸deploy/pod"}},
		{"enter", "deploy/pod", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"enter", "deploy/pod", []string{"▸deploy/pod"}},
		{"w", "pod-1000", []string{"pod-1000", "pod-1001", "pod-1002", "pod-1003"}},
		{"left", "pod-1000", []string{"pod-1000", "pod-1001", "pod-1002", "pod-1003"}},
		{"w", "deploy/pod", []string{"▸deploy/pod"}},
	} {
		press(a, step.key)
		wantTitles(t, a, step.key, step.want...)
		l := a.at(a.index())
		if got := orElse(l.kind == groupLine, l.group.nameOr(), a.lineName(l)); got != step.selected {
			t.Errorf("after %s %q is selected, want %q", step.key, got, step.selected)
		}
	}
	press(a, "w", "right")
	if a.page != detailPage {
		t.Error("→ on a pod does not open its page")
	}
}

func (g *group) nameOr() string {
	if g == nil {
		return ""
	}
	return g.name
}

// The selection stays with its pod: a pod that becomes well, and a workload whose
// last ill pod does, are not folded away from under it.
func TestSelectionIsNotFoldedAway(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(4, 1)
	s.Pods[2].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
	deliver(a, s)
	wantTitles(t, a, "one is ill", "▾deploy/pod", "1002", "▸ 3 healthy,med")
	selectLine(t, a, "1002")
	deliver(a, many(4, 20))
	wantTitles(t, a, "it is well", "▾deploy/pod", "▸ 4 healthy,med", "1002")
	if a.selected != "uid-pod-1002" {
		t.Errorf("selected %q", a.selected)
	}
	press(a, "g")
	deliver(a, many(4, 40))
	wantTitles(t, a, "it is left", "▸deploy/pod")
}

// Between two sorts nothing moves: a pod that falls ill leaves its fold with the
// next one.
func TestFoldsKeepTheirPlaces(t *testing.T) {
	a := screen(t, 120, 40)
	deliver(a, many(4, 1))
	ill := func(n int) model.Snapshot {
		s := many(4, n)
		s.Pods[2].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
		return s
	}
	deliver(a, ill(4))
	wantTitles(t, a, "after 3 s", "▸deploy/pod")
	if v := a.View(); !strings.Contains(v, "4 pods: W1 ok3") {
		t.Errorf("the header does not count it at once:\n%s", v)
	}
	deliver(a, ill(7))
	wantTitles(t, a, "after 6 s", "▾deploy/pod", "1002", "▸ 3 healthy,med")
}

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
	if a.narrowed() {
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
	at(4, 10, tea.MouseButtonWheelDown)
	if a.scroll.YOffset != wheelStep {
		t.Errorf("the page is scrolled by %d", a.scroll.YOffset)
	}
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

func TestHeldFor(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		longer  bool
		want    string
	}{
		{0, false, "0s"}, {38.4, false, "38s"}, {99.4, false, "99s"}, {240, false, "4m"}, {372, true, ">6m"},
		{5939, true, ">99m"}, {7200, false, "2h"}, {400000, true, ">5d"}, {1e12, false, "99d"},
	} {
		v := &model.Verdict{Held: model.Known(c.seconds), Longer: c.longer}
		if got := heldFor(v); got != c.want || ansi.StringWidth(got) > 4 {
			t.Errorf("%v s: %q, want %q", c.seconds, got, c.want)
		}
	}
	if got := heldFor(&model.Verdict{}); got != "" {
		t.Errorf("unknown: %q", got)
	}
}

func TestCompactQueue(t *testing.T) {
	for _, c := range []struct {
		depth, limit int64
		width        int
		want         string
	}{
		{129, 128, 9, "129/128"}, {12300, 65535, 9, "12k/65k"}, {4096, 4096, 9, "4096/4096"}, {4096, 4096, 7, "4k/4k"}, {1234567, 2000000, 9, "1.2M/2.0M"},
		{1234567, 2000000, 7, "1M/2M"},
	} {
		if got := compactQueue(socket(1, c.depth, c.limit, 0), c.width); got != c.want {
			t.Errorf("%d/%d in %d: %q, want %q", c.depth, c.limit, c.width, got, c.want)
		}
	}
	if got := compactQueue(model.Socket{Limit: known(65535)}, 6); got != "?/65k" {
		t.Errorf("unknown depth: %q", got)
	}
}

func TestNodeNames(t *testing.T) {
	for _, c := range []struct {
		names      []string
		head, tail int
	}{
		{[]string{"node-a"}, 0, 0},
		{[]string{"gke-pool-7-21", "gke-pool-7-22", "gke-pool-3-1"}, 9, 0},
		{[]string{"ip-10-0-3-52.eu.internal", "ip-10-0-4-1.eu.internal"}, 8, 12},
		{[]string{"a", "a-b"}, 0, 0},
		{[]string{"", "x"}, 0, 0},
		{[]string{"x.y.z", "x.y.z"}, 4, 0},
	} {
		if head, tail := shared(c.names); head != c.head || tail != c.tail {
			t.Errorf("%q share %d and %d, want %d and %d", c.names, head, tail, c.head, c.tail)
		}
	}
}
