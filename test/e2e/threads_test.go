package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// as lets a pod's server run as a user and group.
func as(user, group int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: &user, RunAsGroup: &group}
	}
}

// The threads of a server that waits in accept: with its own user and group the
// probe sees where they sleep and counts its descriptors; as another it says
// that it may not, and never 0. In a pod that shares its processes the server is
// found among those of the other containers.
func TestThreadsOfTheTarget(t *testing.T) {
	e := newEnv(t, nil)
	args := []string{"-listen", "127.0.0.1:8080/16", "-listen", "127.0.0.1:8081/16"}
	e.create(serverPod("own", args, as(1234, 1234)))
	e.create(serverPod("root", args))
	e.create(serverPod("shared", args, as(1234, 1234), func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = ptr(true) }))
	e.running("own", "root", "shared")
	// A share of CPU needs two readings of the threads, and a loaded machine may be
	// late with the second one.
	var pods map[string]item
	e.eventually("two readings of all threads", func() error {
		pods = e.getJSON("own", "root", "shared", "-c", "server")
		for name, p := range pods {
			if !p.Process.Seconds.IsKnown() {
				return errorf("%s: %+v", name, p.Process)
			}
		}
		return nil
	})
	for name, p := range pods {
		t.Run(name, func(t *testing.T) {
			proc := p.Process
			if proc.Container != "server" || proc.Name != "badserver" || (proc.PID == 1) == (name == "shared") || len(proc.Threads) < 3 {
				t.Fatalf("process %+v", proc)
			}
			if proc.CPU.Or(-1) < 0 || proc.CPU.Or(-1) > 0.5 || !proc.Wait.IsKnown() || proc.Seconds.Or(0) < 1 {
				t.Errorf("CPU %+v, wait %+v over %+v", proc.CPU, proc.Wait, proc.Seconds)
			}
			if cpus := e.number(strings.TrimSpace(e.exec(name, "load", "nproc"))); proc.CPUsAllowed != model.Known(cpus) {
				t.Errorf("may run on %+v CPUs, nproc says %d", proc.CPUsAllowed, cpus)
			}
			limit := e.number(strings.TrimSpace(e.exec(name, "load", "sh", "-c", "ulimit -n")))
			if proc.MaxFDs != model.Known(limit) {
				t.Errorf("descriptors up to %+v, ulimit says %d", proc.MaxFDs, limit)
			}
			accepting := 0
			for _, th := range proc.Threads {
				if th.Wchan.Or("") == "inet_csk_accept" {
					accepting++
				}
				if th.State == "" || th.Name == "" {
					t.Errorf("thread %+v", th)
				}
			}
			if name == "root" {
				if accepting != 0 || proc.OpenFDs.IsKnown() || !strings.Contains(fmt.Sprint(p.Unknown), "user and group") {
					t.Errorf("descriptors %+v, unknown %+v", proc.OpenFDs, p.Unknown)
				}
				return
			}
			if accepting != 2 {
				t.Errorf("%d threads sleep in accept, want 2: %+v", accepting, proc.Threads)
			}
			if n := proc.OpenFDs.Or(0); n < 5 || n > 20 {
				t.Errorf("%+v descriptors", proc.OpenFDs)
			}
			// Who holds the sockets is seen with the same rights.
			if o := e.listener(p, 8080).Worst().Owners; len(o) != 1 || o[0].Name != "badserver" || o[0].PID != proc.PID {
				t.Errorf("owners %+v", o)
			}
		})
	}
}
