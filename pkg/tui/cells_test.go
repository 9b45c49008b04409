package tui

import (
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestHeldFor(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		longer  bool
		want    string
	}{
		{0, false, "0s"},
		{38.4, false, "38s"},
		{99.4, false, "99s"},
		{240, false, "4m"},
		{372, true, ">6m"},
		{5939, true, ">99m"},
		{7200, false, "2h"},
		{400000, true, ">5d"},
		{1e12, false, "99d"},
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
		{129, 128, 9, "129/128"},
		{12300, 65535, 9, "12k/65k"},
		{4096, 4096, 9, "4096/4096"},
		{4096, 4096, 7, "4k/4k"},
		{1234567, 2000000, 9, "1.2M/2.0M"},
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

func TestListenerWord(t *testing.T) {
	for _, c := range []struct {
		role    model.Role
		port    uint16
		sockets int
		width   int
		want    string
	}{
		{model.RoleInbound, 4143, 1, 8, "in:4143"},
		{model.RoleInbound, 4143, 1, 7, "i4143"},
		{model.RoleApp, 6379, 4, 8, "a6379×4"},
		{model.RoleApp, 6379, 4, 13, "app:6379×4"},
		{model.RoleAdmin, 4191, 1, 8, "adm:4191"},
		{model.RoleAdmin, 4191, 1, 7, "ad4191"},
		{model.RoleAdmin, 15021, 1, 7, "ad15021"},
		{model.RoleApp, 8080, 1, 7, "a8080"},
	} {
		r := &row{has: true, pod: &model.Pod{}, listener: model.Listener{Role: c.role, Port: c.port, Sockets: make([]model.Socket, c.sockets)}}
		if got := listenerWord(r, c.width); got != c.want || ansi.StringWidth(got) > c.width {
			t.Errorf("%s:%d ×%d in %d columns is %q, want %q", c.role, c.port, c.sockets, c.width, got, c.want)
		}
	}
}

// Once there is a mark the column counts from it.
func TestSinceColumnCountsFromTheMark(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 10)
	since := func() string { s, _ := a.sinceWord(a.rows["uid-server-6bf978ccb4-m2m2q"]); return s }
	if got := since(); got != "5140" {
		t.Errorf("since the namespace began %q", got)
	}
	press(a, "m")
	deliver(a, fleet(15))
	if got := since(); got != "+70" {
		t.Errorf("since the mark %q", got)
	}
	s := fleet(16)
	s.Pods[0].Counters.ListenOverflows = known(5140 + 23456)
	deliver(a, s)
	if got := since(); got != "+23k" {
		t.Errorf("many since the mark: %q", got)
	}
	press(a, "M")
	if got := since(); got != "28.6k" {
		t.Errorf("without a mark %q", got)
	}
}
