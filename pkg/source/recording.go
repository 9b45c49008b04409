package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
)

// Recording is what can be played: what the tool wrote itself, a probe's log, or the
// raw form that anyone can write (docs/recording.md).
type Recording interface {
	// Next gives the next snapshot, io.EOF behind the last whole one.
	Next() (model.Snapshot, error)
	// Notes say what is wrong with it, as far as it was read, and what it cannot tell.
	Notes() []string
	// Title names what it is of; empty where it does not say.
	Title() string
	Close() error
}

// OpenRecording opens any of the three forms, compressed or not; what it is tells its
// content.
func OpenRecording(path string) (Recording, error) {
	player, err := record.Open(path)
	var no *record.NotRecordingError
	if err == nil || !errors.As(err, &no) {
		if err != nil {
			return nil, err
		}
		return player, nil
	}
	text, openErr := record.OpenText(path)
	if openErr != nil {
		return nil, err // it says what the file is instead
	}
	r, ok := otherForm(text, path)
	if !ok {
		return nil, errors.Join(err, text.Close())
	}
	return r, nil
}

// headSize is how much of a file is looked at to tell what it is.
const headSize = 64 << 10

// otherForm tells a probe's log and the raw form by their first lines.
func otherForm(text io.ReadCloser, path string) (Recording, bool) {
	in := bufio.NewReaderSize(text, headSize)
	head, _ := in.Peek(headSize)
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	name = strings.TrimSuffix(name, filepath.Ext(name))
	switch {
	case bytes.Contains(head, []byte("==backlog-frame/1 ")):
		return newLogRecording(in, text.Close, name), true
	case isRawLine(head):
		return newRawRecording(in, text.Close, name), true
	}
	return nil, false
}

// maxRecordedLine bounds a line of these forms.
const maxRecordedLine = 8 << 20

// lines gives the lines of a recording. tooLong and a read that fails end it with a
// note: what came before is whole.
type lines struct {
	in    *bufio.Scanner
	notes []string
	name  string
}

func newLines(in io.Reader, name string) *lines {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxRecordedLine)
	return &lines{in: s, name: name}
}

func (l *lines) next() ([]byte, bool) {
	if l.in.Scan() {
		return l.in.Bytes(), true
	}
	if err := l.in.Err(); err != nil && len(l.notes) < 8 {
		l.notes = append(l.notes, fmt.Sprintf("%s is cut off or damaged (%v); what came before was read", l.name, err))
	}
	return nil, false
}
