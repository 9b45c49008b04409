package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Seconds is a length of time: "0.4s", "6m12s".
func Seconds(v model.Value[float64]) string {
	s, ok := v.Get()
	switch {
	case !ok || s < 0 || s > 1e9:
		return Unknown
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + "s"
	}
	text := (time.Duration(s) * time.Second).String()
	if s >= 3600 { // hours and minutes are enough
		text, _, _ = strings.Cut(text, "m")
		text += "m"
	}
	return text
}

// Waiting says how many wait and for how long at least: "129 wait, the oldest ≥
// 6m12s". The kernel tells no more than a lower bound.
func Waiting(w model.Waiting) string {
	text := fmt.Sprintf("%d wait", w.Total())
	if oldest := w.Oldest(); oldest.IsKnown() {
		text += ", the oldest ≥ " + Seconds(oldest)
	}
	return text
}

// Standstill says what is known of whether the queue stands still: "the same 129
// for 30s". It is empty where it was asked only once.
func Standstill(w model.Waiting) string {
	stuck, ok := w.Stuck.Get()
	if !ok {
		return ""
	}
	if still := w.StandsStill(); still.IsKnown() {
		return fmt.Sprintf("the same %d for %s", stuck, Seconds(still))
	}
	if stuck == 0 {
		return "all others than the time before"
	}
	return fmt.Sprintf("%d of them already the time before", stuck)
}

// Callers lists who waits, those with most connections first and at most so many
// of them: "94 from shop/web, 35 from 10.0.0.9, 12 from 3 others".
func Callers(w model.Waiting, most int) string {
	var parts []string
	rest, connections := 0, 0
	for i, c := range w.Callers {
		if i >= most {
			rest++
			connections += c.Connections
			continue
		}
		from := c.Address
		if pod, ok := c.Pod.Get(); ok {
			from = pod + " (" + c.Address + ")"
		}
		parts = append(parts, fmt.Sprintf("%d from %s", c.Connections, Clean(from)))
	}
	switch {
	case rest == 1:
		parts = append(parts, fmt.Sprintf("%d from 1 other", connections))
	case rest > 1:
		parts = append(parts, fmt.Sprintf("%d from %d others", connections, rest))
	}
	if w.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("%d that were not looked at", w.Omitted))
	}
	return strings.Join(parts, ", ")
}

// ThreadState is the kernel's letter as a word.
func ThreadState(letter string) string {
	switch letter {
	case "R":
		return "runs"
	case "S":
		return "sleeps"
	case "D":
		return "device" // uninterruptible: mostly for a disk
	case "T", "t":
		return "stopped"
	case "Z", "X":
		return "ended"
	case "I":
		return "idle"
	case "":
		return Unknown
	}
	return Clean(letter)
}

// Share is a figure from 0 to 1 with two digits.
func Share(v model.Value[float64]) string {
	if x, ok := v.Get(); ok {
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return Unknown
}
