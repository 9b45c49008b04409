package tui

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// keys gives the keys of the visible lines.
func keys(a *app) []string {
	var list []string
	for _, l := range a.visible {
		list = append(list, l.key)
	}
	return list
}

// names gives the names of the visible pods, up to their first hyphen.
func names(a *app) string {
	var list []string
	for _, l := range a.visible {
		if l.kind == podLine {
			name, _, _ := strings.Cut(l.row.pod.Meta.Name, "-")
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

func TestSortCycles(t *testing.T) {
	a := flat(t, 120, 40)
	watch(a, 31)
	for _, want := range []string{
		"checkout server oldkernel web web search cut exporter noimage fresh old idle redis", // worst
		"checkout cut exporter fresh idle noimage old oldkernel redis search server web web", // name
		"checkout server oldkernel idle old redis search web web cut exporter fresh noimage", // overflows
		"web server checkout cut idle old oldkernel search web exporter fresh noimage redis", // busy
		"server web redis checkout cut idle search web exporter fresh noimage old oldkernel", // depth
		"checkout server oldkernel web web search cut exporter noimage fresh old idle redis", // worst again
	} {
		if got := names(a); got != want {
			t.Errorf("by %s:\n got %s\nwant %s", a.orders[a.orderAt].name, got, want)
		}
		press(a, "s")
	}
	press(a, "r") // by name, backwards
	if got := names(a); !strings.HasPrefix(got, "web web server") {
		t.Errorf("reversed: %s", got)
	}
}

// Rows keep their places for five seconds, then the worst pod comes first.
func TestRowsKeepTheirPlaces(t *testing.T) {
	a := flat(t, 80, 24)
	at := func(n int, bad bool) {
		s := many(3, n)
		if bad {
			s.Pods[2].Window.Overflows = known(9)
		}
		deliver(a, s)
	}
	at(1, false)
	at(5, true)
	if got := a.index(); a.visible[2].key != "uid-pod-1002" || got != 0 {
		t.Errorf("rows moved after 4 s: %v", a.visible)
	}
	at(6, true)
	if a.visible[0].key != "uid-pod-1002" {
		t.Errorf("rows did not move after 5 s: %v", a.visible)
	}
	if a.selected != "uid-pod-1002" {
		t.Errorf("a selection that was never moved left the first row for %s", a.selected)
	}
}

// While the first frames come in, the worst pod comes first at once.
func TestFirstFramesAreSortedAtOnce(t *testing.T) {
	a := flat(t, 80, 24)
	s := many(3, 1)
	for i := range s.Pods {
		s.Pods[i].Collection.Stage = model.StageWaiting
	}
	deliver(a, s)
	s = many(3, 2)
	s.Pods[2].Window.Overflows = known(9)
	deliver(a, s)
	if a.visible[0].key != "uid-pod-1002" {
		t.Errorf("the first frames leave the order at %v", a.visible)
	}
}

// Once moved, the selection stays with its pod wherever that goes.
func TestSelectionFollowsThePod(t *testing.T) {
	a := flat(t, 80, 24)
	deliver(a, many(5, 1))
	press(a, "down", "j")
	if a.selected != "uid-pod-1002" {
		t.Fatalf("selected %s", a.selected)
	}
	s := many(5, 10)
	s.Pods[4].Window.Overflows = known(1)
	deliver(a, s)
	if a.selected != "uid-pod-1002" || a.index() != 3 {
		t.Errorf("selected %s in place %d", a.selected, a.index())
	}
	s = many(5, 11)
	s.Pods = slices.Delete(s.Pods, 2, 3)
	deliver(a, s)
	if a.selected != "uid-pod-1003" {
		t.Errorf("its pod is gone: selected %q, want the next one", a.selected)
	}
	deliver(a, model.Snapshot{Seq: 12, Time: noon.Add(12 * time.Second)})
	press(a, "enter", "down", "pgdown", "G", "g")
	fits(t, a)
}

// New pods go to the end until the next sort; pods that left leave at once.
func TestPodsComeAndGo(t *testing.T) {
	a := flat(t, 80, 24)
	deliver(a, many(3, 1))
	s := many(3, 2)
	fresh := pod("aaa", 2)
	s.Pods = append([]model.Pod{fresh}, s.Pods[1:]...)
	deliver(a, s)
	if want := []string{"uid-pod-1001", "uid-pod-1002", "uid-aaa"}; !slices.Equal(keys(a), want) {
		t.Errorf("visible %v, want %v", keys(a), want)
	}
}

func TestScrolling(t *testing.T) {
	a := flat(t, 80, 24)
	deliver(a, many(100, 1))
	rows := a.listHeight()
	for _, step := range []struct {
		key             string
		selected, first int
	}{
		{"down", 1, 0},
		{"pgdown", rows, 1},
		{"G", 99, 100 - rows},
		{"up", 98, 100 - rows},
		{"pgup", 99 - rows, 99 - rows},
		{"g", 0, 0},
		{"up", 0, 0},
		{"jjj", 3, 0}, // typed faster than they are read
	} {
		press(a, step.key)
		if a.index() != step.selected || a.top != step.first {
			t.Errorf("after %s: row %d selected, %d first; want %d, %d", step.key, a.index(), a.top, step.selected, step.first)
		}
	}
	if !strings.Contains(a.View(), "1-17 of 100") {
		t.Errorf("the footer does not say how many rows there are:\n%s", a.View())
	}
	press(a, "G")
	a.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	if i := a.index(); i < a.top || i >= a.top+a.listHeight() {
		t.Errorf("row %d is selected, rows %d to %d are shown", i, a.top, a.top+a.listHeight())
	}
}

func TestFilter(t *testing.T) {
	a := screen(t, 120, 40)
	watch(a, 31)
	for filter, want := range map[string]string{
		"WEB":         "web web",
		"web sat":     "web",
		"6379":        "redis",
		"overflowing": "checkout server oldkernel",
		"shop/redis":  "redis",
		"node-b":      "",
	} {
		press(a, "esc", "/")
		a.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(filter), Paste: true})
		if got := names(a); got != want {
			t.Errorf("filter %q gives %q, want %q", filter, got, want)
		}
	}
	press(a, "esc")
	if got := a.podsShown(); got != 13 {
		t.Errorf("%d rows after esc", got)
	}
}

// Keys of the list are text while a filter is typed; ctrl-c is not.
func TestTypingAFilter(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 3)
	press(a, "/", "q", "p", "s")
	if a.filter.Value() != "qps" || !a.paused.IsZero() || a.orderAt != 0 {
		t.Errorf("typed %q, paused %v, sorted by %d", a.filter.Value(), a.paused, a.orderAt)
	}
	_, cmd := a.Update(keyNamed("ctrl+c"))
	if _, ok := cmd().(tea.InterruptMsg); !ok {
		t.Error("ctrl-c does not interrupt")
	}
}

