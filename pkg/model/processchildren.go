package model

import "fmt"

// totalCPU is the use of CPU by a process and all that descend from it, in cores.
//
// What a child used that ended between the readings is in what its parent has
// waited for (cutime, cstime), together with all that the child had used before:
// the latter is in the reading before, and is taken off. A child that nobody
// waits for takes along what it used since that reading.
func totalCPU(prev *ProcessReading, cur ProcessReading, seconds float64) Value[float64] {
	own := Growth(prev.Ticks, cur.Ticks)
	used, ok := own.Get()
	if !ok {
		return Unknown[float64](own.Reason())
	}
	if len(prev.Children) == 0 && len(cur.Children) == 0 {
		// Where the kernel does not tell of children, the times of one that ended may
		// be those of years.
		return Known(float64(used) / ticksPerSecond / seconds)
	}
	if n := max(prev.OmittedChildren, cur.OmittedChildren); n > 0 {
		return Unknown[float64](fmt.Sprintf("%d of its child processes were not read", n))
	}
	before := make(map[int]ChildReading, len(prev.Children))
	for _, c := range prev.Children {
		before[c.PID] = c
	}
	ended, _ := Growth(prev.ChildTicks, cur.ChildTicks).Get()
	for _, c := range cur.Children {
		old, known := before[c.PID]
		switch {
		case known && old.Start == c.Start && c.Start.IsKnown():
			delete(before, c.PID)
			grown := Growth(old.Ticks, c.Ticks)
			n, ok := grown.Get()
			if !ok {
				return Unknown[float64](fmt.Sprintf("process %d: %s", c.PID, grown.Reason()))
			}
			used += n
			n, _ = Growth(old.ChildTicks, c.ChildTicks).Get()
			ended += n
		case !bornSince(c.Start, prev):
			// The list of children is not read at one instant, and is cut where there
			// are very many.
			return Unknown[float64](fmt.Sprintf("process %d is missing in the reading before", c.PID))
		default:
			used += c.Ticks.Or(0)
			ended += c.ChildTicks.Or(0)
		}
	}
	if ended > 0 {
		for _, gone := range before {
			ended -= gone.Ticks.Or(0) + gone.ChildTicks.Or(0)
		}
		used += max(ended, 0)
	}
	cores := float64(used) / ticksPerSecond / seconds
	if most, ok := cur.CPUsAllowed.Get(); ok && cores > float64(most)*1.1+0.1 {
		return Unknown[float64]("a child process ended that the reading before had missed")
	}
	return Known(cores)
}

// bornSince says whether a process or thread that is not in the reading before
// began after it: its counters then began in the time between.
func bornSince(start Value[int64], prev *ProcessReading) bool {
	at, ok := start.Get()
	return ok && float64(at)/ticksPerSecond >= prev.Uptime.Or(0)-minReadingGap
}
