package collect

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// loader is what the shell is started with: the sampler itself comes over its
// standard input, since a command is part of a URL, which proxies cut at 8 KiB.
// read takes one byte at a time from a pipe and never more than the line.
const loader = `# kubectl-backlog samples this pod's listening sockets; the script comes on standard input
s=
while :; do
	IFS= read -r l || exit 0
	[ "$l" = "` + endOfScript + `" ] && break
	s="$s$l
"
done
eval "$s"`

const endOfScript = "==backlog-script end=="

// script is the sampler with its settings in front.
func (f *execFollower) script(container string) string {
	settings := envStdin + "=1\n"
	// What the container's own environment holds under these names is not meant.
	for _, name := range []string{envTTL, envTarget, envContainer, envContainerID, envOwners} {
		settings += name + "=\n"
	}
	for _, v := range f.target(container) {
		settings += v.Name + "='" + strings.ReplaceAll(v.Value, "'", "") + "'\n"
	}
	return settings + samplerScript + "\n" + endOfScript + "\n"
}

// target are the settings for the threads of the target: they are seen from its
// own container, or from any in a process namespace that the pod shares.
func (f *execFollower) target(container string) []corev1.EnvVar {
	if f.execer.Target == nil {
		return nil
	}
	target := f.execer.Target(f.pod)
	if shared := f.pod.Spec.ShareProcessNamespace; target != container && (shared == nil || !*shared) {
		return nil
	}
	return targetEnv(f.pod, target)
}

func (f *execFollower) followShell(ctx context.Context, w way, pickier bool) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A first frame may take as long as a connection; later ones are expected.
	quiet := max(silence, 5*f.execer.interval())
	watchdog := time.AfterFunc(dialTimeout, cancel)
	defer watchdog.Stop()

	ticks := newTicks(ctx, f.script(w.container), f.execer.interval())
	out, in := io.Pipe()
	defer out.Close()
	said := &words{}
	ended := make(chan error, 1)
	go func() {
		err := f.execer.run(ctx, command{
			namespace: f.pod.Namespace, pod: f.pod.Name, container: w.container,
			words: []string{"sh", "-c", loader, "backlog-probe"},
			stdin: ticks, stdout: in, stderr: said,
		})
		_ = in.Close()
		ended <- err
	}()
	frames := parse.NewFrameReader(&watched{r: out, timer: watchdog, quiet: quiet})
	delivered := false
	for {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		if _, ok := frame.Section("ss"); !ok && pickier && !delivered {
			cancel()
			<-ended
			return errWithoutSS
		}
		delivered = true
		f.deliver(w, frame)
		ticks.more()
	}
	given := ctx.Err() != nil // by the watchdog, unless it is the caller
	cancel()
	_ = out.Close()
	switch err := <-ended; {
	case outer.Err() != nil:
		return outer.Err()
	case given:
		return errNoFrame
	case delivered && err == nil:
		return io.EOF // it ended in good order, with its container
	case err == nil:
		return fmt.Errorf("it ended without a frame: %q", answer(nil, frames.Stray))
	default:
		if text := said.line(); text != "" && !delivered {
			return &saidError{err: err, said: text}
		}
		return err
	}
}

// saidError is an error of a command, and the last that it said.
type saidError struct {
	err  error
	said string
}

func (e *saidError) Error() string { return answer(e.err, e.said) }
func (e *saidError) Unwrap() error { return e.err }

// ticks is the standard input of a sampler: its script, then a line for each
// frame, an interval apart and not before the last frame has come. A client that
// pauses costs the pod nothing.
type ticks struct {
	ctx      context.Context
	script   *strings.Reader
	interval time.Duration
	came     chan struct{}
	last     time.Time
}

func newTicks(ctx context.Context, script string, interval time.Duration) *ticks {
	return &ticks{ctx: ctx, script: strings.NewReader(script), interval: interval, came: make(chan struct{}, 1)}
}

// more says that a frame has come.
func (t *ticks) more() {
	select {
	case t.came <- struct{}{}:
	default:
	}
}

func (t *ticks) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if t.script.Len() > 0 {
		t.last = time.Now()
		return t.script.Read(p)
	}
	// A frame that could not be read must not stop the next one.
	late := time.NewTimer(2 * t.interval)
	defer late.Stop()
	select {
	case <-t.ctx.Done():
		return 0, io.EOF
	case <-t.came:
	case <-late.C:
	}
	if pause(t.ctx, time.Until(t.last.Add(t.interval))) != nil {
		return 0, io.EOF
	}
	t.last = time.Now()
	p[0] = '\n'
	return 1, nil
}