func TestPauseKeepsTheScreen(t *testing.T) {
	a := screen(t, 120, 40)
	watch(a, 20)
	press(a, "p")
	rows := func() string { return strings.Join(a.listLines(), "\n") }
	before := rows()
	for i := 21; i <= 40; i++ {
		deliver(a, everyKind(i))
		a.Update(clockMsg{seq: a.ticks, at: noon.Add(time.Duration(i) * time.Second)})
	}
	if rows() != before {
		t.Error("the rows of a paused screen changed")
	}
	if v := a.View(); !strings.Contains(v, "PAUSED 12:00:20Z") || !strings.Contains(v, "12:00:40Z") {
		t.Errorf("the header does not say since when it is paused:\n%s", v)
	}
	press(a, "p")
	if rows() == before || a.shown.Seq != 40 {
		t.Error("the screen does not go on")
	}
	if n := len(a.timeline.Track("uid-web-x7wqp").Points()); n != 40 {
		t.Errorf("%d points: the history has a gap", n)
	}
}

// A Source that fails leaves the rows where they are, says so, and is asked again.
func TestSourceError(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 3)
	before := keys(a)
	_, cmd := a.Update(snapshotMsg{seq: a.polls, err: errors.New("listing pods: \x1b[31mconnection refused"), at: noon.Add(4 * time.Second)})
	if cmd == nil {
		t.Error("the Source is not asked again")
	}
	goldenView(t, "error-80x24.txt", a)
	if diff := cmp.Diff(before, keys(a)); diff != "" {
		t.Errorf("the rows changed:\n%s", diff)
	}
	deliver(a, everyKind(5))
	if strings.Contains(a.View(), "refused") {
		t.Error("the error stays after the Source has recovered")
	}
}

func TestSourceEnds(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 3)
	_, cmd := a.Update(snapshotMsg{seq: a.polls, err: io.EOF, at: noon})
	if cmd != nil {
		t.Error("a Source that has ended is asked again")
	}
	if !strings.Contains(a.View(), "has ended") {
		t.Errorf("not said:\n%s", a.View())
	}
}

// What arrives late is dropped: only the answer that is waited for counts.
func TestLateMessagesAreDropped(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 3)
	if _, cmd := a.Update(snapshotMsg{seq: a.polls - 1, snapshot: many(1, 9), at: noon}); cmd != nil || len(a.rows) != 13 {
		t.Error("a late snapshot was taken")
	}
	if _, cmd := a.Update(clockMsg{seq: a.ticks + 1, at: noon.Add(time.Hour)}); cmd != nil || a.now.After(noon.Add(time.Minute)) {
		t.Error("a tick that nobody waits for was taken")
	}
}

