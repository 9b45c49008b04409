package script

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs a program that must end with exactly the given code: `!` of
// testscript would take any failure, a crash too.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	if got := codeOf(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func codeOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("running it: %v", err)
	return -1
}

// interrupted runs a program, sends it what Ctrl-C sends once it has printed a
// line, and wants it to end with 130, as shells have it for SIGINT.
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: interrupted PROGRAM ARG...")
	}
	// Only so that a program that never prints or never ends is told of.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	program, err := lookPath(ts, args[0])
	ts.Check(err)
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "KUBECONFIG", "XDG_CONFIG_HOME", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err != nil {
		cancel()
		_ = cmd.Wait()
		ts.Fatalf("waiting for a line of output: %v, got %q\n%s", err, first, stderr)
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, lines)
	if got := codeOf(ts, cmd.Wait()); got != 130 {
		ts.Fatalf("%s ended with %d after Ctrl-C, want 130\n%s", strings.Join(args, " "), got, stderr)
	}
}

// lookPath finds a program on the script's PATH, not on this process's.
func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		path := dir + string(os.PathSeparator) + name
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// oneLine wants exactly one line, so that an error does not become a page.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline FILE")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("want one line in %s, got:\n%s", args[0], text)
	}
}
