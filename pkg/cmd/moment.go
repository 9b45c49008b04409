package cmd

import (
	"fmt"
	"strings"
	"time"
)

// moment is a time as somebody names one of a recording: 2026-03-01T12:00:00Z,
// 12:00:05 (UTC, on the recording's day), +5m (from its beginning) or -10m (before its
// end). Empty is no bound.
type moment string

// in gives the time, in a recording that is so long.
func (m moment) in(from, to time.Time) (time.Time, error) {
	text := strings.TrimSpace(string(m))
	if text == "" {
		return time.Time{}, nil
	}
	if text[0] == '+' || text[0] == '-' {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, m.wrong()
		}
		if d < 0 || text[0] == '-' {
			return to.Add(d), nil
		}
		return from.Add(d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, form := range []string{"15:04:05", "15:04", "15:04:05Z", "15:04Z"} {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		day := from.UTC().Truncate(24 * time.Hour)
		at := day.Add(t.Sub(t.Truncate(24 * time.Hour)))
		if at.Before(from.Truncate(time.Second)) && !at.Add(24*time.Hour).After(to) {
			at = at.Add(24 * time.Hour) // the recording goes over midnight
		}
		return at, nil
	}
	return time.Time{}, m.wrong()
}

func (m moment) wrong() error {
	return usageError{fmt.Errorf("%q is no time: give one as in 2026-03-01T12:00:00Z, 12:00:05 (UTC), +5m (from the beginning) or -10m (before the end)", string(m))}
}
