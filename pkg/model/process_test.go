package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// near says that a value is known and what was expected, within 0.005.
func near(v Value[float64], want float64) bool {
	got, ok := v.Get()
	return ok && math.Abs(got-want) < 0.005
}

// Two recorded readings of a process, 2.1 s apart: its main thread sleeps, one
// waits in accept, and one burns CPU.
func recordedReadings() (prev, cur ProcessReading) {
	thread := func(tid int, name, state string, start, ticks, run, wait int64, wchan Value[string]) ThreadReading {
		return ThreadReading{TID: tid, Name: name, State: state, Start: Known(start), Ticks: Known(ticks), RunNS: Known(run), WaitNS: Known(wait), Wchan: wchan}
	}
	sleeps, accepts := Known("hrtimer_nanosleep"), Known("inet_csk_accept")
	awake := Unknown[string]("it did not sleep")
	process := func(uptime float64, ticks int64, threads ...ThreadReading) ProcessReading {
		return ProcessReading{
			Container: "app", PID: 20451, Name: "my server", Uptime: Known(uptime), Start: Known[int64](1281624), Ticks: Known(ticks),
			CPUsAllowed: Known[int64](2), OpenFDs: Known[int64](6), MaxFDs: Known[int64](20000), Threads: threads,
		}
	}
	prev = process(
		12817.34, 83,
		thread(20451, "my server", "S", 1281624, 13, 139641928, 29372207, sleeps),
		thread(20499, "acceptor", "S", 1281658, 0, 265830, 57120, accepts),
		thread(20500, "spinner", "R", 1281658, 70, 701691018, 62482942, awake),
	)
	cur = process(
		12819.44, 283,
		thread(20451, "my server", "S", 1281624, 13, 139641928, 29372207, sleeps),
		thread(20499, "acceptor", "S", 1281658, 0, 265830, 57120, accepts),
		thread(20500, "spinner", "R", 1281658, 269, 2695113940, 176469637, awake),
	)
	return prev, cur
}

func TestProcessBetweenRecordedReadings(t *testing.T) {
	prev, cur := recordedReadings()
	p := ProcessBetween(&prev, cur)
	if !near(p.Seconds, 2.1) || !near(p.CPU, 0.952) || !near(p.Wait, 0.054) {
		t.Errorf("seconds %v CPU %v wait %v", p.Seconds, p.CPU, p.Wait)
	}
	if p.Container != "app" || p.PID != 20451 || p.CPUsAllowed != Known[int64](2) || p.OpenFDs != Known[int64](6) || p.MaxFDs != Known[int64](20000) {
		t.Errorf("process %+v", p)
	}
	idle, accept, burns := p.Threads[0], p.Threads[1], p.Threads[2]
	if idle.CPU != Known(0.0) || idle.Wait != Known(0.0) || accept.Wchan != Known("inet_csk_accept") {
		t.Errorf("%+v, %+v", idle, accept)
	}
	if !near(burns.CPU, 0.949) || !near(burns.Wait, 0.054) || burns.State != "R" || burns.Wchan.IsKnown() {
		t.Errorf("%+v", burns)
	}
}

// The CPU of recorded servers: one that its quota holds to a tenth of a core, one
// that never stops, and one that does nothing any more.
func TestProcessCPUOfRecordedServers(t *testing.T) {
	for name, limits := range map[string][2]float64{"throttled": {0.065, 0.11}, "saturated": {0.7, 1.05}, "dead-accept": {0, 0.005}} {
		text, err := os.ReadFile("testdata/ticks/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var prev *ProcessReading
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			var row struct {
				T            float64 `json:"t_ms"`
				PID          int     `json:"pid"`
				Utime, Stime int64
			}
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			cur := ProcessReading{PID: row.PID, Uptime: Known(row.T / 1000), Ticks: Known(row.Utime + row.Stime)}
			cpu, ok := ProcessBetween(prev, cur).CPU.Get()
			if ok != (prev != nil) || ok && (cpu < limits[0] || cpu > limits[1]) {
				t.Errorf("%s at %.0f ms: %.3f (known %v), want %v", name, row.T, cpu, ok, limits)
			}
			prev = &cur
		}
	}
}

