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

// Color says when the screen is coloured.
type Color int

// When it is. ColorAuto asks the terminal and its environment (NO_COLOR).
const (
	ColorAuto Color = iota
	ColorAlways
	ColorNever
)

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
	// Past is the screen's memory; nil when there is none.
	Past Past
	// Replay is set where the Source plays a recording.
	Replay *Replay
	// Keeper writes files.
	Keeper Keeper
	// Color says when to use colour; no meaning is in colour alone.
	Color Color
	// ASCII draws with the characters of 1968, for terminals and fonts without others.
	ASCII bool
	// Mouse takes the mouse from the terminal at the start: one can then no longer
	// select text with it.
	Mouse bool
	// Columns are the titles of the list's columns that are shown; nil for as many as
	// there is room for.
	Columns []string
}
