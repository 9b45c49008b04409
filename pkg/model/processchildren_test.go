package model

import (
	"strings"
	"testing"
)

// family is a reading of a master that does nothing, and of its children, at a
// time in seconds. Times of the CPU are in hundredths of a second.
func family(uptime float64, waitedFor int64, children ...ChildReading) ProcessReading {
	r := ProcessReading{
		PID: 1, Name: "nginx", Uptime: Known(uptime), Start: Known[int64](1000), Ticks: Known[int64](10), ChildTicks: Known(waitedFor),
		CPUsAllowed: Known[int64](4), Children: children,
	}
	r.Threads = append(r.Threads, threadOf(1, 1, 1000, 0))
	for _, c := range children {
		r.Threads = append(r.Threads, threadOf(c.PID, c.PID, c.Start.Or(0), c.Ticks.Or(0)*10_000_000))
	}
	return r
}

// threadOf has waited for a CPU half as long as it ran.
func threadOf(tid, pid int, start, run int64) ThreadReading {
	return ThreadReading{
		TID: tid, PID: pid, Name: "nginx", State: "S", Start: Known(start), Ticks: Known(run / 10_000_000),
		RunNS: Known(run), WaitNS: Known(run / 2),
	}
}

func child(pid int, start, ticks int64) ChildReading {
	return ChildReading{PID: pid, Parent: 1, Name: "nginx", Title: "nginx: worker", Start: Known(start), Ticks: Known(ticks), ChildTicks: Known[int64](0)}
}

func TestProcessBetweenAddsUpTheChildren(t *testing.T) {
	for _, c := range []struct {
		name      string
		prev, cur ProcessReading
		cpu, wait Value[float64]
	}{
		{
			"two workers", family(100, 0, child(7, 2000, 1000), child(8, 2000, 5000)), family(104, 0, child(7, 2000, 1200), child(8, 2000, 5100)),
			Known(0.75), Known(0.375),
		},
		{
			// What 7 used before it ended at 1100 is known of its parent alone.
			"a worker was restarted", family(100, 0, child(7, 2000, 1000), child(8, 2000, 0)), family(104, 1100, child(8, 2000, 100), child(9, 10200, 40)),
			Known(0.6), Known(0.175),
		},
		{
			"another worker has the number of one that ended", family(100, 0, child(7, 2000, 1000)), family(104, 1000, child(7, 10200, 40)),
			Known(0.1), Known(0.05),
		},
		{
			"one that nobody waited for takes along what it used", family(100, 0, child(7, 2000, 1000)), family(104, 0),
			Known(0.0), Known(0.0),
		},
		{
			"children that came and went", family(100, 0, child(7, 2000, 0)), family(104, 200, child(7, 2000, 0)),
			Known(0.5), Known(0.0),
		},
		{
			"a worker that the reading before had missed", family(100, 0), family(104, 0, child(7, 2000, 1000)),
			Unknown[float64]("process 7 is missing in the reading before"), Unknown[float64]("a thread is missing in the reading before"),
		},
		{
			"one with a life of its own ended unseen", family(100, 0, child(8, 2000, 0)), family(104, 360000, child(8, 2000, 0)),
			Unknown[float64]("a child process ended that the reading before had missed"), Known(0.0),
		},
		{
			"a kernel that does not tell of children", family(100, 0), family(104, 360000),
			Known(0.0), Known(0.0),
		},
		{
			"a counter of a child went back", family(100, 0, child(7, 2000, 1000)), family(104, 0, child(7, 2000, 999)),
			Unknown[float64]("process 7: the counter went backwards"), Unknown[float64]("the counter went backwards"),
		},
	} {
		p := ProcessBetween(&c.prev, c.cur)
		if p.CPU != c.cpu || p.Wait != c.wait {
			t.Errorf("%s: CPU %v (%s) wait %v (%s), want %v and %v", c.name, p.CPU, p.CPU.Reason(), p.Wait, p.Wait.Reason(), c.cpu, c.wait)
		}
	}
}

func TestProcessBetweenSaysWhoseThreadsAre(t *testing.T) {
	prev, cur := family(100, 0, child(7, 2000, 1000)), family(104, 0, child(7, 2000, 1200))
	p := ProcessBetween(&prev, cur)
	if len(p.Children) != 1 || p.Children[0] != (Child{PID: 7, Parent: 1, Name: "nginx", Title: "nginx: worker"}) {
		t.Errorf("children %+v", p.Children)
	}
	if len(p.Threads) != 2 || p.Threads[1].PID != 7 || p.Threads[1].CPU != Known(0.5) || p.Threads[0].PID != 1 {
		t.Errorf("threads %+v", p.Threads)
	}
}

// Not a sum of some.
func TestProcessCPUWithChildrenLeftOutIsUnknown(t *testing.T) {
	prev, cur := family(100, 0, child(7, 2000, 1000)), family(104, 0, child(7, 2000, 1200))
	cur.OmittedChildren = 3
	p := ProcessBetween(&prev, cur)
	if p.CPU.IsKnown() || !strings.Contains(p.CPU.Reason(), "3 of its child processes") || p.OmittedChildren != 3 {
		t.Errorf("%+v", p)
	}
}
