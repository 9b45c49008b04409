package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// readProcess judges a process by its threads.
func (f *facts) readProcess(w *workers, from, to int) {
	t := f.threads(from, to)
	f.processFDs(w)
	if t.readings == 0 {
		w.unknown = append(w.unknown, "what the threads do: "+cmp.Or(f.last.Process.CPU.Reason(), "not read"))
		return
	}
	w.stopped, w.sleepsIn = t.stopped, t.sleepsIn
	cpu, ok := t.cpu.Get()
	if !ok {
		w.unknown = append(w.unknown, "the threads' CPU time: "+cmp.Or(t.cpu.Reason(), "not read twice"))
		return
	}
	w.cpu, w.wait, w.seconds = t.cpu, t.wait, t.seconds
	wait, waitKnown := t.wait.Get()
	want := max(cpu+wait, t.running) // cores wanted: used, waited for, or by the states
	w.limit = f.last.Process.CPULimit
	limit, limited := w.limit.Get()
	// Without run-queue wait, how often a thread was found runnable says the same,
	// when all threads were read, and often enough.
	whole := waitKnown || t.readings >= minSamples && t.omitted == 0
	if whole || want >= busyEnough && want >= starvedFactor*cpu {
		w.starved = answerOf(want >= busyEnough && want >= starvedFactor*cpu)
	} else {
		w.unknown = append(w.unknown, "whether the threads wait for a CPU: "+cmp.Or(f.last.Process.Wait.Reason(), "run-queue wait was not read"))
	}
	if limited && limit > 0 && cpu >= limitReached*limit && cpu < threadSaturated {
		w.starved = yes // its limit is less than one busy thread
	}
	most := model.Unknown[float64]("")
	if n, ok := f.last.Process.CPUsAllowed.Get(); ok {
		most = model.Known(float64(n))
	}
	if limited && limit < most.Or(limit+1) {
		most = model.Known(limit)
	}
	w.saturated = answerOf(t.busiest >= threadSaturated || most.IsKnown() && cpu >= limitReached*most.Or(0))
	if !whole && w.saturated == no {
		w.saturated = open
	} else if whole {
		w.asleep = answerOf(want < idleBusy)
		w.headroom = answerOf(want < busyEnough || t.busiest >= 0 && t.busiest < busyEnough && !(most.IsKnown() && cpu >= busyEnough*most.Or(0)))
	}
	if n, ok := f.workersByThreads().Get(); ok && !w.count.IsKnown() {
		w.count = model.Known(n)
	}
	text := fmt.Sprintf("%s cores used", ratio(cpu))
	if n := len(f.last.Process.Children); n > 0 {
		text += fmt.Sprintf(", those of %d child processes included", n)
	}
	if waitKnown {
		text += fmt.Sprintf(", %s s per second waited for a CPU", ratio(wait))
	}
	if limited {
		text += ", CPU limit " + ratio(limit)
	}
	if t.runningSeen > 0 {
		text += fmt.Sprintf(", runnable in %.0f %% of %d readings", t.runningShare*100, t.readings)
	}
	if t.sleepsIn != "" {
		text += ", sleeps in " + t.sleepsIn
	}
	if t.stopped {
		text += ", a thread is stopped (state T)"
	}
	w.words = append(w.words, model.Evidence{
		Name: "threads", Text: text, Figure: t.cpu, Unit: "cores", Window: model.Known(t.seconds), Source: "/proc stat, schedstat",
	})
}

// workersByThreads is the number of a server's workers where its threads and child
// processes tell it; a sidecar's is another matter.
func (f *facts) workersByThreads() model.Value[int64] {
	for i := range f.last.Knobs {
		if k := &f.last.Knobs[i]; k.Name == "workers" && !f.last.Proxy.Sidecar {
			return k.InForce
		}
	}
	return model.Unknown[int64]("nothing tells which threads are workers")
}

// threadFacts are means over the readings of a span.
type threadFacts struct {
	readings, omitted     int
	cpu, wait             model.Value[float64]
	seconds               float64
	busiest               float64 // CPU of the busiest thread, in cores; -1 unknown
	running, runningShare float64 // mean number of runnable threads; share of readings with any
	runningSeen           int
	stopped               bool
	sleepsIn              string
}

func (f *facts) threads(from, to int) threadFacts {
	t := threadFacts{cpu: model.Unknown[float64](""), wait: model.Unknown[float64](""), busiest: -1}
	var cpu, cpuTime, wait, waitTime, running float64
	var busiest map[int]float64
	last := model.Unknown[float64]("")
	for i := from; i <= to; i++ {
		p := &f.samples[i].Process
		// The reading before the span tells of the time before it.
		if !p.Uptime.IsKnown() || p.Uptime == last || len(p.Threads) == 0 || i == from && from > 0 {
			continue
		}
		last = p.Uptime
		t.readings++
		t.omitted = max(t.omitted, p.OmittedThreads)
		n := 0
		t.stopped = false
		for j := range p.Threads {
			th := &p.Threads[j]
			switch th.State {
			case "R":
				n++
			case "T", "t":
				t.stopped = true
			}
		}
		running += float64(n)
		if n > 0 {
			t.runningSeen++
		}
		s, ok := p.Seconds.Get()
		if !ok {
			continue
		}
		if x, ok := p.CPU.Get(); ok {
			cpu, cpuTime = cpu+x*s, cpuTime+s
		}
		if x, ok := p.Wait.Get(); ok {
			wait, waitTime = wait+x*s, waitTime+s
		}
		for j := range p.Threads {
			if x, ok := p.Threads[j].CPU.Get(); ok {
				if busiest == nil {
					busiest = make(map[int]float64, len(p.Threads))
				}
				busiest[p.Threads[j].TID] += x * s
			}
		}
	}
	if t.readings == 0 {
		return t
	}
	t.running = running / float64(t.readings)
	t.runningShare = float64(t.runningSeen) / float64(t.readings)
	t.seconds = cpuTime
	if cpuTime > 0 {
		t.cpu = model.Known(cpu / cpuTime)
		for _, x := range busiest {
			t.busiest = max(t.busiest, x/cpuTime)
		}
	}
	if waitTime > 0 {
		t.wait = model.Known(wait / waitTime)
	}
	t.sleepsIn = sleepsIn(f.last.Process.Threads)
	return t
}

// sleepsIn names the kernel functions that the threads sleep in, at most three.
func sleepsIn(threads []model.Thread) string {
	var names []string
	for i := range threads {
		if w, ok := threads[i].Wchan.Get(); ok && w != "" && !slices.Contains(names, w) && len(names) < 3 {
			names = append(names, w)
		}
	}
	return strings.Join(names, ", ")
}
