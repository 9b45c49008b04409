package source

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// ReplayOptions say how a recording is played.
type ReplayOptions struct {
	// Open opens it, at its beginning.
	Open func() (Recording, error)
	// Speed is how many times faster than it was; 0 gives snapshots as fast as they are
	// asked for.
	Speed float64
	// From is where it begins; zero for the beginning.
	From time.Time
	// Keep says which pods are wanted; nil for all.
	Keep func(*model.Pod) bool
	// Sleep waits; a timer's when nil.
	Sleep func(ctx context.Context, d time.Duration) error
}

const (
	// longestPause is how long nothing may happen while a recording plays: where nobody
	// looked there is nothing to wait for.
	longestPause = 5 * time.Second
	// warmUp is how long before a time that is sought snapshots are given: a judge needs
	// half a minute.
	warmUp = 34 * time.Second
)

// Replay is a Source that plays a recording. Next and Close are for one user; the
// other methods may be called meanwhile.
type Replay struct {
	opt     ReplayOptions
	playing Recording
	last    time.Time // of the snapshot before; zero at a beginning
	seq     uint64
	notes   []string

	mu      sync.Mutex
	speed   float64
	sought  time.Time // where the recording is to go on; zero when it just goes on
	seeking bool
	runs    int
	warming bool
}

// NewReplay opens nothing yet.
func NewReplay(o ReplayOptions) *Replay {
	if o.Sleep == nil {
		o.Sleep = pause
	}
	return &Replay{opt: o, speed: o.Speed, sought: o.From, seeking: true}
}

// SetSpeed changes the speed.
func (r *Replay) SetSpeed(factor float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.speed = factor
}

// Seek makes the next snapshot one of half a minute before a time: those before the
// time itself are given at once, and Warming says that they are.
func (r *Replay) Seek(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sought, r.seeking = at, true
}

// Warming says of the snapshot that Next gave last that it is from before the time
// that was sought: for a judge, not for a screen.
func (r *Replay) Warming() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.warming
}

// Runs counts the times that the recording was begun anew: after each, what was known
// of its pods is no longer of the past.
func (r *Replay) Runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs
}

// Next gives the next snapshot when it is its time, io.EOF behind the last one.
func (r *Replay) Next(ctx context.Context) (model.Snapshot, error) {
	for {
		if err := ctx.Err(); err != nil {
			return model.Snapshot{}, err
		}
		sought, err := r.begin()
		if err != nil {
			return model.Snapshot{}, err
		}
		s, err := r.playing.Next()
		if err != nil {
			return model.Snapshot{}, r.end(err)
		}
		if !sought.IsZero() && s.Time.Before(sought.Add(-warmUp)) {
			continue
		}
		warming := !sought.IsZero() && s.Time.Before(sought)
		if !warming {
			if again, err := r.wait(ctx, s.Time); err != nil {
				return model.Snapshot{}, err
			} else if again {
				continue // another time was sought meanwhile
			}
		}
		r.last = s.Time
		r.mu.Lock()
		r.warming = warming
		if !warming && r.sought.Equal(sought) && !r.seeking {
			r.sought = time.Time{}
		}
		r.mu.Unlock()
		return r.shape(s), nil
	}
}

// begin opens the recording where that was asked for, and gives the time that is
// sought.
func (r *Replay) begin() (time.Time, error) {
	r.mu.Lock()
	sought, seeking := r.sought, r.seeking
	r.seeking = false
	if seeking {
		r.runs++
	}
	r.mu.Unlock()
	if !seeking && r.playing != nil {
		return sought, nil
	}
	if r.playing != nil {
		if err := r.playing.Close(); err != nil {
			return sought, err
		}
		r.playing = nil
	}
	playing, err := r.opt.Open()
	if err != nil {
		return sought, err
	}
	r.playing, r.last = playing, time.Time{}
	return sought, nil
}

// end keeps what the recording says of itself.
func (r *Replay) end(err error) error {
	if errors.Is(err, io.EOF) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = slices.Clone(r.playing.Notes())
	}
	return err
}

// Notes say what is wrong with the recording, as far as it was read.
func (r *Replay) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes
}

// wait sleeps until a snapshot's time has come; again says that another one was sought.
func (r *Replay) wait(ctx context.Context, at time.Time) (again bool, err error) {
	if r.last.IsZero() {
		return false, nil
	}
	left := min(at.Sub(r.last), longestPause)
	for left > 0 {
		r.mu.Lock()
		speed, seeking := r.speed, r.seeking
		r.mu.Unlock()
		if seeking {
			return true, nil
		}
		if speed <= 0 {
			return false, nil
		}
		// In small pieces, so that another speed and a time that is sought are heard of.
		piece := min(left, time.Duration(float64(pieceOfPause)*speed))
		if err := r.opt.Sleep(ctx, time.Duration(float64(piece)/speed)); err != nil {
			return false, err
		}
		left -= piece
	}
	return false, nil
}

// pieceOfPause is how long a key waits at most.
const pieceOfPause = 100 * time.Millisecond

// shape keeps the pods that are wanted. Numbers go on over a seek.
func (r *Replay) shape(s model.Snapshot) model.Snapshot {
	r.seq++
	s.Seq = r.seq
	if r.opt.Keep != nil {
		s.Pods = slices.DeleteFunc(s.Pods, func(p model.Pod) bool { return !r.opt.Keep(&p) })
	}
	return s
}

// Close closes the recording.
func (r *Replay) Close() {
	if r.playing != nil {
		_ = r.playing.Close()
		r.playing = nil
	}
}
