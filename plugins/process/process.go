// Package process stands for any server that no other adapter knows. What can be
// said of its workers is what its threads and child processes say, and only where
// it is well known which of them are the workers: else it is unknown, never a guess.
//
// It does no I/O.
package process

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Adapter reads the threads of any server.
type Adapter struct{}

// New returns the adapter; it holds no state.
func New() Adapter { return Adapter{} }

// Name is "process".
func (Adapter) Name() string { return "process" }

// Match is true of every pod. It names no container: there is no proxy, and the
// server is in whichever container the probe looks at.
func (Adapter) Match(*corev1.Pod) (string, bool) { return "", true }

// WorkerThreads gives the threads of each worker, or why they cannot be told.
func (Adapter) WorkerThreads(p model.Process) (workers [][]model.Thread, reason string) {
	workers, _, reason = find(p)
	return workers, reason
}

// find gives the workers and how they were told.
func find(p model.Process) (workers [][]model.Thread, by, reason string) {
	if len(p.Threads) == 0 {
		return nil, "", cmp.Or(p.CPU.Reason(), "the threads of the server were not read")
	}
	if n := p.OmittedThreads + p.OmittedChildren; n > 0 {
		return nil, "", fmt.Sprintf("%d of its threads and child processes were not read", n)
	}
	if workers = envoy(p); len(workers) > 0 {
		return workers, "threads wrk:worker_N", ""
	}
	if workers = children(p, func(c model.Child) bool { return c.Title == "nginx: worker" }); len(workers) > 0 {
		return workers, "child processes nginx: worker", ""
	}
	// The arbiter's children are its workers, and nothing else.
	if workers = children(p, func(c model.Child) bool { return c.Name == "gunicorn" && nameOf(p, c.Parent) == "gunicorn" }); len(workers) > 0 {
		return workers, "child processes of gunicorn", ""
	}
	switch p.Name {
	case "node", "redis-server":
		// One event loop, which is the main thread, accepts and serves. A cluster of
		// Node.js accepts in children, or in the parent for them.
		if len(p.Children) == 0 {
			return [][]model.Thread{only(p, func(t model.Thread) bool { return t.TID == p.PID })}, "the main thread, which is its event loop", ""
		}
	}
	for _, t := range p.Threads {
		if t.Name == "tokio-runtime-w" {
			// The runtime's blocking pool has the same name.
			return nil, "", "tokio names its workers and the threads of its blocking pool alike"
		}
	}
	return nil, "", "nothing tells which of its threads and child processes are workers"
}

// envoy finds the worker threads of Envoy by their names.
func envoy(p model.Process) (workers [][]model.Thread) {
	for _, t := range p.Threads {
		if n, ok := strings.CutPrefix(t.Name, "wrk:worker_"); ok && n != "" {
			workers = append(workers, []model.Thread{t})
		}
	}
	return workers
}

func children(p model.Process, is func(model.Child) bool) (workers [][]model.Thread) {
	for _, c := range p.Children {
		if is(c) {
			workers = append(workers, only(p, func(t model.Thread) bool { return t.PID == c.PID }))
		}
	}
	return workers
}

func only(p model.Process, is func(model.Thread) bool) (threads []model.Thread) {
	for _, t := range p.Threads {
		if is(t) {
			threads = append(threads, t)
		}
	}
	return threads
}

func nameOf(p model.Process, pid int) string {
	if pid == p.PID {
		return p.Name
	}
	for _, c := range p.Children {
		if c.PID == pid {
			return c.Name
		}
	}
	return ""
}

// Knobs gives the number of workers where the threads tell it: nothing tells what
// was asked for.
func (Adapter) Knobs(_ *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob {
	workers, by, reason := find(live.Process)
	if reason != "" {
		return nil
	}
	return []model.Knob{{
		Name: "workers", InForce: model.Known(int64(len(workers))), SeenBy: by, Available: nodeCPUs,
		Asked: model.Unknown[int64]("the settings of a server that is not known are not read"),
	}}
}