// Whatever cannot be compared is unknown with a reason: never negative, never 0.
func TestProcessBetweenIncomparable(t *testing.T) {
	tests := map[string]struct {
		change func(prev, cur *ProcessReading)
		// why the CPU of the process and of its last thread are unknown; "" when known
		process, thread string
	}{
		"another process": {
			change:  func(_, cur *ProcessReading) { cur.PID++ },
			process: "another process since the reading before", thread: "another process since the reading before",
		},
		"another process of the same number": {
			change:  func(_, cur *ProcessReading) { cur.Start = Known[int64](1290000) },
			process: "another process since the reading before", thread: "another process since the reading before",
		},
		"no time between": {
			change:  func(prev, cur *ProcessReading) { cur.Uptime = prev.Uptime },
			process: "too little time between the two readings", thread: "too little time between the two readings",
		},
		"the clock went back": {
			change:  func(_, cur *ProcessReading) { cur.Uptime = Known(5.0) },
			process: "too little time between the two readings", thread: "too little time between the two readings",
		},
		"no clock": {
			change:  func(_, cur *ProcessReading) { cur.Uptime = Unknown[float64]("x") },
			process: "the pod's clock was not read", thread: "the pod's clock was not read",
		},
		"the target was not there before": {
			change:  func(prev, _ *ProcessReading) { *prev = ProcessReading{Gone: true} },
			process: "the threads were read only once so far", thread: "the threads were read only once so far",
		},
		"a new thread": {
			change: func(prev, _ *ProcessReading) { prev.Threads = prev.Threads[:2] },
			thread: "not among the threads of the reading before",
		},
		"another thread of the same number": {
			change: func(_, cur *ProcessReading) { cur.Threads[2].Start = Known[int64](1281800) },
			thread: "another thread had this number in the reading before",
		},
		"no start": {
			change: func(_, cur *ProcessReading) { cur.Threads[2].Start = Unknown[int64]("x") },
			thread: "it is unknown when the thread began",
		},
		"a thread's counter went backwards": {
			change: func(_, cur *ProcessReading) { cur.Threads[2].RunNS = Known[int64](1) },
			thread: "the counter went backwards",
		},
		"the process's counter went backwards": {
			change:  func(_, cur *ProcessReading) { cur.Ticks = Known[int64](1) },
			process: "the counter went backwards",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			prev, cur := recordedReadings()
			tt.change(&prev, &cur)
			p := ProcessBetween(&prev, cur)
			last := p.Threads[2].CPU
			if p.CPU.Reason() != tt.process || last.Reason() != tt.thread {
				t.Errorf("process %q, thread %q; want %q and %q", p.CPU.Reason(), last.Reason(), tt.process, tt.thread)
			}
			if p.CPU.IsKnown() != (tt.process == "") || last.IsKnown() != (tt.thread == "") {
				t.Errorf("process %+v, thread %+v", p.CPU, last)
			}
		})
	}
}

// Without schedstat a thread's CPU comes from its ticks, and its wait is unknown.
func TestProcessThreadWithoutSchedstat(t *testing.T) {
	prev, cur := recordedReadings()
	cur.Threads[2].RunNS, cur.Threads[2].WaitNS = Unknown[int64]("not kept"), Unknown[int64]("not kept")
	p := ProcessBetween(&prev, cur)
	if th := p.Threads[2]; !near(th.CPU, 0.948) || th.Wait.Reason() != "not kept" {
		t.Errorf("%+v", th)
	}
	if p.Wait.IsKnown() || p.Wait.Reason() != "not kept" {
		t.Errorf("wait %+v", p.Wait)
	}
}

// The shares of one thread never exceed 1, though clock and counter are not read
// at the same instant.
func TestProcessShareIsAtMostOne(t *testing.T) {
	prev, cur := recordedReadings()
	cur.Threads[2].RunNS = Known[int64](701691018 + 2_110_000_000)
	if got := ProcessBetween(&prev, cur).Threads[2].CPU; got != Known(1.0) {
		t.Errorf("%+v", got)
	}
}

func TestProcessTotalWait(t *testing.T) {
	tests := map[string]struct {
		change func(prev, cur *ProcessReading)
		want   float64
		why    string
	}{
		"a thread that began meanwhile has waited all it ever waited": {
			change: func(_, cur *ProcessReading) {
				cur.Threads = append(cur.Threads, ThreadReading{TID: 9, Start: Known[int64](1281800), WaitNS: Known[int64](210_000_000)})
			},
			want: 0.154,
		},
		"a thread that is missing before": {
			change: func(prev, _ *ProcessReading) { prev.Threads = prev.Threads[:2] },
			why:    "a thread is missing in the reading before",
		},
		"threads that were left out": {
			change: func(_, cur *ProcessReading) { cur.Omitted = 20 },
			why:    "20 of its threads were not read",
		},
		"none was read": {
			change: func(_, cur *ProcessReading) { cur.Threads = nil },
			why:    "none of its threads was read",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			prev, cur := recordedReadings()
			tt.change(&prev, &cur)
			got := ProcessBetween(&prev, cur).Wait
			if tt.why != "" && got.Reason() != tt.why || tt.why == "" && !near(got, tt.want) {
				t.Errorf("%+v, want %v %q", got, tt.want, tt.why)
			}
		})
	}
}

func TestProcessGone(t *testing.T) {
	prev, _ := recordedReadings()
	p := ProcessBetween(&prev, ProcessReading{Container: "app", Gone: true})
	if p.Container != "app" || p.CPU.Reason() != ReasonProcessGone || p.OpenFDs.Reason() != ReasonProcessGone || len(p.Threads) > 0 {
		t.Errorf("%+v", p)
	}
}
