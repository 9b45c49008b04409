package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a Source that gives the seconds one after another, as fast as it is
// asked, and then waits for its context.
type script struct {
	snapshots []model.Snapshot
	mu        sync.Mutex
	calls     int
	running   int
	overlaps  bool
}

func (s *script) Next(ctx context.Context) (model.Snapshot, error) {
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.running++
	s.overlaps = s.overlaps || s.running > 1
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	if n > len(s.snapshots) {
		<-ctx.Done()
		return model.Snapshot{}, ctx.Err()
	}
	return s.snapshots[n-1], nil
}

// terminal collects what the screen writes and tells when some text was drawn.
type terminal struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

func newTerminal() *terminal { return &terminal{changed: make(chan struct{}, 1)} }

func (o *terminal) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *terminal) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor blocks until all of the texts were written. The bound is there to say
// what was missing instead of hanging; no test is about time.
func (o *terminal) waitFor(t *testing.T, texts ...string) {
	t.Helper()
	bound := time.NewTimer(time.Minute)
	defer bound.Stop()
	for {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(o.String(), text)
		}
		if all {
			return
		}
		select {
		case <-o.changed:
		case <-bound.C:
			t.Fatalf("not all of %q were drawn, in:\n%q", texts, o.String())
		}
	}
}

const enterAlt, leaveAlt = "\x1b[?1049h", "\x1b[?1049l"

// start runs the screen on pipes.
func start(t *testing.T, ctx context.Context, src Source) (out *terminal, keys io.WriteCloser, done chan error) {
	t.Helper()
	in, keys := io.Pipe()
	t.Cleanup(func() { _ = keys.Close() })
	out, done = newTerminal(), make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Source: src, In: in, Out: out, Title: "prod-eu1/shop", Interval: time.Millisecond,
			Now: func() time.Time { return noon.Add(31 * time.Second) },
		})
	}()
	return out, keys, done
}

func typeKeys(t *testing.T, w io.Writer, keys string) {
	t.Helper()
	if _, err := io.WriteString(w, keys); err != nil {
		t.Fatal(err)
	}
}

func seconds(n int) (list []model.Snapshot) {
	for i := 1; i <= n; i++ {
		list = append(list, everyKind(i))
	}
	return list
}

func TestRunShowsAndQuits(t *testing.T) {
	src := &script{snapshots: seconds(31)}
	out, keys, done := start(t, context.Background(), src)
	out.waitFor(t, "server", "overflowing", "pulling the probe's image", "12:00:31Z")
	typeKeys(t, keys, "/web-b")
	out.waitFor(t, "1 pod")
	typeKeys(t, keys, "\r")
	typeKeys(t, keys, "\r")
	out.waitFor(t, "[1 Verdict]", "holds 128 of 128")
	typeKeys(t, keys, "2")
	out.waitFor(t, "Network namespace")
	typeKeys(t, keys, "q")
	if err := <-done; err != nil {
		t.Errorf("q: %v", err)
	}
	text := out.String()
	if !strings.Contains(text, enterAlt) || !strings.HasSuffix(text[:strings.LastIndex(text, leaveAlt)+len(leaveAlt)], leaveAlt) {
		t.Error("the terminal was not left as it was")
	}
	if strings.LastIndex(text, leaveAlt) < strings.LastIndex(text, enterAlt) || !strings.Contains(text, "\x1b[?25h") {
		t.Error("the alternate screen was not left, or the cursor stays hidden")
	}
	if src.overlaps {
		t.Error("the Source was asked twice at once")
	}
	if src.running != 0 {
		t.Error("a call of the Source was still under way")
	}
}

func TestRunInterrupted(t *testing.T) {
	out, keys, done := start(t, context.Background(), &script{snapshots: seconds(2)})
	out.waitFor(t, "server")
	typeKeys(t, keys, "\x03")
	if err := <-done; !errors.Is(err, ErrInterrupted) {
		t.Errorf("ctrl-c: %v", err)
	}
	if !strings.Contains(out.String(), leaveAlt) {
		t.Error("the terminal was not left as it was")
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	out, keys, done := start(t, ctx, &script{snapshots: seconds(2)})
	out.waitFor(t, "server")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if !strings.Contains(out.String(), leaveAlt) {
		t.Error("the terminal was not left as it was")
	}
	_ = keys.Close()
}

// failing fails twice, then gives what it has.
type failing struct{ script }

func (f *failing) Next(ctx context.Context) (model.Snapshot, error) {
	f.mu.Lock()
	first := f.calls == 0
	if first {
		f.calls++
		f.snapshots = append([]model.Snapshot{{}}, f.snapshots...)
	}
	f.mu.Unlock()
	if first {
		return model.Snapshot{}, errors.New("listing pods: connection refused")
	}
	return f.script.Next(ctx)
}

func TestRunOutlivesAnError(t *testing.T) {
	out, keys, done := start(t, context.Background(), &failing{script{snapshots: seconds(3)}})
	out.waitFor(t, "connection refused; trying again")
	out.waitFor(t, "server")
	typeKeys(t, keys, "q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPauseAfter(t *testing.T) {
	p := &poller{interval: 2 * time.Second}
	for _, c := range []struct {
		name string
		took time.Duration
		err  error
		want time.Duration
	}{
		{"a Source that answers at once", 0, nil, 2 * time.Second},
		{"one that paces itself", 2 * time.Second, nil, 0},
		{"a slow one", 9 * time.Second, nil, 0},
		{"a clock that was set back", -time.Hour, nil, 2 * time.Second},
	} {
		if got := p.pauseAfter(snapshotMsg{began: noon, at: noon.Add(c.took), err: c.err}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	p.interval = time.Millisecond
	if got := p.pauseAfter(snapshotMsg{began: noon, at: noon, err: io.ErrUnexpectedEOF}); got != errorPause {
		t.Errorf("after an error: %v", got)
	}
}
