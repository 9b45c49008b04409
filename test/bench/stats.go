package main

import (
	"fmt"
	"slices"
	"time"
)

// times are durations of one way of doing something.
type times []time.Duration

func (t times) median() time.Duration { return t.at(0.5) }

// at is the quantile by nearest rank.
func (t times) at(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// String gives the median and the range of the middle half, in seconds.
func (t times) String() string {
	return fmt.Sprintf("%.2f s (%.2f to %.2f)", t.median().Seconds(), t.at(0.25).Seconds(), t.at(0.75).Seconds())
}

// ratio of two medians.
func ratio(a, b times) float64 { return a.median().Seconds() / b.median().Seconds() }
