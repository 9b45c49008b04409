package tui

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Source gives one Snapshot after another. It may pace itself: a Next that
// takes its time is never called twice at once. It returns soon after ctx ends.
// io.EOF says that there will be no more.
type Source interface {
	Next(ctx context.Context) (model.Snapshot, error)
}

// ErrInterrupted is what Run returns after ctrl-c or SIGINT: exit code 130.
var ErrInterrupted = tea.ErrInterrupted

// Options are what the screen needs of the world.
type Options struct {
	Source Source
	// In and Out are the terminal.
	In  io.Reader
	Out io.Writer
	// Title says what is watched: "prod-eu1/shop".
	Title string
	// Interval is the least time between two polls; 1 s when it is 0.
	Interval time.Duration
	// Now is the clock, for ages and the time on the screen; time.Now when nil.
	Now func() time.Time
	// Renew asks for new probes where the old ones have ended.
	// It returns at once. nil when that is not possible.
	Renew func()
	// RenewFor is how long a new probe runs.
	RenewFor time.Duration
	// NoColor draws without colour; the environment's NO_COLOR does so too. No
	// meaning is in colour alone.
	NoColor bool
}
