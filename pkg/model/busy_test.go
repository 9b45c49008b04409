package model

import (
	"math"
	"strings"
	"testing"
)

func reading(clock, busy float64) Runtime {
	return Runtime{
		Workers: Known[int64](1), Start: Known(50.0), Clock: Known(clock),
		BusySeconds: Known(busy), CPUSeconds: Known(busy / 2), Parks: Known(int64(busy * 100)), Polls: Known(int64(busy * 1000)),
	}
}

// scrapes reads a runtime that is busy at the given ratio and books its figures
// once a second, every so often.
func scrapes(from, to, every, ratio float64) []Runtime {
	var out []Runtime
	for t := from; t < to; t += every {
		out = append(out, reading(t, math.Floor(t)*ratio))
	}
	return out
}

// Dividing by the time between two scrapes would be off by a third here; taken
// between observed refreshes the ratio is right for any rhythm of scraping.
func TestBusyIsTakenBetweenObservedRefreshes(t *testing.T) {
	for _, every := range []float64{0.1, 0.25, 0.5, 0.99, 1.0} {
		got := BusyWindow(scrapes(100.3, 113, every, 0.4), 10)
		busy, ok := got.Busy.Get()
		if !ok || math.Abs(busy-0.4) > 0.4*every/10+1e-9 {
			t.Errorf("every %.2fs: busy = %+v over %+v, want 0.4", every, got.Busy, got.Seconds)
		}
		if s := got.Seconds.Or(0); s < 9.9 || s > 11.1 {
			t.Errorf("every %.2fs: window of %.2fs, asked for 10", every, s)
		}
	}
}

func TestBusyWindow(t *testing.T) {
	two := scrapes(100.3, 106, 0.5, 0.9)
	restarted := append(scrapes(100.3, 106, 0.5, 0.9), Runtime{
		Workers: Known[int64](1), Start: Known(106.0), Clock: Known(106.5), BusySeconds: Known(0.1),
	})
	frozen := append(scrapes(100.3, 104, 0.5, 0.9), reading(104.5, 103*0.9), reading(106.1, 103*0.9), reading(107.2, 103*0.9))
	long := []Runtime{reading(100.5, 1), reading(101.5, 2), reading(102.5, 4.5)}
	noBusy := []Runtime{{Workers: Known[int64](1), Clock: Known(1.0), BusySeconds: Unknown[float64]("descriptors ran out")}}
	for name, c := range map[string]struct {
		readings []Runtime
		busy     float64 // negative: unknown
		reason   string
		clamped  bool
	}{
		"nothing read":                     {nil, -1, "no metrics", false},
		"one scrape says nothing":          {two[:1], -1, "no refresh", false},
		"one refresh is no window":         {two[:3], -1, "only one refresh", false},
		"steady":                           {two, 0.9, "", false},
		"a restart starts afresh":          {restarted, -1, "no refresh", false},
		"a stalled runtime is not idle":    {frozen, -1, "stalled", false},
		"a long poll booked late: clamped": {long, 1, "", true},
		"figures that vanish":              {noBusy, -1, "descriptors", false},
	} {
		got := BusyWindow(c.readings, 3)
		busy, known := got.Busy.Get()
		switch {
		case known != (c.busy >= 0):
			t.Errorf("%s: busy = %+v", name, got.Busy)
		case known && math.Abs(busy-c.busy) > 1e-9:
			t.Errorf("%s: busy = %v, want %v", name, busy, c.busy)
		case !strings.Contains(got.Busy.Reason(), c.reason):
			t.Errorf("%s: reason %q, want %q in it", name, got.Busy.Reason(), c.reason)
		case got.Clamped != c.clamped:
			t.Errorf("%s: clamped = %v", name, got.Clamped)
		}
	}
	if got := BusyWindow(frozen, 3).Stalled.Or(0); got < StallSeconds {
		t.Errorf("frozen for %v s, want at least %v", got, StallSeconds)
	}
	if got := BusyWindow(two, 3).Stalled; !got.IsKnown() {
		t.Errorf("stalled of a live runtime = %+v, want a known small figure", got)
	}
}

// Two workers that are busy half of the time each have one busy second a second.
func TestBusyIsPerWorker(t *testing.T) {
	r := scrapes(100.3, 106, 0.5, 1)
	for i := range r {
		r[i].Workers = Known[int64](2)
	}
	if got := BusyWindow(r, 3).Busy.Or(-1); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("busy = %v, want 0.5", got)
	}
	if got := BusyWindow(r, 3).CPU.Or(-1); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("cpu = %v, want 0.5 cores", got)
	}
}

