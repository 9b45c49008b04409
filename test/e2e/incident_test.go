package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What somebody does in an incident: watch an overflow appear, open the pod, read the
// verdict, go back in time, record, leave. The terminal's settings are then as they
// were, and the recording shows the same.
func TestIncidentOnTheScreen(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", burstyEnv()))
	e.running("server")
	dir := t.TempDir()
	recording := filepath.Join(dir, "incident.jsonl.gz")
	settings := func(term *terminal, name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		term.keys(fmt.Sprintf("stty -g >%s; echo %s is written", path, name), "Enter")
		term.shows(name + " is written")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	term := e.terminal(120, 40)
	term.keys("cd "+dir, "Enter")
	before := settings(term, "before")
	term.keys(term.line("top", "server", "--yes", "--record", recording)+"; echo left with $?", "Enter")
	term.shows("server", "4143", "0/16", "REC")

	wait := e.background("server", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "300", "-every", "1s", "-for", "12s", "-timeout", "1s")
	term.shows("burst-overflow")
	term.keys("Enter")
	term.shows("[1 Verdict]", "refused packets", "burst-overflow")
	term.keys("2")
	term.shows("[2 Queues]", "ListenOverflows")
	term.keys("[")
	term.shows("PAST")
	term.keys("p")
	term.gone("PAST")
	term.keys("E")
	term.shows("evidence of server: ")
	term.keys("W")
	term.shows("report: ")
	term.keys("Escape")
	term.shows("/ filter")
	term.keys("q")
	left := term.shows("left with 0", "recording: "+recording, "flight recorder: ")
	if strings.Contains(left, "burst-overflow") {
		t.Errorf("the screen stayed behind:\n%s", left)
	}
	wait()
	if after := settings(term, "after"); after != before {
		t.Errorf("the terminal's settings are %s, and were %s", after, before)
	}
	e.holds(dir, "backlog-evidence-server-*/report.html", "burst-overflow")
	e.holds(dir, "backlog-evidence-server-*/linkerd-proxy.log", "linkerd2_proxy")
	e.holds(dir, "backlog-evidence-server-*/raw.txt", "ListenOverflows")
	e.holds(dir, "backlog-e2e-*.md", "burst-overflow")

	term.keys("clear", "Enter")
	term.keys(term.line("top", "--replay", recording)+"; echo left again with $?", "Enter")
	term.shows("REPLAY", "server")
	term.keys(".")
	term.shows("PAST", "refused")
	term.keys("p", ">", ">", ">")
	term.shows("burst-overflow")
	term.keys("Enter")
	term.shows("[1 Verdict]", "refused packets")
	term.keys("q")
	term.shows("left again with 0")
}

// holds checks that a file exists and holds a word.
func (e *env) holds(dir, pattern, word string) {
	e.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		e.Errorf("%s: %v %v", pattern, found, err)
		return
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		e.Fatal(err)
	}
	if !strings.Contains(string(text), word) {
		e.Errorf("%s does not hold %q:\n%.2000s", pattern, word, text)
	}
}
