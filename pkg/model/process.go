package model

import (
	"fmt"
	"math"
)

// Process is what the threads of a container do, read without privilege by a
// probe that shares its process namespace.
type Process struct {
	// Container whose first process it is; PID as the probe sees it.
	Container string `json:"container,omitempty"`
	PID       int    `json:"pid,omitempty"`
	// Name of the process (comm, up to 15 bytes of anything).
	Name string `json:"name,omitempty"`
	// Uptime is the pod's own clock when the threads were read, every few ticks.
	Uptime Value[float64] `json:"uptime"`
	// Threads are at most a hundred; OmittedThreads is how many more there were.
	Threads        []Thread `json:"threads,omitempty"`
	OmittedThreads int      `json:"omittedThreads,omitempty"`
	// Children are the processes that descend from it (a server's workers that it
	// forks); empty where the kernel does not tell them. Their threads are among
	// Threads. OmittedChildren is how many more there were.
	Children        []Child `json:"children,omitempty"`
	OmittedChildren int     `json:"omittedChildren,omitempty"`
	// Seconds between the two readings that CPU and Wait of the threads are from.
	Seconds Value[float64] `json:"seconds"`
	// CPU is the use of all threads of the process and its children in cores, those
	// that ended meanwhile included; Wait the time they together could run but did
	// not get a CPU, in seconds per second: throttling by the CPU limit is part of
	// it. What a thread waited that ended between the readings is not in it.
	CPU  Value[float64] `json:"cpu"`
	Wait Value[float64] `json:"wait"`
	// CPUsAllowed is how many CPUs it may run on (Cpus_allowed_list): the node's
	// unless a CPU set says otherwise.
	CPUsAllowed Value[int64] `json:"cpusAllowed"`
	// CPULimit of the container in cores; unknown where it has none.
	CPULimit Value[float64] `json:"cpuLimit"`
	// OpenFDs needs the process's own user and group; MaxFDs (the soft limit) does
	// not.
	OpenFDs Value[int64] `json:"openFDs"`
	MaxFDs  Value[int64] `json:"maxFDs"`
}

// Child is a process that descends from a Process.
type Child struct {
	PID    int `json:"pid"`
	Parent int `json:"parent"`
	// Name of the process (comm, up to 15 bytes of anything).
	Name string `json:"name"`
	// Title is what it says that it is for: "nginx: worker"; empty for most.
	Title string `json:"title,omitempty"`
}

// Thread is one thread of a Process or of its children.
type Thread struct {
	TID int `json:"tid"`
	// PID of the process that it belongs to.
	PID  int    `json:"pid,omitempty"`
	Name string `json:"name"`
	// State is the kernel's letter: R runs or could, S sleeps, D waits for a
	// device, T is stopped; empty when it was not read.
	State string `json:"state"`
	// CPU is its use in cores, 0 to 1; Wait the share of the time in which it
	// could run and did not get a CPU, 0 to 1. Both over Process.Seconds.
	CPU  Value[float64] `json:"cpu"`
	Wait Value[float64] `json:"wait"`
	// Wchan is the kernel function it sleeps in: inet_csk_accept, ep_poll.
	Wchan Value[string] `json:"wchan"`
}

// UnknownProcess is a process of which nothing is known, for the given reason.
func UnknownProcess(reason string) Process {
	i, f := Unknown[int64](reason), Unknown[float64](reason)
	return Process{Uptime: f, Seconds: f, CPU: f, Wait: f, CPUsAllowed: i, CPULimit: Unknown[float64](ReasonNoCPULimit), OpenFDs: i, MaxFDs: i}
}

// ProcessReading is one reading of a process: counters since it began.
type ProcessReading struct {
	Container string
	// Gone says that the process was not there; nothing else is known then.
	Gone bool
	PID  int
	Name string
	// Uptime is the pod's clock in seconds when it was read.
	Uptime Value[float64]
	// Start is when it began, in ticks of 1/100 s since boot: with the PID it is
	// what identifies a process. Ticks is the CPU time in the same unit, of all
	// threads it ever had.
	Start, Ticks Value[int64]
	// ChildTicks is the CPU time of its children that ended and that it has waited
	// for, and of theirs.
	ChildTicks                   Value[int64]
	CPUsAllowed, OpenFDs, MaxFDs Value[int64]
	Threads                      []ThreadReading
	// Omitted is how many threads were not read.
	Omitted int
	// Children are the processes that descend from it and were read;
	// OmittedChildren is how many were not.
	Children        []ChildReading
	OmittedChildren int
}

// ChildReading is one reading of a process that descends from the target; its
// threads are among the target's.
type ChildReading struct {
	PID, Parent int
	Name, Title string
	// Start, Ticks and ChildTicks as in ProcessReading.
	Start, Ticks, ChildTicks Value[int64]
}

// ThreadReading is one reading of a thread.
type ThreadReading struct {
	// PID is the process that it belongs to; 0 where that is not known.
	TID, PID    int
	Name, State string
	// Start and Ticks as in ProcessReading.
	Start, Ticks Value[int64]
	// RunNS is the time on a CPU in nanoseconds, WaitNS the time it could run but
	// did not get one.
	RunNS, WaitNS Value[int64]
	Wchan         Value[string]
}

const (
	// ticksPerSecond is USER_HZ, which is 100 on every platform of Go's.
	ticksPerSecond = 100
	// minReadingGap is the shortest time between two readings that rates are
	// taken from, in seconds: the clock has steps of 0.01.
	minReadingGap = 0.5
)

// ReasonProcessGone is why nothing is known of a target that is not there.
const ReasonProcessGone = "the target's process is not there (any more): its container ended or has restarted since the probe began"

