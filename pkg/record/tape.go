package record

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// TapeOptions bound a tape.
type TapeOptions struct {
	// Reach is how far back it remembers; 0 remembers all.
	Reach time.Duration
}

// chunkTicks is how many ticks are compressed together. Each chunk begins with all pods
// whole, so that reading can begin there.
const chunkTicks = 30

// Tape is a recording in memory, of values alone. One may write to it while others
// read.
type Tape struct {
	options TapeOptions

	mu     sync.Mutex
	chunks []*chunk
	out    *bytes.Buffer // of the chunk that is written
	zip    *flate.Writer
	lines  *Writer
	open   *chunk
	ticks  int

	// span has a lock of its own: the screen asks for it while a tick is written.
	spanLock sync.Mutex
	from, to time.Time
}

// chunk is a part of the tape.
type chunk struct {
	from, to time.Time
	data     []byte // compressed lines; nil while it is written
}

// NewTape is empty.
func NewTape(o TapeOptions) *Tape {
	t := &Tape{options: o, out: &bytes.Buffer{}}
	// The level is one that exists.
	t.zip, _ = flate.NewWriter(t.out, flate.DefaultCompression)
	t.lines = newWriter(t.zip)
	t.lines.noRaw = true
	return t
}

// Add remembers a snapshot.
func (t *Tape) Add(s model.Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ticks == chunkTicks {
		t.finish()
	}
	if t.open == nil {
		t.open = &chunk{from: s.Time}
		t.chunks = append(t.chunks, t.open)
		t.ticks = 0
		t.lines.restart()
	}
	_ = t.lines.Add(s) // memory takes everything
	t.ticks++
	t.open.to = s.Time
	if t.options.Reach > 0 {
		old := s.Time.Add(-t.options.Reach)
		for len(t.chunks) > 1 && t.chunks[0].to.Before(old) {
			t.chunks = t.chunks[1:]
		}
	}
	t.spanLock.Lock()
	defer t.spanLock.Unlock()
	t.from, t.to = t.chunks[0].from, s.Time
}

// finish ends the chunk that is written.
func (t *Tape) finish() {
	_ = t.zip.Close()
	t.open.data = bytes.Clone(t.out.Bytes())
	t.open = nil
	t.out.Reset()
	t.zip.Reset(t.out)
}

// Span is the time that is remembered; both are zero while there is nothing.
func (t *Tape) Span() (from, to time.Time) {
	t.spanLock.Lock()
	defer t.spanLock.Unlock()
	return t.from, t.to
}

// Seek gives a player that begins with the newest chunk that begins at or before a
// time, or with the oldest one. What is added later is not in it.
func (t *Tape) Seek(from time.Time) (*Player, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := 0
	for i, c := range t.chunks {
		if !c.from.After(from) {
			first = i
		}
	}
	var parts []io.Reader
	for _, c := range t.chunks[first:] {
		data := c.data
		if data == nil {
			_ = t.zip.Flush()
			data = bytes.Clone(t.out.Bytes())
		}
		parts = append(parts, &chunkReader{data: data})
	}
	return newPlayer(io.MultiReader(parts...), "what is remembered"), nil
}

// chunkReader decompresses a chunk when its turn comes. The one that is still written
// has no end.
type chunkReader struct {
	data []byte
	in   io.Reader
}

// Read is io.Reader's.
func (r *chunkReader) Read(b []byte) (int, error) {
	if r.in == nil {
		r.in = flate.NewReader(bytes.NewReader(r.data))
	}
	n, err := r.in.Read(b)
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // flate gives it bare
		err = io.EOF
	}
	return n, err
}
