package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestRepeat(t *testing.T) {
	var out, notes bytes.Buffer
	err := Repeat(context.Background(), &script{snapshots: seconds(3)}, &out, RepeatOptions{Count: 2, Notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "repeat.txt", out.String())
	golden(t, "repeat-notes.txt", notes.String())
}

func TestRepeatWithoutHeaders(t *testing.T) {
	var out bytes.Buffer
	if err := Repeat(context.Background(), &script{snapshots: seconds(2)}, &out, RepeatOptions{Count: 1, NoHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 13 {
		t.Errorf("%d lines for 13 pods", n)
	}
}

func TestRepeatEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	src := &script{snapshots: seconds(1)}
	done := make(chan error, 1)
	out := newTerminal()
	go func() { done <- Repeat(ctx, src, out, RepeatOptions{}) }()
	out.waitFor(t, "server")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// over is a Source that has nothing more to give.
type over struct{ err error }

func (o over) Next(context.Context) (model.Snapshot, error) { return model.Snapshot{}, o.err }

func TestRepeatOfASourceThatEnds(t *testing.T) {
	if err := Repeat(context.Background(), over{io.EOF}, io.Discard, RepeatOptions{}); err != nil {
		t.Errorf("io.EOF: %v", err)
	}
	broken := errors.New("reading the recording")
	if err := Repeat(context.Background(), over{broken}, io.Discard, RepeatOptions{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
