package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"
)

// Open opens a recording, or a flight recorder's folder.
func Open(path string) (*Player, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening a recording: %w", err)
	}
	if info.IsDir() {
		return openFlight(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a recording: %w", err)
	}
	p, err := NewPlayer(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p.close = f.Close
	return p, nil
}

// openFlight reads the segments of a flight recorder as one recording.
func openFlight(dir string) (*Player, error) {
	segments, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		return nil, fmt.Errorf("reading the folder of a flight recorder: %w", err)
	}
	if len(segments) == 0 {
		return nil, &NotRecordingError{dir, "is a folder without recordings of a flight recorder"}
	}
	slices.Sort(segments)
	r := &segmentReader{paths: segments}
	p := newPlayer(r, dir)
	p.close = r.close
	if err := p.readHeader(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return p, nil
}

// segmentReader reads files one behind the other. The end of each may be missing: that
// of the newest is still written.
type segmentReader struct {
	paths []string
	file  *os.File
	in    io.Reader
}

// Read is io.Reader's.
func (r *segmentReader) Read(b []byte) (int, error) {
	for {
		if r.in == nil {
			if len(r.paths) == 0 {
				return 0, io.EOF
			}
			if err := r.next(); err != nil {
				return 0, err
			}
		}
		n, err := r.in.Read(b)
		if n > 0 {
			return n, nil
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		r.in = nil
		if err := r.close(); err != nil {
			return 0, err
		}
		// A line that was cut off must not run into the next segment's first.
		b[0] = '\n'
		return 1, nil
	}
}

func (r *segmentReader) next() error {
	path := r.paths[0]
	r.paths = r.paths[1:]
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the oldest one, removed meanwhile
	}
	if err != nil {
		return fmt.Errorf("opening a segment: %w", err)
	}
	r.file = f
	if r.in, err = decompressed(f, path); err != nil {
		return err
	}
	return nil
}

func (r *segmentReader) close() error {
	f := r.file
	if r.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// decompressed gives what is in r, whether that is compressed or not.
func decompressed(r io.Reader, name string) (io.Reader, error) {
	in := bufio.NewReader(r)
	head, err := in.Peek(2)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return nil, &NotRecordingError{name, "is empty"}
	}
	if !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &NotRecordingError{name, "was cut off before its first line"}
	}
	if err != nil {
		return nil, &NotRecordingError{name, "is compressed, but damaged at its beginning"}
	}
	return z, nil
}

// readHeader reads the first line.
func (p *Player) readHeader() error {
	line, err := p.read()
	switch {
	case errors.Is(err, io.EOF):
		return &NotRecordingError{p.name, "is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF) && len(p.buf) > 0:
		line = p.buf // one line without an end: what is it?
	case err != nil:
		return &NotRecordingError{p.name, "has no lines that could be read"}
	}
	version := int64(0)
	d := p.dec
	d.reset(line)
	err = d.object(func(name string) error {
		switch name {
		case "backlogRecording":
			return d.int(64, func(n int64) { version = n })
		case "tool":
			return d.string(func(s string) { p.header.Tool = s })
		case "title":
			return d.string(func(s string) { p.header.Title = s })
		case "redacted":
			return d.bool(func(b bool) { p.header.Redacted = b })
		case "started":
			return d.string(func(s string) { p.header.Started = parseTime(s) })
		}
		return d.skip()
	})
	switch {
	case version > Version:
		return &VersionError{p.name, version}
	case version != Version, err != nil:
		return &NotRecordingError{p.name, looksLike(line)}
	}
	return nil
}

// looksLike says what the first line of a file reminds of.
func looksLike(line []byte) string {
	line = bytes.TrimSpace(line)
	lower := bytes.ToLower(line[:min(len(line), 64)])
	switch {
	case bytes.HasPrefix(line, []byte(`{"apiVersion"`)), bytes.Equal(line, []byte("{")), bytes.HasPrefix(lower, []byte("apiversion")):
		return "looks like an object of Kubernetes, or of `get -o json`"
	case bytes.HasPrefix(lower, []byte("<!doctype")), bytes.HasPrefix(lower, []byte("<html")):
		return "looks like HTML"
	case bytes.HasPrefix(line, []byte("{")):
		return "has lines of JSON, but no header of a recording"
	case !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0:
		return "looks like a binary file"
	}
	return "is no recording"
}

// parseTime is zero for what is no time: a header without one is a header.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// OpenText opens a file that is no recording of this package, decompressed where it is
// compressed.
func OpenText(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a recording: %w", err)
	}
	in, err := decompressed(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{in, f}, nil
}
