package model

// BusyBetween is what a runtime did between two of its readings, both taken
// just after a refresh of its metrics was observed: see BusyWindow, which finds
// them in a list. Readings of two processes give unknown figures.
func BusyBetween(begin, end *Runtime) RuntimeWindow {
	if anotherProcess(begin, end) {
		return unknownRuntimeWindow("another process since the reading before")
	}
	return between(*begin, *end)
}

// Refreshed says whether a reading shows other figures than the one before it.
func (r *Runtime) Refreshed(before *Runtime) bool {
	return before.BusySeconds != r.BusySeconds || before.Polls != r.Polls || before.Parks != r.Parks ||
		r.ClockBooked && before.Clock != r.Clock
}
