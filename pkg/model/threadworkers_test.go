package model

import "testing"

func TestBusyOfThreads(t *testing.T) {
	thread := func(cpu, wait float64) Thread { return Thread{CPU: Known(cpu), Wait: Known(wait)} }
	for _, c := range []struct {
		name    string
		workers [][]Thread
		want    Value[float64]
	}{
		{"one of two is busy", [][]Thread{{thread(0.75, 0.25)}, {thread(0, 0)}}, Known(0.5)},
		{"waiting for a CPU counts: it could not serve either", [][]Thread{{thread(0.25, 0.5)}}, Known(0.75)},
		{"a worker is one, whatever its threads do", [][]Thread{{thread(0.75, 0), thread(0.75, 0)}, {thread(0.5, 0)}}, Known(0.75)},
		{"none", nil, Unknown[float64]("no worker was found")},
		{"a worker without threads", [][]Thread{{thread(0.5, 0)}, nil}, Unknown[float64]("the threads of a worker were not read")},
		{"a new one", [][]Thread{{thread(0.5, 0)}, {{CPU: Unknown[float64]("new"), Wait: Known(0.0)}}}, Unknown[float64]("a worker's CPU time: new")},
		{"no schedstat", [][]Thread{{{CPU: Known(0.5), Wait: Unknown[float64]("none")}}}, Unknown[float64]("a worker's wait for a CPU: none")},
	} {
		if got := BusyOfThreads(c.workers); got != c.want {
			t.Errorf("%s: %v (%s), want %v", c.name, got, got.Reason(), c.want)
		}
	}
}
