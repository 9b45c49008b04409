package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// program is kubectl-backlog while it runs.
type program struct {
	*env
	cmd      *exec.Cmd
	out, err buffer
	done     chan struct{}
}

// buffer is what was printed so far, read while more is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the program in the background, until the test ends at most.
func (e *env) start(args ...string) *program {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{env: e, cmd: e.command(ctx, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		cancel()
		e.Fatalf("starting kubectl-backlog %q: %v", args, err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	e.Cleanup(func() {
		cancel()
		<-p.done
		if e.Failed() {
			e.Logf("kubectl backlog %s\n%.20000s\n%s", strings.Join(args, " "), p.stdout(), p.stderr())
		}
	})
	return p
}

func (p *program) stdout() string { return p.out.String() }
func (p *program) stderr() string { return p.err.String() }

// wait gives the exit code.
func (p *program) wait() int {
	p.Helper()
	select {
	case <-p.done:
	case <-time.After(3 * time.Minute):
		p.Fatalf("kubectl-backlog does not end:\n%s%s", p.stdout(), p.stderr())
	}
	return p.cmd.ProcessState.ExitCode()
}

// noise is what no interrupt may leave on stderr: errors of its own making, and
// log lines of libraries.
var noise = regexp.MustCompile(`(?m)error|cancell?ed|deadline|panic|goroutine|^[EWIF]\d{4} `)

// interrupt is ctrl-c. The program must end by itself within two seconds, with
// the code of an interrupt and without a word about it.
func (p *program) interrupt() {
	p.Helper()
	begun := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.Fatalf("interrupting: %v (code %d)\n%s%s", err, p.wait(), p.stdout(), p.stderr())
	}
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.Fatalf("20 s after ctrl-c the program still runs:\n%s", p.stderr())
	}
	if took := time.Since(begun); took > 2*time.Second {
		p.Errorf("it took %s to end after ctrl-c", took)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		p.Errorf("exit code %d after ctrl-c, want 130", code)
	}
	if found := noise.FindString(p.stderr()); found != "" {
		p.Errorf("%q on stderr after ctrl-c:\n%s", found, p.stderr())
	}
}

// items are the pods that -o json has printed so far, whole ones alone.
func (p *program) items() []item {
	p.Helper()
	items, _ := p.decode()
	return items
}

// rest is what follows the last whole object.
func (p *program) rest() string {
	p.Helper()
	_, rest := p.decode()
	return rest
}

func (p *program) decode() (items []item, rest string) {
	p.Helper()
	text := p.stdout()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		begin := d.InputOffset()
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return items, text[begin:]
		case err != nil:
			p.Fatalf("reading JSON: %v\n%.2000s", err, text[begin:])
		}
		var many struct{ Items *[]item }
		var one item
		if err := errors.Join(json.Unmarshal(raw, &many), json.Unmarshal(raw, &one)); err != nil {
			p.Fatalf("reading a pod: %v\n%.2000s", err, raw)
		}
		if many.Items != nil {
			items = append(items, *many.Items...)
		} else {
			items = append(items, one)
		}
	}
}

// shows waits until a pod is printed that is as wanted, and gives the first.
func (p *program) shows(what string, wanted func(item) bool) item {
	p.Helper()
	var found item
	p.eventually(what, func() error {
		items := p.items()
		i := slices.IndexFunc(items, wanted)
		if i < 0 {
			return errorf("not in %d pods\n%s", len(items), p.stderr())
		}
		found = items[i]
		return nil
	})
	return found
}

// says waits until all of the words are on stdout.
func (p *program) says(what string, words ...string) {
	p.Helper()
	p.eventually(what, func() error {
		for _, w := range words {
			if !strings.Contains(p.stdout(), w) {
				return errorf("%q is not in\n%s%s", w, p.stdout(), p.stderr())
			}
		}
		return nil
	})
}

// lastTable is the newest whole table of top: they are apart by an empty line.
func (p *program) lastTable() string {
	tables := strings.Split(p.stdout(), "\n\n")
	return tables[max(0, len(tables)-2)]
}
