package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// answer to a question that may be open.
type answer int8

const (
	open answer = iota
	yes
	no
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// workers are the facts of those who accept from a listener and serve what they
// accepted: the proxy's runtime, or the threads of a process.
type workers struct {
	// busy 0 to 1 of all workers; cpu in cores; wait for a CPU in seconds per second.
	busy, cpu, wait model.Value[float64]
	count           model.Value[int64]
	seconds         float64
	// saturated: they do all they can. starved: they want CPU that they do not get.
	// headroom: neither. asleep: they do next to nothing.
	saturated, starved, headroom, asleep answer
	// fdsFull: no descriptor is left. runtimeStalled in seconds, 0 for no.
	fdsFull        answer
	fdsWords       string
	fdsSeconds     float64
	runtimeStalled float64
	stopped        bool // threads are stopped (state T): SIGSTOP, a debugger
	sleepsIn       string
	words          []model.Evidence
	unknown        []string
}

func (w *workers) evidence(*facts) []model.Evidence { return w.words }

// workersOf are those of a listener, over its span.
func (f *facts) workersOf(l *listener) *workers {
	w := &workers{
		busy: model.Unknown[float64]("not read"), cpu: model.Unknown[float64]("not read"),
		wait: model.Unknown[float64]("not read"), count: model.Unknown[int64]("not read"),
	}
	proxied := f.last.Proxy.Adapter != ""
	ofProxy := proxied && l.role != "" && l.role != model.RoleApp
	processIsProxy := f.last.Process.Container != "" && f.last.Process.Container == f.last.Proxy.Container
	switch {
	case ofProxy:
		f.readRuntime(w, l.spanFrom, l.spanTo)
		if processIsProxy {
			f.readProcess(w, l.spanFrom, l.spanTo)
		}
	case !proxied || !processIsProxy:
		f.readProcess(w, l.spanFrom, l.spanTo)
	default:
		w.unknown = append(w.unknown, "what the app's threads do: the probe shares the proxy's process namespace, not the app's")
	}
	if !proxied && f.last.Runtime.Workers.IsKnown() {
		f.readRuntime(w, l.spanFrom, l.spanTo)
	}
	w.conclude()
	return w
}

// conclude: whoever is starved is not saturated, and headroom is neither.
func (w *workers) conclude() {
	if w.starved == yes {
		w.saturated, w.headroom, w.asleep = no, no, no
	}
	if w.saturated == yes {
		w.headroom, w.asleep = no, no
	}
}

// readRuntime judges a proxy's workers between two observed refreshes.
func (f *facts) readRuntime(w *workers, from, to int) {
	f.runtimeFDs(w)
	begin, end := f.refreshes(from, to)
	if s, ok := f.last.Runtime.Window.Stalled.Get(); ok && s >= model.StallSeconds {
		w.runtimeStalled = s
	}
	w.runtimeStalled = max(w.runtimeStalled, f.stalledInside(from, to))
	if begin < 0 {
		w.unknown = append(w.unknown, "the proxy's busy ratio: "+orWords(f.last.Runtime.BusySeconds.Reason(), "no two refreshes of its metrics in the time judged"))
		return
	}
	got := model.BusyBetween(&f.samples[begin].Runtime, &f.samples[end].Runtime)
	busy, ok := got.Busy.Get()
	if !ok {
		w.unknown = append(w.unknown, "the proxy's busy ratio: "+got.Busy.Reason())
		return
	}
	w.busy, w.cpu, w.count = got.Busy, got.CPU, f.samples[end].Runtime.Workers
	w.seconds = got.Seconds.Or(0)
	n := float64(w.count.Or(1))
	parksStill := got.Parks.IsKnown() && got.Parks.Or(1) == 0 && got.Polls.Or(0) > 0
	parksKnown := got.Parks.IsKnown() && got.Polls.IsKnown()
	// Idle proxies read a ratio of next to nothing over CPU of nothing: only busy
	// ones can be starved.
	if cpu, ok := got.CPU.Get(); ok && w.seconds >= spanSeconds-0.5 {
		w.starved = answerOf(busy >= busyEnough && busy*n >= starvedFactor*cpu)
	}
	if w.seconds >= spanSeconds-0.5 {
		w.saturated = answerOf(busy >= busySaturated || busy >= busyEnough && parksStill)
		w.headroom = answerOf(busy < busySaturated && !parksStill || busy < busyEnough)
		w.asleep = answerOf(busy < idleBusy)
	}
	if w.starved == open && w.saturated == yes {
		w.unknown = append(w.unknown, "the proxy's CPU time, which tells saturated from starved: "+orWords(got.CPU.Reason(), "not read"))
	}
	text := fmt.Sprintf("%s in force, busy %s over %s", num(w.count.Or(0)), ratio(busy), secs(w.seconds))
	switch {
	case parksStill:
		text += ", never parked"
	case parksKnown:
		text += ", still parking"
	}
	if got.Clamped {
		text += " (a long poll was booked late)"
	}
	w.words = append(w.words, model.Evidence{
		Name: "workers", Text: text, Figure: model.Known(busy), Unit: "ratio", Window: got.Seconds, Source: "tokio_rt",
	})
	if cpu, ok := got.CPU.Get(); ok {
		text := ratio(cpu) + " cores used of " + num(w.count.Or(0)) + " workers' worth"
		if lim, ok := f.h.CPULimit.Get(); ok {
			text += ", CPU limit " + ratio(lim)
		}
		w.words = append(w.words, model.Evidence{
			Name: "CPU", Text: text, Figure: model.Known(cpu), Unit: "cores", Window: got.Seconds, Source: "process_cpu_seconds_total",
		})
	}
}

// refreshes finds the first and last observed refresh between two samples, of
// the process that runs at the end; -1 when there are not two.
func (f *facts) refreshes(from, to int) (begin, end int) {
	begin, end = -1, -1
	previous := -1
	for i := from; i <= to; i++ {
		r := &f.samples[i].Runtime
		if !r.BusySeconds.IsKnown() {
			continue
		}
		if previous >= 0 {
			p := &f.samples[previous].Runtime
			switch {
			case p.Start != r.Start || r.BusySeconds.Or(0) < p.BusySeconds.Or(0):
				begin, end = -1, -1 // another process
			case r.Refreshed(p) && begin < 0:
				begin = i
			case r.Refreshed(p):
				end = i
			}
		}
		previous = i
	}
	if end < 0 {
		return -1, -1
	}
	return begin, end
}

// stalledInside is the longest time, by the proxy's own clock, in which its
// figures stood still between two refreshes or since the last.
func (f *facts) stalledInside(from, to int) float64 {
	var longest float64
	still := -1
	for i := from; i <= to; i++ {
		r := &f.samples[i].Runtime
		if !r.BusySeconds.IsKnown() || !r.Clock.IsKnown() {
			still = -1
			continue
		}
		if still < 0 || r.Start != f.samples[still].Runtime.Start || r.Refreshed(&f.samples[still].Runtime) {
			still = i
			continue
		}
		longest = max(longest, r.Clock.Or(0)-f.samples[still].Runtime.Clock.Or(0))
	}
	if longest < model.StallSeconds {
		return 0
	}
	return longest
}

// runtimeFDs: a proxy out of descriptors cannot read /proc, so that the lines it
// takes from there are missing on a page that is otherwise good.
func (f *facts) runtimeFDs(w *workers) {
	since, vanished, seen := -1, 0, false
	for i := range f.samples {
		r := &f.samples[i].Runtime
		if open, ok := r.OpenFDs.Get(); ok {
			if most, ok := r.MaxFDs.Get(); ok && most > 0 {
				seen = true
				if float64(open) >= fdReached*float64(most) {
					vanished++
					if since < 0 {
						since = i
					}
					w.fdsWords = fmt.Sprintf("%s of %s descriptors open", num(open), num(most))
					continue
				}
				since, vanished = -1, 0
				w.fdsWords = fmt.Sprintf("%s of %s descriptors open", num(open), num(most))
			}
			continue
		}
		if r.Start.IsKnown() && r.Clock.IsKnown() && !r.CPUSeconds.IsKnown() && !r.MaxFDs.IsKnown() && r.BusySeconds.IsKnown() {
			vanished++
			if since < 0 {
				since = i
			}
			w.fdsWords = "the lines that the proxy reads from /proc are missing on an otherwise good page, which needs a free descriptor"
		}
	}
	switch {
	case vanished >= 2:
		w.fdsFull, w.fdsSeconds = yes, f.at(len(f.samples)-1)-f.at(since)
	case vanished == 0 && seen:
		w.fdsFull = no
	}
}

// readProcess judges a process by its threads.
func (f *facts) readProcess(w *workers, from, to int) {
	t := f.threads(from, to)
	f.processFDs(w)
	if t.readings == 0 {
		w.unknown = append(w.unknown, "what the threads do: "+orWords(f.last.Process.CPU.Reason(), "not read"))
		return
	}
	w.stopped, w.sleepsIn = t.stopped, t.sleepsIn
	cpu, ok := t.cpu.Get()
	if !ok {
		w.unknown = append(w.unknown, "the threads' CPU time: "+orWords(t.cpu.Reason(), "not read twice"))
		return
	}
	w.cpu, w.wait, w.seconds = t.cpu, t.wait, t.seconds
	wait, waitKnown := t.wait.Get()
	want := max(cpu+wait, t.running) // cores wanted: used, waited for, or by the states
	limit, limited := f.h.CPULimit.Get()
	// Without run-queue wait, how often a thread was found runnable says the same,
	// when all threads were read, and often enough.
	whole := waitKnown || t.readings >= minSamples && t.omitted == 0
	if whole || want >= busyEnough && want >= starvedFactor*cpu {
		w.starved = answerOf(want >= busyEnough && want >= starvedFactor*cpu)
	} else {
		w.unknown = append(w.unknown, "whether the threads wait for a CPU: "+orWords(f.last.Process.Wait.Reason(), "run-queue wait was not read"))
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
	text := fmt.Sprintf("%s cores used", ratio(cpu))
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

// processFDs: accept fails with EMFILE when the descriptors reach the limit.
func (f *facts) processFDs(w *workers) {
	full, since := 0, -1
	for i := range f.samples {
		p := &f.samples[i].Process
		n, ok0 := p.OpenFDs.Get()
		most, ok1 := p.MaxFDs.Get()
		if !ok0 || !ok1 || most <= 0 {
			continue
		}
		w.fdsFull = no
		w.fdsWords = fmt.Sprintf("%s of %s descriptors open", num(n), num(most))
		if float64(n) < fdReached*float64(most) {
			full, since = 0, -1
			continue
		}
		if full++; since < 0 {
			since = i
		}
	}
	if full >= 2 {
		w.fdsFull, w.fdsSeconds = yes, f.at(len(f.samples)-1)-f.at(since)
	}
	if w.fdsFull == open {
		w.unknown = append(w.unknown, "open descriptors: "+orWords(f.last.Process.OpenFDs.Reason(), "they need the process's own user and group"))
	}
}
