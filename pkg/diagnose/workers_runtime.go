package diagnose

import (
	"cmp"
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// readRuntime judges a proxy's workers between two observed refreshes.
func (f *facts) readRuntime(w *workers, from, to int) {
	f.runtimeFDs(w)
	w.limit = f.last.Proxy.CPULimit
	begin, end := f.refreshes(from, to)
	if s, ok := f.last.Runtime.Window.Stalled.Get(); ok && s >= model.StallSeconds {
		w.runtimeStalled = s
	}
	w.runtimeStalled = max(w.runtimeStalled, f.stalledInside(from, to))
	if begin < 0 {
		w.unknown = append(w.unknown, "the proxy's busy ratio: "+cmp.Or(f.last.Runtime.BusySeconds.Reason(), "no two refreshes of its metrics in the time judged"))
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
		w.unknown = append(w.unknown, "the proxy's CPU time, which tells saturated from starved: "+cmp.Or(got.CPU.Reason(), "not read"))
	}
	f.pollDelay(w, got, &f.samples[begin].Runtime, &f.samples[end].Runtime)
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
		Name: "workers", Text: text, Figure: model.Known(busy), Unit: "ratio", Window: got.Seconds, Source: f.runtimeSource(),
	})
	if cpu, ok := got.CPU.Get(); ok {
		text := ratio(cpu) + " cores used of " + num(w.count.Or(0)) + " workers' worth"
		if lim, ok := w.limit.Get(); ok {
			text += ", CPU limit " + ratio(lim)
		}
		w.words = append(w.words, model.Evidence{
			Name: "CPU", Text: text, Figure: model.Known(cpu), Unit: "cores", Window: got.Seconds, Source: f.runtimeSource(),
		})
	}
}

// pollDelay looks at the time that events waited for their worker's loop, for
// proxies that do not tell their CPU time. A throttled Envoy read a busy ratio of
// 0.20 with full queues, a stopped one 0.02: what it waits is in neither. So a low
// busy ratio clears nobody's CPU here.
func (f *facts) pollDelay(w *workers, got model.RuntimeWindow, begin, end *model.Runtime) {
	if got.CPU.IsKnown() || !end.ClockBooked {
		return
	}
	seconds, _ := got.Seconds.Get()
	delay, ok := end.PollDelaySeconds.Get()
	before, ok2 := begin.PollDelaySeconds.Get()
	if !ok || !ok2 || delay < before || seconds <= 0 {
		if w.headroom == yes {
			w.headroom = open
		}
		w.unknown = append(w.unknown, "whether the workers wait for a CPU: neither their CPU time nor the delay of their loops is told")
		return
	}
	share := (delay - before) / seconds / float64(max(1, w.count.Or(1)))
	w.words = append(w.words, model.Evidence{
		Name: "poll delay", Text: fmt.Sprintf("events waited %s of the time for their worker's loop", percent(share)), Figure: model.Known(share), Unit: "ratio",
		Window: got.Seconds, Source: f.runtimeSource(),
	})
	if share >= delayed && w.saturated != yes {
		w.starved = yes
	}
}

// runtimeSource is where a proxy's own figures come from.
func (f *facts) runtimeSource() string {
	switch f.last.Proxy.Adapter {
	case "", "linkerd":
		return "tokio_rt"
	case "istio", "envoy":
		return "/stats"
	}
	return f.last.Proxy.Adapter
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

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
		if previous < 0 && r.ClockBooked {
			begin = i // its clock stands at the refresh, whenever it is read
		}
		if previous >= 0 {
			p := &f.samples[previous].Runtime
			switch {
			case p.Start != r.Start || r.BusySeconds.Or(0) < p.BusySeconds.Or(0) || r.Clock.Or(0) < p.Clock.Or(0):
				begin, end = -1, -1 // another process
				if r.ClockBooked {
					begin = i
				}
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