// The clock makes figures old although nothing arrives.
func TestFiguresGrowOld(t *testing.T) {
	a := flat(t, 80, 24)
	deliver(a, many(1, 1))
	if v := a.View(); strings.Contains(v, "stale") {
		t.Errorf("stale at once:\n%s", v)
	}
	a.Update(clockMsg{seq: a.ticks, at: noon.Add(9 * time.Second)})
	if v := a.View(); !strings.Contains(v, "stale 8s") || !strings.Contains(v, "lag 8.4s") {
		t.Errorf("not stale after 8 s:\n%s", v)
	}
}

// Old figures stay out of the total: nobody knows whether they still hold.
func TestTotalLeavesOldFiguresOut(t *testing.T) {
	a := screen(t, 120, 24)
	s := many(2, 5)
	for i := range s.Pods {
		s.Pods[i].Window.Seconds, s.Pods[i].Window.Overflows = model.Known(10.0), known(int64(20*(i+1)))
	}
	deliver(a, s)
	if v := a.View(); !strings.Contains(v, "ovf 6.0/s") {
		t.Errorf("no total of 2 and 4 a second:\n%s", v)
	}
	s.Pods[1].Collection.Stage = model.StageStale
	deliver(a, s)
	if v := a.View(); !strings.Contains(v, "ovf 2.0/s") {
		t.Errorf("the stale pod's 4 a second are in the total:\n%s", v)
	}
}

func TestHelpReturns(t *testing.T) {
	a := screen(t, 80, 24)
	watch(a, 3)
	press(a, "enter", "?")
	if a.page != helpPage {
		t.Fatal("no help page")
	}
	press(a, "?")
	if a.page != detailPage {
		t.Error("help does not return to the page it was opened from")
	}
	press(a, "esc")
	if a.page != listPage {
		t.Error("esc does not leave the detail page")
	}
}

// The detail page of a pod that vanishes says so.
func TestNamespacesAreShownWhereThereAreSeveral(t *testing.T) {
	a := flat(t, 120, 24)
	s := many(2, 1)
	s.Pods[1].Meta.Namespace = "other"
	deliver(a, s)
	if v := a.View(); !strings.Contains(v, "other/pod-1001") || !strings.Contains(v, "shop/pod-1000") {
		t.Errorf("no namespaces:\n%s", v)
	}
}

// Whatever a kubelet, a proxy or a name says, the terminal must not obey it.
func TestHostileStringsAreShownNotObeyed(t *testing.T) {
	a := screen(t, 200, 100)
	s := everyKind(1)
	s.Notes, s.Problems = []string{evil}, []string{evil}
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Meta.Name, p.Meta.Namespace, p.Node, p.Phase = evil, evil, evil, evil
		p.Workload = model.Workload{Kind: evil, Name: evil}
		p.Proxy = model.Proxy{Adapter: evil, Container: evil, Version: model.Known(evil)}
		p.Collection.Message, p.Collection.Metrics, p.Collection.Probe, p.Collection.Via = evil, evil, evil, model.Rung(evil)
		p.Notes = []string{evil}
		p.Raw = []model.RawText{{Name: evil, Text: evil + "\n" + evil}}
		p.Runtime.OpenFDs = model.Unknown[int64](evil)
		p.Knobs = append(p.Knobs, model.Knob{
			Name: evil, Asked: known(1), InForce: known(2), Why: evil, SeenBy: evil,
			Chain: []model.Origin{{Where: evil, Name: evil, Value: evil, Note: evil}}, Remedy: model.Remedy{Where: evil, Name: evil, Form: evil},
		})
		for j := range p.Listeners {
			l := &p.Listeners[j]
			l.Address, l.Interface, l.Role = evil, evil, model.Role(evil)
			l.Sockets = append(l.Sockets, l.Sockets[0])
			l.Sockets[0].Owners = []model.Owner{{Name: evil}}
			l.Sockets[0].Drops = model.Unknown[int64](evil)
		}
	}
	a.title = evil
	deliver(a, s)
	fits(t, a)
	for range s.Pods {
		press(a, "enter")
		for _, tab := range []string{"1", "2", "3", "4", "5", "6", "x"} {
			press(a, tab)
			fits(t, a)
		}
		press(a, "esc", "down")
	}
	a.Update(snapshotMsg{seq: a.polls, err: errors.New(evil), at: noon})
	fits(t, a)
}

// Colour only repeats words: without it the very same text is on the screen.
func TestColourAddsNoText(t *testing.T) {
	plain := screen(t, 200, 50)
	watch(plain, 31)
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.TrueColor)
	coloured := newApp(Options{Title: plain.title, Now: plain.poller.now}, plain.poller, r)
	coloured.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	watch(coloured, 31)
	for _, key := range []string{"down", "enter", "?"} {
		press(plain, key)
		press(coloured, key)
		view := coloured.View()
		if view == plain.View() {
			t.Errorf("after %s there is no colour", key)
		}
		if diff := cmp.Diff(plain.View(), ansi.Strip(view)); diff != "" {
			t.Errorf("after %s the coloured screen says something else:\n%s", key, diff)
		}
	}
}
