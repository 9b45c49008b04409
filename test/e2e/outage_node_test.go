package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// restart restarts a component of the node, as its administrator would or, with
// --kill, as a crash.
func (e *env) restart(args ...string) {
	e.Helper()
	out, err := command(e.Context(), "../cluster/restart.sh", args...).CombinedOutput()
	if err != nil {
		e.Fatalf("restarting %q: %v\n%s", args, err, out)
	}
}

// The container runtime restarts, then the kubelet, which now rotates small logs;
// at last the kubelet is killed. Figures come back each time and were never wrong,
// and nobody adds a second probe.
func TestNodeRestarts(t *testing.T) {
	if os.Getenv("E2E_OWN_CLUSTER") == "" {
		t.Skip("left out: only a node that belongs to the test may be restarted (E2E_OWN_CLUSTER)")
	}
	e := newEnv(t, nil)
	e.steadyLoad()
	top := e.start("top", "full", "loaded", "--interval", "1s")
	get := e.start("get", "full", "loaded", "-w", "-o", "json", "--window", "3s")
	log := e.followLog(newAPIProxy(t).url(), "full")
	both := func() {
		t.Helper()
		have := len(get.items())
		newest := log.last()
		e.eventually("new figures of both", func() error {
			items := get.items()[have:]
			full, loaded := lastOf(items, "full"), lastOf(items, "loaded")
			switch {
			case full.Collection.Stage != model.StageOK || full.Window.Overflows.Or(0) == 0:
				return errorf("full: %+v, overflows %+v", full.Collection, full.Window.Overflows)
			case loaded.Collection.Stage != model.StageOK || !loaded.Runtime.Window.Busy.IsKnown():
				return errorf("loaded: %+v, busy %+v", loaded.Collection, loaded.Runtime.Window.Busy)
			case log.last() < newest+3:
				return errorf("the log is at frame %d, it was at %d", log.last(), newest)
			}
			return nil
		})
	}
	both()
	again := func(what string, args ...string) {
		t.Helper()
		begun := time.Now()
		e.restart(args...)
		works := time.Now()
		both()
		t.Logf("%s: %s until it worked, %s more until figures were current", what, works.Sub(begun).Round(100*time.Millisecond), time.Since(works).Round(100*time.Millisecond))
	}
	again("container runtime", "containerd") // may lose what it was about to write down
	again("kubelet", "kubelet", "containerLogMaxSize=8Ki", "containerLogMonitorInterval=3s")
	before := log.last()
	e.eventually("two rotations of the log", func() error {
		if files := e.rotated("full"); len(files) < 2 || log.last() < before+8 {
			return errorf("%d rotated files, frame %d", len(files), log.last())
		}
		return nil
	})
	log.whole(t, before)
	frames := log.last() - before
	// A stream that breaks just after a rotation cannot be made whole: the API
	// server gives the newest file alone. Rates are right all the same.
	again("kubelet, killed", "--kill", "kubelet")
	top.end()
	get.end()

	truth := map[string]*series{"full": e.recorded("full"), "loaded": e.recorded("loaded")}
	items := get.items()
	for i, p := range items {
		truth[p.Meta.Name].check(t, fmt.Sprintf("line %d of %d, %s at %s", i+1, len(items), p.Meta.Name, p.Sample.Arrived.Format(time.TimeOnly)), p)
	}
	for name, s := range truth {
		if s.checked < 10 {
			t.Errorf("pod %s: only %d figures were held against the truth", name, s.checked)
		}
		if n := len(e.get(name).Spec.EphemeralContainers); n != 1 {
			t.Errorf("pod %s has %d ephemeral containers", name, n)
		}
	}
	t.Logf("%d frames without a gap over %d rotations; notes of top:\n%s", frames, len(e.rotated("full")), top.stderr())
}

// end is ctrl-c where the API server's own words on stderr may speak of errors.
func (p *program) end() {
	p.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil || p.wait() != 130 {
		p.Errorf("interrupting: %v, code %d", err, p.wait())
	}
}

// rotated are the files of a probe's log that are full, as the kubelet keeps them.
func (e *env) rotated(pod string) []string {
	e.Helper()
	p := e.get(pod)
	pattern := filepath.Join(filepath.Dir(cluster.kubeconfig), "run", "pod-logs",
		fmt.Sprintf("%s_%s_%s", e.ns, pod, p.UID), "backlog-probe-1", "*.log.*")
	files, err := filepath.Glob(pattern)
	if err != nil {
		e.Fatalf("looking for %s: %v", pattern, err)
	}
	return files
}
