package record

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// FileOptions bound a recording.
type FileOptions struct {
	Header Header
	// MaxBytes is the most that the file may have, MaxAge the longest time from its
	// first tick to its last; 0 is no bound.
	MaxBytes int64
	MaxAge   time.Duration
}

// FullError says that a recording has reached its bound. What was written is whole.
type FullError struct{ Why string }

func (e *FullError) Error() string { return "the recording is full: " + e.Why }

// File is a recording that is being written. It is for one user at a time.
type File struct {
	path    string
	options FileOptions
	file    *os.File
	size    *counter
	zip     *gzip.Writer // nil for a file that is not compressed
	lines   *Writer

	ticks       int
	first, last time.Time
	flushed     time.Time
	err         error
	closed      bool
}

// flushEvery is how much of a recording may be lost when the program is killed.
const flushEvery = 3 * time.Second

// Create begins a recording: compressed, unless its name ends in .jsonl. A file of that
// name is overwritten.
func Create(path string, o FileOptions) (*File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // names of clusters and pods are in it
	if err != nil {
		return nil, fmt.Errorf("beginning a recording: %w", err)
	}
	f := &File{path: path, options: o, file: file, size: &counter{w: file}}
	var out io.Writer = f.size
	if !strings.HasSuffix(path, ".jsonl") {
		f.zip = gzip.NewWriter(f.size)
		out = f.zip
	}
	if f.lines, err = NewWriter(out, o.Header); err == nil {
		err = f.flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning the recording %s: %w", path, err), file.Close())
	}
	return f, nil
}

// Add writes a tick. Once the recording is full, or could not be written, every call
// gives the same error: a *FullError, or the disk's.
func (f *File) Add(s model.Snapshot) error {
	if f.err != nil {
		return f.err
	}
	switch {
	case f.options.MaxBytes > 0 && f.size.n >= f.options.MaxBytes:
		f.err = &FullError{fmt.Sprintf("%s has %d bytes", f.path, f.size.n)}
	case f.options.MaxAge > 0 && f.ticks > 0 && s.Time.Sub(f.first) > f.options.MaxAge:
		f.err = &FullError{fmt.Sprintf("%s is %s long", f.path, f.options.MaxAge)}
	}
	if f.err != nil {
		return f.err
	}
	err := f.lines.Add(s)
	if err == nil && (s.Time.Sub(f.flushed) >= flushEvery || s.Time.Before(f.flushed)) {
		f.flushed = s.Time
		err = f.flush()
	}
	if err != nil {
		f.err = fmt.Errorf("writing %s: %w", f.path, err)
		return f.err
	}
	if f.ticks++; f.ticks == 1 {
		f.first = s.Time
	}
	f.last = s.Time
	return nil
}

// Flush writes what is still in memory.
func (f *File) flush() error {
	if f.zip == nil {
		return nil
	}
	return f.zip.Flush()
}

// Path, Ticks and Size (in bytes, as far as it was written) of the recording.
func (f *File) Path() string { return f.path }

// Ticks is how many were written.
func (f *File) Ticks() int { return f.ticks }

// Size in bytes, as far as it was written.
func (f *File) Size() int64 { return f.size.n }

// Close ends the recording.
func (f *File) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	var full *FullError
	if f.err != nil && !errors.As(f.err, &full) {
		return f.file.Close() // it was told
	}
	err := f.lines.Close(f.last)
	if f.zip != nil {
		err = errors.Join(err, f.zip.Close())
	}
	if err = errors.Join(err, f.file.Close()); err != nil {
		return fmt.Errorf("ending the recording %s: %w", f.path, err)
	}
	return nil
}

// counter counts what goes through it.
type counter struct {
	w io.Writer
	n int64
}

// Write is the writer's.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
