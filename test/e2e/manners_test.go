package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Two people who start at once, each with words of their own, share one probe.
func TestTwoStartAtOnce(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	var both sync.WaitGroup
	results := make([]result, 2)
	for i := range results {
		both.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			results[i] = e.backlog("get", "server", "--window", "0", "--reason", fmt.Sprintf("person %d", i))
		})
	}
	both.Wait()
	for i, r := range results {
		if r.code != 0 || !strings.Contains(r.stdout, "0/128") {
			t.Errorf("person %d: code %d\n%s%s", i, r.code, r.stdout, r.stderr)
		}
	}
	if n := len(e.probes("server")); n != 1 {
		t.Errorf("%d probes, want one that both read", n)
	}
}

// A probe's end is announced and told, and nothing is renewed by itself: on the
// screen a key asks, and a yes adds another.
func TestTheEndOfAProbe(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	p := e.start("get", "server", "-w", "-o", "json", "--window", "1s", "--probe-ttl", "15s")
	first := p.shows("the first figures", func(i item) bool { return i.Collection.Stage == model.StageOK && !i.Collection.Until.IsZero() })
	if left := time.Until(first.Collection.Until); left > 20*time.Second || left < -5*time.Second {
		t.Errorf("it ends at %s, in %s", first.Collection.Until, left)
	}
	e.eventually("the end to be announced", func() error {
		if want := "ends by itself at " + first.Collection.Until.UTC().Format("15:04:05Z"); !strings.Contains(p.stderr(), want) {
			return errorf("%q is not in %q", want, p.stderr())
		}
		return nil
	})

	term := e.terminal(120, 30)
	term.keys("clear; "+term.line("top", "server"), "Enter")
	term.shows("in:4143", "ok")
	over := p.shows("the end", func(i item) bool { return i.Collection.Stage == model.StageEnded })
	if len(over.Listeners) > 0 && over.Sample.Arrived.After(first.Collection.Until.Add(10*time.Second)) {
		t.Errorf("figures after the end: %+v", over.Sample)
	}
	p.interrupt()
	term.shows("the probe of 1 pod has ended: + adds a new one")
	if n := len(e.probes("server")); n != 1 {
		t.Fatalf("%d probes: one was added unasked", n)
	}
	term.keys("+")
	term.shows("add a new probe to 1 pod until", "its entry stays in the pod's list")
	term.keys("n")
	time.Sleep(time.Second)
	if n := len(e.probes("server")); n != 1 {
		t.Fatalf("%d probes after a no", n)
	}
	term.keys("+")
	term.keys("y")
	e.eventually("a second probe", func() error {
		if n := len(e.probes("server")); n != 2 {
			return errorf("%d probes", n)
		}
		return nil
	})
	term.shows("in:4143", "0/128")
	term.keys("q")
}

// On a terminal somebody is asked before the first probe. Ctrl-c at the question
// leaves nothing behind, no is taken for no, and Enter is yes.
func TestTheQuestion(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", nil))
	e.running("server")
	term := e.terminal(120, 40)
	ask := func() string {
		term.keys("clear; "+term.line("get", "server", "--window", "0")+"; echo code $?", "Enter")
		return term.shows("Add them? [Y/n]")
	}
	text := ask()
	for _, want := range []string{"added to 1 pod", "namespace  " + e.ns, "image      " + toolsImage, "millicores", "(after 1h)", "until the pod goes"} {
		if !strings.Contains(text, want) {
			t.Errorf("the question does not say %q:\n%s", want, text)
		}
	}
	term.keys("C-c")
	term.shows("code 130")
	if n := len(e.probes("server")); n != 0 {
		t.Fatalf("%d probes after ctrl-c", n)
	}
	ask()
	term.keys("n", "Enter")
	term.shows("it was declined", "code 0")
	if n := len(e.probes("server")); n != 0 {
		t.Fatalf("%d probes after a no", n)
	}
	ask()
	term.keys("Enter")
	term.shows("0/128", "code 0")
	if n := len(e.probes("server")); n != 1 {
		t.Errorf("%d probes after a yes", n)
	}
	// Nothing is asked where nothing would be added.
	term.keys("clear; "+term.line("get", "server", "--window", "0")+"; echo again $?", "Enter")
	if text := term.shows("0/128", "again 0"); strings.Contains(text, "Add them?") {
		t.Errorf("asked again:\n%s", text)
	}
}
