package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// terminal is a real one: tmux, with a server of its own.
type terminal struct {
	*env
	socket string
}

func (e *env) terminal(width, height int) *terminal {
	e.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		e.Skip("left out: no tmux on this machine")
	}
	t := &terminal{env: e, socket: filepath.Join(e.TempDir(), "tmux")}
	t.tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "env PS1='ready$ ' sh")
	e.Cleanup(func() { _ = exec.CommandContext(context.Background(), "tmux", "-S", t.socket, "kill-server").Run() })
	return t
}

func (t *terminal) tmux(args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", t.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (t *terminal) screen() string { t.Helper(); return t.tmux("capture-pane", "-p") }

func (t *terminal) keys(keys ...string) {
	t.Helper()
	t.tmux(append([]string{"send-keys"}, keys...)...)
}

// line is what somebody would type to run the program.
func (t *terminal) line(args ...string) string {
	return "KUBECTL_BACKLOG_IMAGE=" + toolsImage + " " + strings.Join(t.command(t.Context(), args...).Args, " ")
}

// shows waits until the screen holds all of the words.
func (t *terminal) shows(words ...string) string {
	t.Helper()
	var last string
	t.eventually(fmt.Sprintf("the screen to show %q", words), func() error {
		last = t.screen()
		for _, w := range words {
			if !strings.Contains(last, w) {
				return fmt.Errorf("%q is missing on:\n%s", w, last)
			}
		}
		return nil
	})
	return last
}

// An overflow is on the screen as it happens, and the terminal is afterwards as
// it was.
func TestTopInARealTerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			e := newEnv(t, nil)
			e.create(proxyPod("server", burstyEnv()))
			e.running("server")
			term := e.terminal(size[0], size[1])
			term.keys("echo before", "Enter")
			term.shows("before")
			term.keys(term.line("top", "server", "--yes")+"; echo left with $?", "Enter")
			term.shows("server", "4143", "0/16", "ok")

			wait := e.background("server", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "300", "-every", "1s", "-for", "12s", "-timeout", "1s")
			shown := term.shows("burst")
			if rows := strings.Count(shown, "\n"); rows > size[1] {
				t.Errorf("the screen has %d rows", rows)
			}
			t.Log("\n" + shown)
			term.keys("Enter")
			term.shows("[1 Verdict]", "burst-overflow") // the page begins with what is wrong
			term.keys("2")
			term.shows("[2 Queues]", "admin:4191")
			term.keys("Escape")
			// Only the list has this key. A q right behind Escape would be Alt-q.
			term.shows("⏎ detail")
			term.keys("q")
			after := term.shows("before", "left with 0")
			if strings.Contains(after, "burst") {
				t.Errorf("the screen stayed behind:\n%s", after)
			}
			wait()
		})
	}
}

// ctrl-c leaves as cleanly, with the code of an interrupt.
func TestTopInterrupted(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	term := e.terminal(100, 30)
	term.keys(term.line("top", "server", "--yes")+"; echo left with $?", "Enter")
	term.shows("server")
	time.Sleep(300 * time.Millisecond)
	term.keys("C-c")
	term.shows("left with 130")
	term.keys("stty -a | grep -o ' echo '", "Enter") // raw mode is off again
	term.shows(" echo ")
}

// Without a terminal top prints tables that a file can hold.
func TestTopWithoutATerminal(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	r := e.backlog("top", "server", "--count", "3", "--interval", "500ms")
	if r.code != 0 || strings.Count(r.stdout, "POD ") != 3 || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("code %d\n%s", r.code, r.stdout)
	}
}
