package collect

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

func TestLocalDeliversFrames(t *testing.T) {
	t.Parallel()
	shells(t)
	var frames []parse.Frame
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	err := Local(t.Context(), LocalOptions{TTL: 3 * time.Second, Now: func() time.Time { return at }},
		func(f parse.Frame, arrived time.Time) {
			if !arrived.Equal(at) {
				t.Errorf("arrived at %v", arrived)
			}
			frames = append(frames, f)
		})
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) < 2 || frames[0].Seq != 1 || frames[1].Seq != 2 {
		t.Errorf("%d frames", len(frames))
	}
}

// When the context ends, the sampler and its children are gone: Local would
// otherwise wait for the pipe that they hold.
func TestLocalEndsWithItsContext(t *testing.T) {
	t.Parallel()
	shells(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Local(ctx, LocalOptions{}, func(parse.Frame, time.Time) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestLocalTellsWhyTheShellFailed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	bad := filepath.Join(t.TempDir(), "badsh")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho first >&2\necho 'no such option: -c' >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	err := Local(t.Context(), LocalOptions{Shell: []string{bad}, Stderr: &stderr}, func(parse.Frame, time.Time) {})
	if err == nil || !strings.Contains(err.Error(), `exit status 3: "no such option: -c"`) {
		t.Errorf("err = %v", err)
	}
	if !strings.HasPrefix(stderr.String(), "first\n") {
		t.Errorf("stderr = %q", &stderr)
	}
	err = Local(t.Context(), LocalOptions{Shell: []string{filepath.Join(t.TempDir(), "nosh")}}, func(parse.Frame, time.Time) {})
	if err == nil || !strings.Contains(err.Error(), "starting the sampler with ") {
		t.Errorf("err = %v", err)
	}
}
