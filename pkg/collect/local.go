package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// LocalOptions say how the sampler runs on this machine.
type LocalOptions struct {
	// Shell is a POSIX shell and its first arguments; {"sh"} when empty.
	Shell []string
	// Env is the environment; the process's own when nil.
	Env []string
	// Target is a process whose network namespace is looked at, and whose threads
	// are shown; 0: none, and our own namespace.
	Target int
	// TTL is when it ends by itself; 0: never.
	TTL time.Duration
	// Stderr gets what the shell has to say; nowhere when nil. The end of it is
	// part of the error in any case.
	Stderr io.Writer
	// Now tells when a frame arrived; time.Now when nil.
	Now func() time.Time
}

// ProcessError says that the process that was named cannot be looked at.
type ProcessError struct {
	PID int
	// Err is fs.ErrNotExist, fs.ErrPermission, or what the kernel said.
	Err error
}

// Error says what to do next.
func (e *ProcessError) Error() string {
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("there is no process %d on this machine", e.PID)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("not permitted to enter the network namespace of process %d: run this with sudo, "+
			"or with --local alone from within (sudo nsenter --target %d --net …)", e.PID, e.PID)
	}
	return fmt.Sprintf("entering the network namespace of process %d: %v", e.PID, e.Err)
}

// Unwrap gives the cause.
func (e *ProcessError) Unwrap() error { return e.Err }

// Local runs the sampler in this process's own network namespace, or in that of
// the target, and hands every frame to sink, as Follow does for a pod. It returns
// nil when the TTL is over and the context's error when that ends; the sampler
// and its children are gone then.
func Local(ctx context.Context, o LocalOptions, sink func(parse.Frame, time.Time)) error {
	if runtime.GOOS != "linux" {
		return &NotPossibleError{Reason: "this machine runs " + runtime.GOOS + ": accept queues are read from a Linux kernel; name pods of a cluster instead"}
	}
	shell := o.Shell
	if len(shell) == 0 {
		shell = []string{"sh"}
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:len(shell):len(shell)], "-c", samplerScript, "backlog-probe")...)
	cmd.Env = localEnv(o)
	last := &tail{}
	cmd.Stderr = last
	if o.Stderr != nil {
		cmd.Stderr = io.MultiWriter(o.Stderr, last)
	}
	ownGroup(cmd)
	// A child that left the group could hold the pipe open.
	cmd.WaitDelay = time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("preparing the sampler: %w", err)
	}
	if err := startIn(cmd, o.Target); err != nil {
		var process *ProcessError
		if errors.As(err, &process) {
			return err
		}
		return fmt.Errorf("starting the sampler with %s: %w", shell[0], err)
	}
	frames := parse.NewFrameReader(stdout)
	for {
		frame, err := frames.Next()
		if err != nil {
			break
		}
		sink(frame, now())
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case frames.Stray == endMark && err == nil:
		return nil
	case err == nil:
		err = errors.New("it ended early")
	}
	if text := last.line(); text != "" {
		return fmt.Errorf("running the sampler with %s: %w: %q", shell[0], err, text)
	}
	return fmt.Errorf("running the sampler with %s: %w", shell[0], err)
}

func localEnv(o LocalOptions) []string {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	env = append(env[:len(env):len(env)], envTTL+"="+ttlSeconds(o.TTL), envTarget+"=", envContainer+"=", envContainerID+"=", envStdin+"=", envOwners+"=yes")
	if o.Target > 0 {
		env = append(env, envTarget+"="+strconv.Itoa(o.Target))
	}
	return env
}

// tail keeps the end of what a process said.
type tail struct{ buf []byte }

const tailSize = 512

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

// line is the last line.
func (t *tail) line() string {
	text := strings.TrimSpace(string(bytes.ToValidUTF8(t.buf, nil)))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
