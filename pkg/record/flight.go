package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// FlightOptions of a flight recorder.
type FlightOptions struct {
	Header Header
	// MaxBytes is the most that all flight recorders in the folder together keep; 50 MB
	// when 0.
	MaxBytes int64
	// Now is the clock, for the folder's name and the age of others.
	Now func() time.Time
}

const (
	flightBytes   = 50_000_000
	segmentSuffix = ".flight.jsonl.gz"
	// segments is how many parts the bound is cut into: the oldest is dropped whole.
	segments = 12
	// livesFor is how long after its newest write another recorder counts as running.
	livesFor = time.Minute
)

// Flight is a recording of the newest time, bounded in size: segments in a folder of
// its own, of which the oldest is removed. It is for one user at a time.
type Flight struct {
	dir     string
	options FlightOptions
	current *File
	n       int
	kept    []segment
	err     error
}

type segment struct {
	path string
	size int64
}

// StartFlight begins in a new folder below dir, and removes what is too much of runs
// that are over.
func StartFlight(dir string, o FlightOptions) (*Flight, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, flightBytes)
	f := &Flight{options: o, dir: filepath.Join(dir, fmt.Sprintf("%s-%d", o.Now().UTC().Format("20060102T150405Z"), os.Getpid()))}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the flight recorder's folder: %w", err)
	}
	// Half of the bound is for this run: at its full length it may need all.
	if err := pruneFlights(dir, f.dir, o.MaxBytes/2, o.Now()); err != nil {
		return nil, err
	}
	return f, f.next()
}

// Path is the folder, for Open.
func (f *Flight) Path() string { return f.dir }

// Add writes a tick. After an error every call gives the same one.
func (f *Flight) Add(s model.Snapshot) error {
	if f.err != nil {
		return f.err
	}
	err := f.current.Add(s)
	if err == nil && f.current.Size() > f.options.MaxBytes/segments {
		err = f.turn()
	}
	f.err = err
	return err
}

// turn ends the segment and begins the next one.
func (f *Flight) turn() error {
	if err := f.current.Close(); err != nil {
		return err
	}
	f.kept = append(f.kept, segment{f.current.Path(), f.current.Size()})
	total := int64(0)
	for _, s := range f.kept {
		total += s.size
	}
	// Room for the segment that begins, and a little for the tick that fills it.
	for len(f.kept) > 1 && total > f.options.MaxBytes*(segments-2)/segments {
		if err := os.Remove(f.kept[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the oldest part of the flight recorder: %w", err)
		}
		total -= f.kept[0].size
		f.kept = f.kept[1:]
	}
	if err := pruneFlights(filepath.Dir(f.dir), f.dir, max(0, f.options.MaxBytes-total-f.options.MaxBytes/segments), f.options.Now()); err != nil {
		return err
	}
	return f.next()
}

func (f *Flight) next() error {
	f.n++
	file, err := Create(filepath.Join(f.dir, fmt.Sprintf("%06d%s", f.n, segmentSuffix)), FileOptions{Header: f.options.Header})
	if err != nil {
		return err
	}
	f.current = file
	return nil
}

// Flush writes what is still in memory, so that the folder can be read.
func (f *Flight) Flush() error {
	if f.err != nil {
		return f.err
	}
	return f.current.flush()
}

// Close ends the recorder; its folder stays.
func (f *Flight) Close() error { return f.current.Close() }

// pruneFlights removes the folders of runs that are over, the oldest first, until the
// rest has no more than a number of bytes.
func pruneFlights(dir, own string, most int64, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the flight recorders' folder: %w", err)
	}
	type run struct {
		path   string
		size   int64
		newest time.Time
	}
	var runs []run
	for _, e := range entries {
		r := run{path: filepath.Join(dir, e.Name())}
		parts, err := filepath.Glob(filepath.Join(r.path, "*"+segmentSuffix))
		if err != nil || r.path == own || len(parts) == 0 {
			continue
		}
		for _, p := range parts {
			if info, err := os.Stat(p); err == nil {
				r.size += info.Size()
				if info.ModTime().After(r.newest) {
					r.newest = info.ModTime()
				}
			}
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b run) int { return b.newest.Compare(a.newest) })
	total := int64(0)
	for _, r := range runs {
		total += r.size
		if total <= most || now.Sub(r.newest) < livesFor {
			continue
		}
		if err := os.RemoveAll(r.path); err != nil {
			return fmt.Errorf("removing an old flight recorder: %w", err)
		}
	}
	return nil
}
