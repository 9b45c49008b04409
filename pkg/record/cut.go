package record

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Cut writes the part of a recording between two times, both included, as a recording
// of its own, and gives how many ticks that were. A zero time is no bound.
func Cut(dst io.Writer, src *Player, from, to time.Time) (int, error) {
	w, err := NewWriter(dst, src.Header())
	if err != nil {
		return 0, err
	}
	ticks := 0
	last := src.Header().Started
	for {
		s, err := src.Next()
		if errors.Is(err, io.EOF) || err == nil && !to.IsZero() && s.Time.After(to) {
			return ticks, w.Close(last)
		}
		if err != nil {
			return ticks, fmt.Errorf("cutting a recording: %w", err)
		}
		if s.Time.Before(from) {
			continue
		}
		if err := w.Add(s); err != nil {
			return ticks, err
		}
		ticks, last = ticks+1, s.Time
	}
}
