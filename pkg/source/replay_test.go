package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
)

var played = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tape is a recording of two pods and a hundred seconds, with a gap of an hour in it.
func tape(t *testing.T) func() (Recording, error) {
	t.Helper()
	var b bytes.Buffer
	w, err := record.NewWriter(&b, record.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 100; n++ {
		at := played.Add(time.Duration(n) * time.Second)
		if n > 90 {
			at = at.Add(time.Hour)
		}
		pods := []model.Pod{{Meta: model.Meta{Name: "a", UID: "a"}}, {Meta: model.Meta{Name: "b", UID: "b"}}}
		if err := w.Add(model.Snapshot{Seq: uint64(n), Time: at, Pods: pods}); err != nil {
			t.Fatal(err)
		}
	}
	return func() (Recording, error) { return record.NewPlayer(bytes.NewReader(b.Bytes()), "tape") }
}

// sleeper adds up what was slept.
type sleeper struct {
	slept time.Duration
	at    func(time.Duration)
}

func (s *sleeper) sleep(ctx context.Context, d time.Duration) error {
	s.slept += d
	if s.at != nil {
		s.at(s.slept)
	}
	return ctx.Err()
}

func TestReplayPaces(t *testing.T) {
	for _, c := range []struct {
		speed float64
		want  time.Duration
	}{
		{1, 89*time.Second + longestPause + 9*time.Second}, // the hour in which nobody looked is left out
		{10, (89*time.Second + longestPause + 9*time.Second) / 10},
		{0, 0},
	} {
		s := &sleeper{}
		r := NewReplay(ReplayOptions{Open: tape(t), Speed: c.speed, Sleep: s.sleep})
		n := 0
		for {
			if _, err := r.Next(t.Context()); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 100 || (s.slept-c.want).Abs() > time.Millisecond {
			t.Errorf("speed %v: %d snapshots in %s, want %s", c.speed, n, s.slept, c.want)
		}
		if len(r.Notes()) != 1 { // the writer was never closed
			t.Errorf("%v", r.Notes())
		}
		r.Close()
	}
}

func TestReplayFrom(t *testing.T) {
	r := NewReplay(ReplayOptions{Open: tape(t), From: played.Add(60 * time.Second), Keep: func(p *model.Pod) bool { return p.Meta.Name == "b" }})
	defer r.Close()
	var warm, shown []time.Time
	for {
		s, err := r.Next(t.Context())
		if err != nil {
			break
		}
		if len(s.Pods) != 1 || s.Pods[0].Meta.Name != "b" {
			t.Fatalf("%+v", s.Pods)
		}
		if r.Warming() {
			warm = append(warm, s.Time)
		} else {
			shown = append(shown, s.Time)
		}
	}
	if len(warm) != 34 || !warm[0].Equal(played.Add(26*time.Second)) || !shown[0].Equal(played.Add(60*time.Second)) || len(shown) != 41 {
		t.Errorf("%d to warm up from %v, %d shown from %v", len(warm), warm[0], len(shown), shown[0])
	}
}

// A seek is heard of while it waits for the next snapshot's time.
func TestReplaySeeks(t *testing.T) {
	s := &sleeper{}
	r := NewReplay(ReplayOptions{Open: tape(t), Speed: 1, Sleep: s.sleep})
	defer r.Close()
	s.at = func(slept time.Duration) {
		if slept > 5300*time.Millisecond {
			s.at = nil
			r.Seek(played.Add(80 * time.Second))
		}
	}
	var got []int
	runs := 0
	for len(got) < 12 {
		snapshot, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Runs() != runs {
			runs = r.Runs()
			got = append(got, -runs)
		}
		if !r.Warming() {
			got = append(got, int(snapshot.Time.Sub(played).Seconds()))
		}
	}
	want := []int{-1, 1, 2, 3, 4, 5, 6, -2, 80, 81, 82, 83}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	// Backwards, and after the end.
	for {
		if _, err := r.Next(t.Context()); err != nil {
			break
		}
	}
	r.Seek(played.Add(3 * time.Second))
	snapshot, err := r.Next(t.Context())
	for r.Warming() && err == nil {
		snapshot, err = r.Next(t.Context())
	}
	if err != nil || !snapshot.Time.Equal(played.Add(3*time.Second)) {
		t.Errorf("%v %v", snapshot.Time, err)
	}
}

func TestReplayFailsToOpen(t *testing.T) {
	broken := errors.New("gone")
	r := NewReplay(ReplayOptions{Open: func() (Recording, error) { return nil, broken }})
	for range 2 {
		if _, err := r.Next(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r.Close()
}
