package render

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0.0s", 0.42: "0.4s", 9.96: "10.0s", 10.9: "10s", 372: "6m12s", 3600: "1h0m", 90061: "25h1m", -1: Unknown, 1e300: Unknown} {
		if got := Seconds(model.Known(s)); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
	if got := Seconds(model.Unknown[float64]("x")); got != Unknown {
		t.Error(got)
	}
}

func TestWaitingWords(t *testing.T) {
	unknown := model.Unknown[float64]("x")
	connections := func(ages ...float64) (list []model.Connection) {
		for _, a := range ages {
			list = append(list, model.Connection{Waited: model.Known(a)})
		}
		return list
	}
	callers := []model.Caller{
		{Address: "10.0.0.5", Connections: 94, Pod: model.Known("shop/web\x1b[31m")},
		{Address: "10.0.0.9", Connections: 3},
		{Address: "10.0.0.6", Connections: 2},
		{Address: "10.0.0.7", Connections: 1},
	}
	for _, tt := range []struct {
		w                          model.Waiting
		waiting, standstill, lists string
	}{
		{
			model.Waiting{Connections: connections(3, 372.9), Omitted: 98, Stuck: model.Known[int64](100), Since: model.Known(70.0), Uptime: model.Known(100.0), Callers: callers},
			"100 wait, the oldest ≥ 6m12s", "the same 100 for 30s", "94 from shop/web\\x1b[31m (10.0.0.5), 3 from 10.0.0.9, 3 from 2 others, 98 that were not looked at",
		},
		{
			model.Waiting{Connections: connections(0.5), Stuck: model.Known[int64](0), Since: unknown, Uptime: model.Known(100.0), Callers: callers[1:]},
			"1 wait, the oldest ≥ 0.5s", "all others than the time before", "3 from 10.0.0.9, 2 from 10.0.0.6, 1 from 1 other",
		},
		{
			model.Waiting{Connections: []model.Connection{{Waited: unknown}}, Stuck: model.Known[int64](1), Since: unknown, Uptime: model.Known(100.0)},
			"1 wait", "1 of them already the time before", "",
		},
		{model.Waiting{Stuck: model.Unknown[int64]("x"), Since: unknown}, "0 wait", "", ""},
	} {
		if got := Waiting(tt.w); got != tt.waiting {
			t.Errorf("%q, want %q", got, tt.waiting)
		}
		if got := Standstill(tt.w); got != tt.standstill {
			t.Errorf("%q, want %q", got, tt.standstill)
		}
		if got := Callers(tt.w, 2); got != tt.lists {
			t.Errorf("%q, want %q", got, tt.lists)
		}
	}
}

func TestThreadState(t *testing.T) {
	for letter, want := range map[string]string{"R": "runs", "S": "sleeps", "D": "device", "T": "stopped", "t": "stopped", "Z": "ended", "I": "idle", "": Unknown, "P": "P"} {
		if got := ThreadState(letter); got != want {
			t.Errorf("%q: %q, want %q", letter, got, want)
		}
	}
}
