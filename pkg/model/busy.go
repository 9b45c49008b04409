package model

import (
	"cmp"
	"math"
	"strconv"
)

// StallSeconds is how long a runtime's metrics may stand still while its clock
// moves before it counts as stalled. Refreshes were measured 0.97 to 1.04 s
// apart, saturated too; only a proxy starved of CPU skips one or two.
const StallSeconds = 3.0

// BusyWindow judges readings of one runtime, oldest first, over at least the
// given number of seconds (less when there is no more history).
//
// A runtime books its figures into its metrics once a second, so two scrapes
// hold a whole number of seconds of data whatever lies between them; dividing
// by the time between scrapes is off by 20 % and more. The window therefore
// begins and ends at an observed refresh: a reading whose figures differ from
// the one before it. Readings of another process (Start differs) are left out.
func BusyWindow(readings []Runtime, atLeast float64) RuntimeWindow {
	readings = sameProcess(readings)
	if len(readings) == 0 {
		return unknownRuntimeWindow("no metrics read yet")
	}
	last := readings[len(readings)-1]
	if !last.BusySeconds.IsKnown() {
		return unknownRuntimeWindow(cmp.Or(last.BusySeconds.Reason(), "the proxy does not report busy time"))
	}
	var refreshes []Runtime
	if readings[0].ClockBooked {
		// What it shows is as of the refresh before it, and so is its clock.
		refreshes = append(refreshes, readings[0])
	}
	for i := 1; i < len(readings); i++ {
		if readings[i].Refreshed(&readings[i-1]) {
			refreshes = append(refreshes, readings[i])
		}
	}
	if len(refreshes) == 0 {
		w := unknownRuntimeWindow("no refresh of the metrics observed yet")
		w.Stalled = stalledFor(readings[0], last)
		return stallReason(w)
	}
	end := refreshes[len(refreshes)-1]
	stalled := stalledFor(end, last)
	if len(refreshes) == 1 {
		w := unknownRuntimeWindow("only one refresh of the metrics observed so far" + refreshWords(last))
		w.Stalled = stalled
		return stallReason(w)
	}
	begin := refreshes[0]
	for _, r := range refreshes[:len(refreshes)-1] {
		if end.Clock.Or(0)-r.Clock.Or(0) < atLeast {
			break
		}
		begin = r
	}
	w := between(begin, end)
	w.Stalled = stalled
	return stallReason(w)
}

// stallReason takes the busy ratio back when the runtime has stalled since: an
// old figure must not be carried forward silently.
func stallReason(w RuntimeWindow) RuntimeWindow {
	if s, ok := w.Stalled.Get(); ok && s >= StallSeconds {
		stalled := w.Stalled
		w = unknownRuntimeWindow("the runtime is stalled: its metrics stand still while its clock moves")
		w.Stalled = stalled
	}
	return w
}

func between(begin, end Runtime) RuntimeWindow {
	seconds := end.Clock.Or(0) - begin.Clock.Or(0)
	// A worker that parks books its figures on time. One that never does books them
	// when their turn comes, up to the length of its run queue late: then the time
	// observed is nearer to the truth than the schedule.
	// A clock that is booked has whole seconds: there the schedule has the fractions.
	if parks, ok := Growth(begin.Parks, end.Parks).Get(); ok && parks > 0 || end.ClockBooked {
		seconds = onSchedule(seconds, end.RefreshEvery)
	}
	workers, ok := end.Workers.Get()
	switch {
	case !begin.Clock.IsKnown() || !end.Clock.IsKnown() || seconds <= 0:
		return unknownRuntimeWindow("the time between two refreshes is unknown")
	case !ok || workers <= 0:
		return unknownRuntimeWindow(cmp.Or(end.Workers.Reason(), "the number of workers is unknown"))
	}
	w := RuntimeWindow{
		Seconds: Known(seconds),
		Parks:   Growth(begin.Parks, end.Parks),
		Polls:   Growth(begin.Polls, end.Polls),
		CPU:     Unknown[float64]("the process's CPU time is unknown"),
	}
	if c0, ok0 := begin.CPUSeconds.Get(); ok0 {
		if c1, ok1 := end.CPUSeconds.Get(); ok1 {
			w.CPU = Known((c1 - c0) / seconds)
		}
	}
	busy := (end.BusySeconds.Or(0) - begin.BusySeconds.Or(0)) / (seconds * float64(workers))
	if busy > 1 {
		busy, w.Clamped = 1, true
	}
	w.Busy = Known(busy)
	return w
}

// onSchedule is the time between two refreshes, given the time between the
// scrapes that observed them. A scrape comes up to a fifth of a second after the
// refresh that it sees, at either end, which is 5 % and more of a window of
// three seconds; the refreshes themselves keep to their schedule (measured on
// linkerd2-proxy: gaps of 0.97 to 1.04 s, saturated too, without drift). A time
// that is far from a multiple of the period is left as it was observed: then the
// schedule was not kept.
func onSchedule(observed float64, every Value[float64]) float64 {
	period, ok := every.Get()
	if !ok || period <= 0 {
		return observed
	}
	const lag = 0.25 // of a period
	if scheduled := math.Round(observed/period) * period; scheduled > 0 && math.Abs(observed-scheduled) <= lag*period {
		return scheduled
	}
	return observed
}

// stalledFor is the proxy's own time since the last observed refresh.
func stalledFor(refresh, last Runtime) Value[float64] {
	from, ok0 := refresh.Clock.Get()
	to, ok1 := last.Clock.Get()
	if !ok0 || !ok1 {
		return Unknown[float64]("the proxy does not report its clock")
	}
	return Known(max(0, to-from))
}

// sameProcess keeps the newest readings that belong to one process.
func sameProcess(readings []Runtime) []Runtime {
	for i := len(readings) - 1; i > 0; i-- {
		a, b := readings[i-1], readings[i]
		if anotherProcess(&a, &b) {
			return readings[i:]
		}
	}
	return readings
}

// anotherProcess says whether b, read after a, is of another process. A clock of
// which the start is not known begins anew with it.
func anotherProcess(a, b *Runtime) bool {
	return a.Start != b.Start || b.BusySeconds.Or(0) < a.BusySeconds.Or(0) || b.ClockBooked && b.Clock.Or(0) < a.Clock.Or(0)
}

// refreshWords says how long a refresh takes, where that is longer than one would
// wait for.
func refreshWords(r Runtime) string {
	if every, ok := r.RefreshEvery.Get(); ok && every > 1 {
		return " (there is one every " + strconv.FormatFloat(every, 'g', 4, 64) + " s)"
	}
	return ""
}

func unknownRuntimeWindow(reason string) RuntimeWindow {
	return RuntimeWindow{
		Seconds: Unknown[float64](reason), Busy: Unknown[float64](reason), CPU: Unknown[float64](reason),
		Parks: Unknown[int64](reason), Polls: Unknown[int64](reason), Stalled: Unknown[float64](reason),
	}
}

// Growth is to - from of a counter, unknown when either is, or when it went
// backwards.
func Growth(from, to Value[int64]) Value[int64] {
	a, ok := from.Get()
	if !ok {
		return Unknown[int64](cmp.Or(from.Reason(), "not read at the start of the window"))
	}
	b, ok := to.Get()
	if !ok {
		return Unknown[int64](cmp.Or(to.Reason(), "not read at the end of the window"))
	}
	if b < a {
		return Unknown[int64]("the counter went backwards")
	}
	return Known(b - a)
}
