package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// What a probe costs its pod while it runs, as `make bench` measures it with ten
// listeners and a frame a second. Ephemeral containers cannot set resources, so
// that these are shares of the pod's, or the node's.
const probeCost = "about 12 millicores and 1 MiB of memory a pod, 12 MB of log an hour"

// question is what is asked before the first new probe of a run.
type question struct {
	context, namespace string
	image              string
	need, all          int // pods that need a new probe, and all that are looked at
	ends               time.Time
	ttl                time.Duration
	everywhere         bool // -A
}

// text tells what would be added to whom, in the words that an auditor would use.
func (q question) text() string {
	namespace := q.namespace
	if q.everywhere {
		namespace = "all namespaces"
	}
	has := ""
	if q.all > q.need {
		has = fmt.Sprintf(" of %d that are looked at", q.all)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "To see queues, a probe (an ephemeral container without privilege) has to be added to %s:\n", render.Plural(q.need, "pod"))
	for _, line := range [][2]string{
		{"context", q.context},
		{"namespace", namespace},
		{"pods", fmt.Sprintf("%d%s", q.need, has)},
		{"image", q.image},
		{"cost", probeCost},
		{"ends", fmt.Sprintf("by itself at %s (after %s)", q.ends.UTC().Format("15:04:05Z"), shortDuration(q.ttl))},
		{"stays", `the entry "backlog-probe-N" in the pod's list of containers, until the pod goes`},
	} {
		fmt.Fprintf(&b, "  %-10s %s\n", line[0], render.Clean(line[1]))
	}
	return b.String()
}

// shortDuration is 1h for 1h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// interactive says whether somebody can be asked: keyboard and messages are a
// terminal's.
func interactive(streams genericiooptions.IOStreams) bool {
	in, ok := streams.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	_, _, ok = terminalSize(streams.ErrOut)
	return ok
}

// confirm asks until there is a yes or a no. Enter alone is the default.
func confirm(ctx context.Context, streams genericiooptions.IOStreams, what string, enterIsYes bool) (bool, error) {
	choices := "[y/N]"
	if enterIsYes {
		choices = "[Y/n]"
	}
	for {
		fmt.Fprintf(streams.ErrOut, "%s %s ", what, choices)
		answer, err := readLine(ctx, streams.In)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "":
			return enterIsYes, nil
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// readLine reads up to a newline and not a byte more, since the rest is for the
// screen. It returns early when the context ends; what is read then is lost with
// the process.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var line []byte
		one := make([]byte, 1)
		for len(line) < 256 {
			n, err := in.Read(one)
			if n == 1 {
				if one[0] == '\n' || one[0] == '\r' {
					break
				}
				line = append(line, one[0])
			}
			if err != nil {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					break
				}
				done <- result{err: fmt.Errorf("reading the answer: %w", err)}
				return
			}
		}
		done <- result{line: strings.TrimSpace(string(line))}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.line, r.err
	}
}
