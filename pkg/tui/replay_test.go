package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// replaying is a screen over a recording of a hundred seconds, of which n were played.
func replaying(t *testing.T, n int) (*app, *[]time.Time) {
	t.Helper()
	a, m := remembering(t, n)
	for i := n + 1; i <= 100; i++ {
		m.snapshots = append(m.snapshots, everyKind(i))
	}
	var sought []time.Time
	a.replay = &Replay{Speed: 1, SetSpeed: func(float64) {}, Seek: func(at time.Time) { sought = append(sought, at) }}
	return a, &sought
}

// A recording can be sought in both directions, also where it was not played yet,
// and goes on from the moment that is shown.
func TestSeekInARecording(t *testing.T) {
	a, sought := replaying(t, 20)
	if v := a.View(); !strings.Contains(v, "REPLAY 1x to 12:01:40Z") || !strings.Contains(v, "12:00:20Z") {
		t.Errorf("the header:\n%s", v)
	}
	pressAnd(a, "}")
	if !a.shown.Time.Equal(second(80)) {
		t.Errorf("forward to %s", a.shown.Time)
	}
	pressAnd(a, "}")
	if !a.shown.Time.Equal(second(100)) {
		t.Errorf("forward to %s, not the end", a.shown.Time)
	}
	pressAnd(a, "[")
	before := a.polls
	deliver(a, everyKind(21)) // the poll that was under way
	if a.polls != before+1 || !a.resting {
		t.Error("a paused recording is played on")
	}
	_, cmd := a.Update(keyNamed("p"))
	if cmd == nil || a.resting || len(*sought) != 1 || !(*sought)[0].Equal(second(90)) {
		t.Errorf("it goes on from %v", *sought)
	}
}

func TestAfterTheEnd(t *testing.T) {
	a, sought := replaying(t, 100)
	a.Update(snapshotMsg{seq: a.polls, err: io.EOF})
	if !a.ended || !strings.Contains(a.View(), "the recording has ended") {
		t.Errorf("the end is not told:\n%s", a.View())
	}
	pressAnd(a, "{")
	_, cmd := a.Update(keyNamed("p"))
	if cmd == nil || a.ended || len(*sought) != 1 {
		t.Error("it does not go on")
	}
}

func TestSpeed(t *testing.T) {
	a, _ := replaying(t, 5)
	var got []float64
	a.replay.SetSpeed = func(f float64) { got = append(got, f) }
	press(a, ">", ">", "<")
	if len(got) != 3 || got[0] != 2 || got[1] != 5 || got[2] != 2 || !strings.Contains(a.View(), "playing 2x") {
		t.Errorf("%v\n%s", got, a.View())
	}
	a.replay = nil
	press(a, ">")
}

// What happened in the whole recording is known as soon as it was read, and what is
// played is not added to it again.
func TestWholeRecording(t *testing.T) {
	a, _ := replaying(t, 5)
	whole := timeline.New(timeline.Options{})
	for i := 1; i <= 100; i++ {
		whole.Add(everyKind(i))
	}
	a.replay.Read = func(context.Context) (*timeline.Timeline, error) { return whole, nil }
	deliverAll(a, a.readAll())
	deliver(a, everyKind(6))
	if _, to := a.timeline.Span(); !to.Equal(second(100)) {
		t.Errorf("the timeline ends at %s", to)
	}
	a.replay.Read = func(context.Context) (*timeline.Timeline, error) { return nil, errors.New("damaged") }
	deliverAll(a, a.readAll())
	if !strings.Contains(a.View(), "reading the recording: damaged") {
		t.Error("the error is not told")
	}
}

// A terminal that is gone ends the screen instead of being drawn to for ever.
func TestTerminalIsGone(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	gone := &goneWriter{after: 3}
	err := Run(t.Context(), Options{
		Source: &script{snapshots: seconds(31)}, In: in, Out: gone, Interval: time.Millisecond,
		Now: func() time.Time { return noon },
	})
	if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "terminal is gone") {
		t.Errorf("%v", err)
	}
}

type goneWriter struct{ after int }

func (g *goneWriter) Write(p []byte) (int, error) {
	if g.after--; g.after < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}
