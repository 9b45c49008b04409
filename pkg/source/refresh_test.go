package source

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// bookings is a runtime that books its busy time into its metrics now and then,
// as measured on a real proxy: every 0.97 to 1.04 s, saturated or not.
type bookings []time.Duration

func realisticBookings(r *rand.Rand, until time.Duration) bookings {
	var b bookings
	at := time.Duration(r.IntN(1000)) * time.Millisecond
	for at < until {
		jitter := time.Duration(r.IntN(40)-20) * time.Millisecond
		b = append(b, at+jitter)
		at += time.Second
	}
	return b
}

// read gives the runtime as a scrape sees it at a time, for a worker that is
// busy at the given ratio.
func (b bookings) read(at time.Duration, ratio float64) model.Runtime {
	var booked time.Duration
	for _, t := range b {
		if t <= at {
			booked = t
		}
	}
	return model.Runtime{
		Workers: model.Known[int64](1), Start: model.Known(0.5), Clock: model.Known(1000 + at.Seconds()),
		Parks:       model.Known(int64(booked.Seconds() * 100)),
		BusySeconds: model.Known(booked.Seconds() * ratio), RefreshEvery: model.Known(1.0),
	}
}

// scrapeAll plays the pace against the bookings, with a network that takes its
// time, and gives all readings.
func scrapeAll(r *rand.Rand, b bookings, until time.Duration, ratio float64, latency time.Duration) []model.Runtime {
	var p pace
	var readings []model.Runtime
	begin := time.Unix(1000, 0)
	at := time.Duration(r.IntN(700)) * time.Millisecond
	for at < until {
		asked := at
		answered := asked + time.Duration(r.Int64N(int64(latency)+1))
		reading := b.read(answered, ratio)
		readings = append(readings, reading)
		wait := p.next(reading, begin.Add(asked))
		at = max(answered, asked+wait)
	}
	return readings
}

// The busy ratio is right within 0.02 over 10 s and 0.03 over 3 s, at every
// phase; and no more than 1.4 scrapes a second are needed for it.
func TestPaceObservesRefreshesSoonAndAsksLittle(t *testing.T) {
	const until = 40 * time.Second
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		ratio := r.Float64()
		b := realisticBookings(r, until)
		readings := scrapeAll(r, b, until, ratio, 80*time.Millisecond)
		if perSecond := float64(len(readings)) / until.Seconds(); perSecond > 1.4 {
			t.Errorf("seed %d: %.2f scrapes a second", seed, perSecond)
		}
		for _, c := range []struct{ window, bound float64 }{{10, 0.02}, {3, 0.03}} {
			got := model.BusyWindow(readings, c.window)
			busy, ok := got.Busy.Get()
			if !ok || math.Abs(busy-ratio) > c.bound {
				t.Errorf("seed %d: busy over %vs = %+v, want %.3f", seed, c.window, got.Busy, ratio)
			}
		}
	}
}

// A runtime that books nothing any more is asked once a second, not ten times.
func TestPaceIsPatientWithAStalledRuntime(t *testing.T) {
	b := bookings{0, time.Second, 2 * time.Second} // and then nothing
	readings := scrapeAll(rand.New(rand.NewPCG(1, 1)), b, 60*time.Second, 0.5, time.Millisecond)
	if len(readings) > 100 {
		t.Errorf("%d scrapes in a minute of a stalled runtime", len(readings))
	}
	if got := model.BusyWindow(readings, 10); got.Busy.IsKnown() || got.Stalled.Or(0) < 50 {
		t.Errorf("window = %+v, want unknown and stalled for about 57 s", got)
	}
}
