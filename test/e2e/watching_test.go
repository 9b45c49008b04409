package e2e

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// A pod that is deleted while it is watched says so, and the others stay.
func TestWatchGoesOnWhenAPodIsDeleted(t *testing.T) {
	e := newEnv(t, nil)
	for _, name := range []string{"a", "b"} {
		e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}))
	}
	e.running("a", "b")
	get := e.start("get", "a", "b", "-w", "-o", "json", "--window", "1s")
	top := e.start("top", "-l", "app in (a,b)", "--interval", "1s")
	ok := func(name string) func(item) bool {
		return func(p item) bool { return p.Meta.Name == name && p.Collection.Stage == model.StageOK }
	}
	get.shows("figures of a", ok("a"))
	get.shows("figures of b", ok("b"))
	top.says("both", "a ", "b ", " ok")
	if err := cluster.client.CoreV1().Pods(e.ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := get.shows("that a is gone", func(p item) bool { return p.Meta.Name == "a" && p.Collection.Stage == model.StageGone })
	if gone.Collection.Message == "" {
		t.Error("nothing says why a is gone")
	}
	have := len(get.items())
	e.eventually("new figures of b", func() error {
		if !slices.ContainsFunc(get.items()[have:], ok("b")) {
			return errorf("none after a was gone")
		}
		return nil
	})
	rows := func() (a, b string) {
		for _, line := range strings.Split(top.lastTable(), "\n") {
			switch {
			case strings.HasPrefix(line, "a "):
				a = line
			case strings.HasPrefix(line, "b "):
				b = line
			}
		}
		return a, b
	}
	e.eventually("top to show a as gone and b as before", func() error {
		if a, b := rows(); !strings.Contains(a, "gone") || !strings.Contains(b, "0/16") || !strings.Contains(b, "ok") {
			return errorf("rows %q, %q of\n%s", a, b, top.lastTable())
		}
		return nil
	})
	get.interrupt()
	top.interrupt()
}

// ctrl-c ends the program at once with 130, at every stage of its work, and
// leaves nothing but clean output behind.
func TestInterrupted(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("fresh", []string{"-listen", "127.0.0.1:8080/16"}))
	e.running("fresh")

	for _, target := range []string{"fresh", "deploy/x"} {
		t.Run("API server says nothing, "+target, func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			silent, called := e.silentServer()
			w := e.start("get", target, "--server", "http://"+silent)
			<-called
			time.Sleep(100 * time.Millisecond)
			if w.interrupt(); w.stdout() != "" {
				t.Errorf("stdout %q", w.stdout())
			}
		})
	}
	t.Run("probe starts", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh")
		e.eventually("the probe to be asked for", func() error {
			if len(e.get("fresh").Spec.EphemeralContainers) == 0 {
				return errorf("not yet")
			}
			return nil
		})
		if w.interrupt(); w.stdout() != "" {
			t.Errorf("stdout %q", w.stdout())
		}
	})
	e.backlog("get", "fresh", "--window", "0") // the probe runs by now
	t.Run("window runs", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh", "--window", "1m")
		time.Sleep(3 * time.Second)
		if w.interrupt(); w.stdout() != "" {
			t.Errorf("stdout %q", w.stdout())
		}
	})
	for _, args := range [][]string{{"get", "fresh", "-w", "--window", "1s"}, {"top", "fresh"}} {
		t.Run("watching with "+args[0], func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			w := e.start(args...)
			w.says("figures", "fresh", "0/16")
			w.interrupt()
			if out := w.stdout(); !strings.HasSuffix(out, "\n") || strings.Contains(out, "\x1b") {
				t.Errorf("stdout %q", out)
			}
		})
	}
	t.Run("watching JSON", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh", "-w", "-o", "json", "--window", "1s")
		w.shows("figures", func(p item) bool { return p.Collection.Stage == model.StageOK })
		w.interrupt()
		if rest := w.rest(); strings.TrimSpace(rest) != "" {
			t.Errorf("the last object is cut off: %q", rest)
		}
	})
}

// silentServer takes connections and never answers.
func (e *env) silentServer() (address string, called <-chan struct{}) {
	e.Helper()
	l, err := (&net.ListenConfig{}).Listen(e.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	first := make(chan struct{}, 100)
	var held []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
			select {
			case first <- struct{}{}:
			default:
			}
		}
	}()
	e.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range held {
			c.Close()
		}
	})
	return l.Addr().String(), first
}

// Two people who look at the same fresh pods at the same moment share the
// probes: an ephemeral container can never be removed, so there is one a pod.
func TestTwoAtOnceShareAProbe(t *testing.T) {
	e := newEnv(t, nil)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}))
	}
	e.running(names...)
	args := append([]string{"get", "--window", "0"}, names...)
	one, two := e.start(args...), e.start(args...)
	for i, w := range []*program{one, two} {
		if code := w.wait(); code != 0 || strings.Count(w.stdout(), "0/16") != len(names) {
			t.Errorf("person %d: code %d\n%s%s", i+1, code, w.stdout(), w.stderr())
		}
	}
	for _, name := range names {
		if n := len(e.get(name).Spec.EphemeralContainers); n != 1 {
			t.Errorf("pod %s has %d ephemeral containers, want one that both used", name, n)
		}
	}
}