// A scrape sees a refresh late, by more at one end than at the other; where the
// refreshes are on a schedule, that does not count.
func TestBusyKeepsToTheSchedule(t *testing.T) {
	late := []Runtime{reading(99.9, 98), reading(100.02, 99), reading(103.21, 102)}
	for _, c := range []struct {
		every Value[float64]
		last  float64
		want  float64
	}{
		{Unknown[float64]("no schedule"), 103.21, 3.19},
		{Known(1.0), 103.21, 3},
		{Known(1.0), 103.45, 3.43}, // too far off: the schedule was not kept
		{Known(0.0), 103.21, 3.19},
	} {
		for i := range late {
			late[i].RefreshEvery = c.every
		}
		late[2].Clock = Known(c.last)
		saturated := append([]Runtime(nil), late...)
		saturated[1].Parks, saturated[2].Parks = Known[int64](7), Known[int64](7)
		if got := BusyWindow(saturated, 3).Seconds.Or(0); math.Abs(got-(c.last-100.02)) > 1e-9 {
			t.Errorf("a worker that never parks books late: window of %v s, want the %.2f s observed", got, c.last-100.02)
		}
		if got := BusyWindow(late, 3).Seconds.Or(0); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("every %+v, seen after %.2f s: window of %v s, want %v", c.every, c.last-100.02, got, c.want)
		}
	}
}

// booked is a reading of an Envoy with two workers whose clock moves only with its
// figures: flushed every 5 s, though it is read every second.
func booked(start, uptime, busy float64) Runtime {
	return Runtime{
		Workers: Known[int64](2), Start: Known(start), Clock: Known(start + uptime), BusySeconds: Known(busy),
		RefreshEvery: Known(5.0), ClockBooked: true,
	}
}

// Recorded on Envoy 1.40: sums of loop_duration_us and server.uptime, read every
// half second under a load of 0.148 busy. However the readings lie between the
// flushes, the ratio is that of whole flushes.
func TestBusyWindowOfABookedClock(t *testing.T) {
	step := []struct {
		uptime, sum float64
		times       int
	}{{10, 914155.84, 5}, {15, 2338164.91, 10}, {20, 3866276.09, 8}}
	var all []Runtime
	for _, s := range step {
		for range s.times {
			all = append(all, booked(1000, s.uptime, s.sum/1e6))
		}
	}
	for from := range len(all) {
		for to := from + 1; to <= len(all); to++ {
			w := BusyWindow(all[from:to], 3)
			if w.Stalled.Or(0) != 0 {
				t.Fatalf("readings %d to %d: stalled for %v s", from, to, w.Stalled)
			}
			first, last := all[from].Clock.Or(0), all[to-1].Clock.Or(0)
			busy, ok := w.Busy.Get()
			switch {
			case first == last && (ok || w.Busy.Reason() != "only one refresh of the metrics observed so far (there is one every 5 s)"):
				t.Fatalf("readings %d to %d of one flush: busy %+v", from, to, w.Busy)
			case first != last && (!ok || math.Abs(busy-0.148) > 0.006):
				t.Fatalf("readings %d to %d: busy %+v over %+v", from, to, w.Busy, w.Seconds)
			case first != last && w.Seconds.Or(0) != 5:
				t.Fatalf("readings %d to %d: %v s for a window of 3 s", from, to, w.Seconds)
			}
		}
	}
	if w := BusyWindow(all, 10); w.Seconds.Or(0) != 10 || math.Abs(w.Busy.Or(0)-0.1476) > 0.0005 {
		t.Errorf("over both flushes: %+v", w)
	}
	if w := BusyBetween(&all[2], &all[len(all)-1]); math.Abs(w.Busy.Or(0)-0.1476) > 0.0005 {
		t.Errorf("between two readings: %+v", w)
	}
}

// Its uptime has whole seconds, so that 6 may lie between two flushes that are 5 s
// apart; a flush that is late is as late as it was seen to be.
func TestBookedClockKeepsToTheSchedule(t *testing.T) {
	for end, want := range map[float64]float64{15: 5, 16: 5, 20: 10, 21: 10, 17: 7, 18: 8} {
		begin, last := booked(1000, 10, 1), booked(1000, end, 2)
		if got := BusyBetween(&begin, &last).Seconds.Or(0); got != want {
			t.Errorf("uptime 10 to %v: %v s, want %v", end, got, want)
		}
	}
}

// An idle Envoy whose sums do not move is no stalled one: its clock moved with them.
func TestBookedClockOfAnIdleProxy(t *testing.T) {
	w := BusyWindow([]Runtime{booked(1000, 5, 1), booked(1000, 10, 1), booked(1000, 15, 1)}, 3)
	if w.Busy != Known(0.0) || w.Stalled.Or(-1) != 0 {
		t.Errorf("busy %+v, stalled %+v", w.Busy, w.Stalled)
	}
}

// A restart is noticed by the start, and by the clock where no start is known.
func TestBookedClockOfAnotherProcess(t *testing.T) {
	unknown := func(uptime, busy float64) Runtime {
		r := booked(0, uptime, busy)
		r.Start = Unknown[float64]("not told")
		return r
	}
	for name, readings := range map[string][]Runtime{
		"start":        {booked(1000, 5, 1), booked(1000, 10, 2), booked(2000, 10, 2.5)},
		"clock":        {unknown(5, 1), unknown(10, 2), unknown(5, 2.5)},
		"busy seconds": {unknown(5, 1), unknown(10, 2), unknown(10, 0.5)},
	} {
		if w := BusyWindow(readings, 3); w.Busy.IsKnown() {
			t.Errorf("%s: busy %+v across a restart", name, w.Busy)
		}
		if w := BusyBetween(&readings[0], &readings[2]); w.Busy.IsKnown() {
			t.Errorf("%s: busy %+v between two processes", name, w.Busy)
		}
	}
}
