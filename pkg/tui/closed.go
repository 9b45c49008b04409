package tui

import (
	"io"
	"os"
	"sync"
)

// watchedOutput notices that the terminal is closed. bubbletea drops the errors of
// its writes and would draw for ever for nobody.
type watchedOutput struct {
	w      io.Writer
	once   sync.Once
	failed func(error)
}

// Write is the output's.
func (o *watchedOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.once.Do(func() { go o.failed(err) }) // bubbletea holds a lock that failed may want
	}
	return n, err
}

// watchedFile is watchedOutput for a real terminal: bubbletea and lipgloss ask a
// file for its size and settings.
type watchedFile struct {
	*os.File
	watched *watchedOutput
}

// Write is the file's.
func (f watchedFile) Write(p []byte) (int, error) { return f.watched.Write(p) }

// WriteString is Write.
func (f watchedFile) WriteString(s string) (int, error) { return f.watched.Write([]byte(s)) }

// watchOutput tells once when the output can no longer be written to.
func watchOutput(w io.Writer, failed func(error)) io.Writer {
	o := &watchedOutput{w: w, failed: failed}
	if f, ok := w.(*os.File); ok {
		return watchedFile{f, o}
	}
	return o
}
