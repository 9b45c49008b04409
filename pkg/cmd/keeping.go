package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// Where looking back begins to read: a verdict needs half a minute before it.
const lookBack = 34 * time.Second

// screenReach is how far back the screen remembers: more than the quarter of an hour
// that is promised.
const screenReach = 20 * time.Minute

// keeping is a source whose snapshots are remembered, and written to files.
type keeping struct {
	source.Source // judged
	*past

	mu     sync.Mutex
	last   model.Snapshot
	flight *record.Flight // nil when there is none
	file   *record.File   // nil while nothing is recorded
	path   string         // of the file
	// trouble is why what is written all the time is not any more.
	trouble error
}

// newKeeping remembers what a source gives.
func newKeeping(src source.Source, judge func(source.Source) *judged) *keeping {
	return &keeping{Source: judge(src), past: &past{tape: record.NewTape(record.TapeOptions{Reach: screenReach}), judge: judge}}
}

// Next is the source's, once it is written down.
func (k *keeping) Next(ctx context.Context) (model.Snapshot, error) {
	s, err := k.Source.Next(ctx)
	if err != nil {
		return s, err
	}
	k.tape.Add(s)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = s
	if k.flight != nil && k.trouble == nil {
		if err := k.flight.Add(s); err != nil {
			k.trouble = fmt.Errorf("the flight recorder has stopped: %w", err)
		}
	}
	if k.file != nil {
		if err := k.file.Add(s); err != nil {
			k.trouble = fmt.Errorf("the recording has stopped: %w", err)
			k.closeFile()
		}
	}
	return s, nil
}

// problem is what the screen says of files that are written all the time, and
// whether the recording has ended by that.
func (k *keeping) problem() (text string, stopped bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trouble == nil {
		return "", false
	}
	return k.trouble.Error(), k.file == nil && k.path != ""
}

// record begins a recording at a path, or ends the one that runs.
func (k *keeping) record(path string, on bool, header record.Header) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !on {
		if k.file == nil {
			return "", errors.New("there is none any more")
		}
		path := k.path
		return path, k.closeFile()
	}
	if k.file != nil {
		return k.path, nil
	}
	f, err := record.Create(path, record.FileOptions{Header: header})
	if err != nil {
		return "", err
	}
	k.file, k.path = f, path
	return path, nil
}

// closeFile needs the lock.
func (k *keeping) closeFile() error {
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// close ends what is written and gives what to tell about it.
func (k *keeping) close() (notes []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file != nil {
		notes = append(notes, "recording: "+k.path)
	}
	if err := k.closeFile(); err != nil {
		notes = append(notes, fmt.Sprintf("ending the recording: %v", err))
	}
	if k.flight != nil {
		if err := k.flight.Close(); err != nil && k.trouble == nil {
			k.trouble = fmt.Errorf("ending the flight recorder: %w", err)
		}
		notes = append(notes, "flight recorder: "+k.flight.Path()+"  (kubectl backlog top --replay shows it)")
	}
	if k.trouble != nil {
		notes = append(notes, k.trouble.Error())
	}
	return notes
}

// newest is the newest snapshot.
func (k *keeping) newest() model.Snapshot {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// player reads what was seen, from the flight recorder where there is one, since that
// has the raw text, else what is remembered.
func (k *keeping) player() (source.Recording, error) {
	k.mu.Lock()
	flight := k.flight
	var err error
	if flight != nil {
		err = flight.Flush()
	}
	k.mu.Unlock()
	if flight != nil && err == nil {
		if p, err := record.Open(flight.Path()); err == nil {
			return p, nil
		}
	}
	return k.tape.Seek(time.Time{})
}