// ReasonNoCPULimit is why a limit is unknown where nobody looked for one or
// there is none.
const ReasonNoCPULimit = "no CPU limit is known"

// ProcessBetween is what a process did between an earlier reading, if there is
// one, and cur. Counters of another process or thread of the same number, and
// those that went backwards, give no figure.
func ProcessBetween(prev *ProcessReading, cur ProcessReading) Process {
	if cur.Gone {
		p := UnknownProcess(ReasonProcessGone)
		p.Container = cur.Container
		return p
	}
	p := Process{
		Container: cur.Container, PID: cur.PID, Name: cur.Name, Uptime: cur.Uptime, OmittedThreads: cur.Omitted, OmittedChildren: cur.OmittedChildren,
		CPUsAllowed: cur.CPUsAllowed, OpenFDs: cur.OpenFDs, MaxFDs: cur.MaxFDs,
		CPULimit: Unknown[float64](ReasonNoCPULimit),
		Seconds:  readingGap(prev, cur),
	}
	for _, c := range cur.Children {
		p.Children = append(p.Children, Child{PID: c.PID, Parent: c.Parent, Name: c.Name, Title: c.Title})
	}
	seconds, ok := p.Seconds.Get()
	if !ok {
		p.CPU, p.Wait = Unknown[float64](p.Seconds.Reason()), Unknown[float64](p.Seconds.Reason())
		for _, t := range cur.Threads {
			p.Threads = append(p.Threads, t.thread(p.CPU, p.Wait))
		}
		return p
	}
	before := make(map[int]ThreadReading, len(prev.Threads))
	for _, t := range prev.Threads {
		before[t.TID] = t
	}
	for _, t := range cur.Threads {
		old, known := before[t.TID]
		if why := differentThread(old, known, t); why != "" {
			p.Threads = append(p.Threads, t.thread(Unknown[float64](why), Unknown[float64](why)))
			continue
		}
		p.Threads = append(p.Threads, t.thread(threadCPU(old, t, seconds), share(old.WaitNS, t.WaitNS, 1e9, seconds)))
	}
	p.CPU = totalCPU(prev, cur, seconds)
	p.Wait = totalWait(prev, cur, seconds)
	return p
}

// readingGap is the time between two readings of the same process.
func readingGap(prev *ProcessReading, cur ProcessReading) Value[float64] {
	switch {
	case prev == nil || prev.Gone:
		return Unknown[float64]("the threads were read only once so far")
	case prev.PID != cur.PID || prev.Start != cur.Start:
		return Unknown[float64]("another process since the reading before")
	}
	from, ok0 := prev.Uptime.Get()
	to, ok1 := cur.Uptime.Get()
	switch {
	case !ok0 || !ok1:
		return Unknown[float64]("the pod's clock was not read")
	case to-from < minReadingGap:
		return Unknown[float64]("too little time between the two readings")
	}
	return Known(math.Round((to-from)*100) / 100) // the clock's own steps
}

// thread is a reading with the figures of the time before it.
func (t ThreadReading) thread(cpu, wait Value[float64]) Thread {
	return Thread{TID: t.TID, PID: t.PID, Name: t.Name, State: t.State, CPU: cpu, Wait: wait, Wchan: t.Wchan}
}

// differentThread says why a thread cannot be compared with the one that had its
// number before.
func differentThread(old ThreadReading, known bool, t ThreadReading) string {
	switch {
	case !known:
		return "not among the threads of the reading before"
	case !old.Start.IsKnown() || !t.Start.IsKnown():
		return "it is unknown when the thread began"
	case old.Start != t.Start:
		return "another thread had this number in the reading before"
	}
	return ""
}

// threadCPU takes schedstat, which is exact, and else the ticks of stat.
func threadCPU(old, t ThreadReading, seconds float64) Value[float64] {
	if old.RunNS.IsKnown() && t.RunNS.IsKnown() {
		return share(old.RunNS, t.RunNS, 1e9, seconds)
	}
	return share(old.Ticks, t.Ticks, ticksPerSecond, seconds)
}

// rate is the growth of a counter, which has so many units a second, in seconds
// per second.
func rate(old, now Value[int64], units, seconds float64) Value[float64] {
	n, ok := Growth(old, now).Get()
	if !ok {
		return Unknown[float64](Growth(old, now).Reason())
	}
	return Known(float64(n) / units / seconds)
}

// share is a rate of one thread: the readings of clock and counter are not one,
// so that it may come out a little above 1.
func share(old, now Value[int64], units, seconds float64) Value[float64] {
	v := rate(old, now, units, seconds)
	if x, ok := v.Get(); ok {
		return Known(min(x, 1))
	}
	return v
}

// totalWait adds up the threads. One that is new has waited in this time
// whatever it has waited at all.
func totalWait(prev *ProcessReading, cur ProcessReading, seconds float64) Value[float64] {
	if n := max(prev.Omitted, cur.Omitted); n > 0 {
		return Unknown[float64](fmt.Sprintf("%d of its threads were not read", n))
	}
	if len(cur.Threads) == 0 {
		return Unknown[float64]("none of its threads was read")
	}
	before := make(map[int]ThreadReading, len(prev.Threads))
	for _, t := range prev.Threads {
		before[t.TID] = t
	}
	var sum float64
	for _, t := range cur.Threads {
		from := Known[int64](0)
		switch old, known := before[t.TID]; {
		case known && old.Start == t.Start:
			from = old.WaitNS
		case !bornSince(t.Start, prev):
			return Unknown[float64]("a thread is missing in the reading before")
		}
		v := rate(from, t.WaitNS, 1e9, seconds)
		x, ok := v.Get()
		if !ok {
			return Unknown[float64](v.Reason())
		}
		sum += x
	}
	return Known(sum)
}
