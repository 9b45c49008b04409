package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ctrl-z gives the shell back, and fg the screen. A terminal that is closed ends the
// program, whose flight recorder is whole.
func TestSuspendAndAClosedTerminal(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	dir := t.TempDir()
	term := e.terminal(100, 30)
	term.keys("set -m; export HOME="+dir+" XDG_CACHE_HOME="+dir, "Enter")
	term.keys(term.line("top", "server", "--yes"), "Enter")
	term.shows("server", "0/128")
	term.keys("C-z")
	term.shows("Stopped")
	term.keys("stty -a | grep -o ' echo '; echo the shell is here", "Enter")
	term.shows(" echo ", "the shell is here")
	term.keys("fg", "Enter")
	term.shows("server", "0/128", "? help")
	time.Sleep(2 * time.Second)

	pid := strings.TrimSpace(term.tmux("list-panes", "-F", "#{pane_pid}"))
	term.tmux("kill-session")
	e.eventually("the program to end with its terminal", func() error {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", pid, pid))
		if err == nil && len(strings.TrimSpace(string(children))) > 0 {
			return fmt.Errorf("it still runs: %s", children)
		}
		return nil
	})
	found, err := filepath.Glob(filepath.Join(dir, "kubectl-backlog", "flight", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	r := e.backlog("get", "--replay", found[0])
	if r.code != 0 || !strings.Contains(r.stdout, "server") || strings.Contains(r.stderr, "no end") {
		t.Errorf("the flight recorder's file: code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}
