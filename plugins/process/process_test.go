package process

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// server has a main thread and others of the given names.
func server(name string, threads ...string) model.Process {
	p := model.UnknownProcess("read once")
	p.PID, p.Name = 1, name
	p.Threads = []model.Thread{{TID: 1, PID: 1, Name: name}}
	for i, n := range threads {
		p.Threads = append(p.Threads, model.Thread{TID: 10 + i, PID: 1, Name: n})
	}
	return p
}

// fork adds a child of so many threads.
func fork(p model.Process, pid, parent int, name, title string, threads int) model.Process {
	p.Children = append(p.Children, model.Child{PID: pid, Parent: parent, Name: name, Title: title})
	for i := range threads {
		p.Threads = append(p.Threads, model.Thread{TID: pid + i, PID: pid, Name: name})
	}
	return p
}

func TestWorkers(t *testing.T) {
	gunicorn := fork(fork(server("gunicorn"), 20, 1, "gunicorn", "", 4), 30, 1, "gunicorn", "", 4)
	omitted := server("envoy", "wrk:worker_0")
	omitted.OmittedThreads = 7
	for name, c := range map[string]struct {
		process model.Process
		workers int
		reason  string
	}{
		"Envoy":             {server("envoy", "wrk:worker_0", "wrk:worker_1", "dog:main_thread", "wrk:"), 2, ""},
		"nginx":             {fork(fork(server("nginx"), 20, 1, "nginx", "nginx: worker", 1), 21, 1, "nginx", "nginx: cache manager", 1), 1, ""},
		"nginx behind sh":   {fork(fork(server("sh"), 20, 1, "nginx", "nginx: master", 1), 21, 20, "nginx", "nginx: worker", 1), 1, ""},
		"gunicorn":          {gunicorn, 2, ""},
		"gunicorn's helper": {fork(gunicorn, 40, 30, "python3", "", 1), 2, ""},
		"gunicorn in sh":    {fork(fork(server("sh"), 20, 1, "gunicorn", "", 1), 30, 20, "gunicorn", "", 1), 1, ""},
		"Node.js":           {server("node", "libuv-worker", "V8Worker"), 1, ""},
		"Redis":             {server("redis-server", "bio_close_file"), 1, ""},
		"Node.js forks":     {fork(server("node"), 20, 1, "node", "", 3), 0, "nothing tells which of its threads and child processes are workers"},
		"tokio":             {server("app", "tokio-runtime-w", "tokio-runtime-w"), 0, "tokio names its workers and the threads of its blocking pool alike"},
		"Java":              {server("java", "GC Thread#0", "http-nio-8080-e"), 0, "nothing tells which of its threads and child processes are workers"},
		"too many threads":  {omitted, 0, "7 of its threads and child processes were not read"},
		"not read":          {model.UnknownProcess("no probe"), 0, "no probe"},
	} {
		workers, reason := New().WorkerThreads(c.process)
		if len(workers) != c.workers || reason != c.reason {
			t.Errorf("%s: %d workers, %q, want %d, %q", name, len(workers), reason, c.workers, c.reason)
		}
		knobs := New().Knobs(&corev1.Pod{}, model.Value[int64]{}, model.Pod{Process: c.process})
		switch {
		case c.workers == 0 && len(knobs) != 0:
			t.Errorf("%s: %+v", name, knobs)
		case c.workers > 0 && (len(knobs) != 1 || knobs[0].InForce != model.Known(int64(c.workers)) || knobs[0].SeenBy == "" || knobs[0].Asked.Reason() == ""):
			t.Errorf("%s: %+v", name, knobs)
		}
	}
}

// All threads of a worker count with it: a worker of gunicorn may have several.
func TestThreadsOfAWorker(t *testing.T) {
	workers, _ := New().WorkerThreads(fork(server("gunicorn"), 20, 1, "gunicorn", "", 4))
	if len(workers) != 1 || len(workers[0]) != 4 || workers[0][3].TID != 23 {
		t.Errorf("%+v", workers)
	}
}

// There is no proxy, so that none is named; and there is no pod without a server.
func TestMatchNamesNoContainer(t *testing.T) {
	for _, pod := range []*corev1.Pod{nil, {}, {Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}} {
		if container, ok := New().Match(pod); container != "" || !ok {
			t.Errorf("%q %v", container, ok)
		}
	}
}

// Names of processes can be anything.
func FuzzWorkers(f *testing.F) {
	f.Add("nginx", "wrk:worker_1", "gunicorn", "nginx: worker", 1)
	f.Add("node", "", "", "", 0)
	f.Fuzz(func(t *testing.T, name, thread, child, title string, parent int) {
		p := fork(server(name, thread), 20, parent, child, title, 1)
		workers, reason := New().WorkerThreads(p)
		if (len(workers) == 0) != (reason != "") {
			t.Errorf("%d workers, %q", len(workers), reason)
		}
		for _, w := range workers {
			if len(w) == 0 {
				t.Error("a worker without threads")
			}
		}
	})
}
