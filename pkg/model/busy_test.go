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
