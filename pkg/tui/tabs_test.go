package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// pageOf is a screen with the page of a pod open, after half a minute.
func pageOf(t testing.TB, width, height int, pod string, keys ...string) *app {
	t.Helper()
	a := screen(t, width, height)
	a.poller.ctx = t.Context()
	watchJudged(a, 31)
	for key, r := range a.rows {
		if strings.HasPrefix(r.pod.Meta.Name, pod) {
			a.page, a.detail = detailPage, key
		}
	}
	if a.page != detailPage {
		t.Fatalf("no pod %s", pod)
	}
	a.layout()
	press(a, keys...)
	return a
}

// Each tab at each size, of a pod that has something to show there.
func TestViewTabs(t *testing.T) {
	for _, c := range []struct {
		key, name, pod string
	}{
		{"1", "verdict", "checkout"}, {"2", "queues", "checkout"}, {"3", "workers", "server"},
		{"4", "config", "search"}, {"5", "events", "server"}, {"6", "raw", "checkout"},
	} {
		for _, s := range []struct{ width, height int }{{40, 12}, {80, 24}, {120, 40}, {200, 50}} {
			name := fmt.Sprintf("tab-%s-%dx%d.txt", c.name, s.width, s.height)
			t.Run(name, func(t *testing.T) { goldenView(t, name, pageOf(t, s.width, s.height, c.pod, c.key)) })
		}
	}
}

// Pods of other kinds, on the tab where they differ.
func TestViewTabsOfOthers(t *testing.T) {
	for _, c := range []struct{ pod, key string }{
		{"redis", "2"}, {"exporter", "2"}, {"oldkernel", "2"}, {"fresh", "2"}, {"redis", "3"}, {"exporter", "3"},
		{"server", "1"}, {"search", "1"}, {"noimage", "1"}, {"fresh", "1"}, {"old-", "1"}, {"cut-off", "1"}, {"redis", "4"}, {"noimage", "4"},
	} {
		name := fmt.Sprintf("tab-%s-%s-80x24.txt", c.key, strings.Trim(c.pod, "-"))
		t.Run(name, func(t *testing.T) { goldenView(t, name, pageOf(t, 80, 24, c.pod, c.key)) })
	}
	for _, key := range []string{"2", "3"} {
		name := fmt.Sprintf("tab-%s-stuck-80x50.txt", key)
		t.Run(name, func(t *testing.T) {
			a := detailOf(t, 80, 50, stuckPod())
			press(a, key)
			goldenView(t, name, a)
		})
	}
}

// Keys go from tab to tab, in a ring; esc and backspace go back to the list.
func TestTabKeys(t *testing.T) {
	a := pageOf(t, 80, 24, "checkout")
	for _, c := range []struct {
		key  string
		want tab
	}{
		{"tab", queuesTab}, {"right", workersTab}, {"l", configTab}, {"shift+tab", workersTab}, {"left", queuesTab}, {"h", verdictTab}, {"h", rawTab},
		{"tab", verdictTab}, {"4", configTab}, {"6", rawTab}, {"1", verdictTab}, {"5", eventsTab}, {"2", queuesTab}, {"3", workersTab},
	} {
		press(a, c.key)
		if got := a.openPage().tab; got != c.want || !strings.Contains(a.View(), fmt.Sprintf("[%d %s]", c.want+1, c.want.title())) {
			t.Errorf("%s opens %s, want %s", c.key, got.title(), c.want.title())
		}
	}
	for _, key := range []string{"esc", "backspace"} {
		a.page = detailPage
		if press(a, key); a.page != listPage {
			t.Errorf("%s does not leave the page", key)
		}
	}
}

// Whoever comes back to a pod finds its page as it was: tab and place.
func TestPagesAreKept(t *testing.T) {
	a := pageOf(t, 80, 12, "checkout", "4", "down", "down", "down")
	if a.scroll.YOffset != 3 {
		t.Fatalf("scrolled by %d", a.scroll.YOffset)
	}
	first := a.View()
	press(a, "1")
	if a.scroll.YOffset != 0 {
		t.Errorf("another tab is scrolled by %d", a.scroll.YOffset)
	}
	press(a, "4", "?", "esc")
	if a.View() != first {
		t.Errorf("after help it is another:\n%s", a.View())
	}
	key := a.detail
	press(a, "esc")
	a.detail, a.page = "uid-redis-0", detailPage
	a.layout()
	press(a, "2", "esc")
	a.detail, a.page = key, detailPage
	a.layout()
	if a.View() != first {
		t.Errorf("it is another:\n%s\nwant\n%s", a.View(), first)
	}
}

// A pod that is gone keeps its page; at a moment of the past when it was not there it
// has none.
func TestPageOfADeletedPod(t *testing.T) {
	a := pageOf(t, 80, 24, "checkout", "2")
	s := everyKind(32)
	s.Pods = s.Pods[:1]
	deliver(a, s)
	if v := a.View(); !strings.Contains(v, "out:4140") || !strings.Contains(v, "gone, kept as last seen") {
		t.Errorf("the page is gone too:\n%s", v)
	}
	a.moment = moment{snapshot: s, held: true}
	deliver(a, model.Snapshot{Seq: 33, Time: second(33)})
	if v := a.View(); strings.Contains(v, "out:4140") || !strings.Contains(v, "was not there") {
		t.Errorf("figures of another time:\n%s", v)
	}
}

// Lines are made when something changes, and not for every key.
func TestTabsAreDrawnOnce(t *testing.T) {
	a := pageOf(t, 80, 24, "checkout", "4")
	a.scroll.SetContent("kept")
	press(a, "down", "up")
	if !strings.Contains(a.View(), "kept") {
		t.Error("made anew without a reason")
	}
	deliver(a, everyKind(32))
	if strings.Contains(a.View(), "kept") {
		t.Error("a new snapshot does not show")
	}
}
