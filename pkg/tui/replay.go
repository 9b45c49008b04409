package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// Replay is what can be done with a Source that plays a recording.
type Replay struct {
	// Read reads the whole recording as fast as it can: what happened in it, so that
	// one can jump to it before it was played.
	Read func(ctx context.Context) (*timeline.Timeline, error)
	// Seek makes the Source go on at a time.
	Seek func(at time.Time)
	// SetSpeed plays so many times as fast as it was; Speed is the one it has.
	SetSpeed func(factor float64)
	Speed    float64
}

// indexMsg brings what happened in the whole recording.
type indexMsg struct {
	timeline *timeline.Timeline
	err      error
}

// readAll reads the recording in the background.
func (a *app) readAll() tea.Cmd {
	if a.replay == nil || a.replay.Read == nil {
		return nil
	}
	p, read := a.poller, a.replay.Read
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		t, err := read(p.ctx)
		if p.ctx.Err() != nil {
			return nil
		}
		return indexMsg{t, err}
	}
}

func (a *app) takeIndex(msg indexMsg) {
	if msg.err != nil {
		a.say("reading the recording: " + msg.err.Error())
	}
	if msg.timeline != nil {
		a.timeline, a.whole = msg.timeline, true
		if !a.shown.Time.IsZero() {
			a.show()
		}
	}
}

// speeds are those that the keys go through.
func speeds() []float64 { return []float64{0.25, 0.5, 1, 2, 5, 10, 30, 60, 100} }

// speedKey acts on the keys of a recording.
func (a *app) speedKey(msg tea.KeyMsg) bool {
	if a.replay == nil || a.replay.SetSpeed == nil {
		return false
	}
	all := speeds()
	i := 0
	for i < len(all)-1 && all[i] < a.replay.Speed {
		i++
	}
	switch {
	case key.Matches(msg, a.keys.faster):
		i = min(i+1, len(all)-1)
	case key.Matches(msg, a.keys.slower):
		i = max(i-1, 0)
	default:
		return false
	}
	a.replay.Speed = all[i]
	a.replay.SetSpeed(all[i])
	a.say(fmt.Sprintf("playing %gx", all[i]))
	return true
}

// replayWord stands in the header of a recording.
func (a *app) replayWord() string {
	if a.replay == nil {
		return ""
	}
	word := fmt.Sprintf("REPLAY %gx", a.replay.Speed)
	if a.past != nil {
		if _, to := a.past.Span(); !to.IsZero() {
			word += " to " + to.UTC().Format("15:04:05Z")
		}
	}
	return word
}
