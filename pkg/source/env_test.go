package source

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// envProxy has a variable that its pod does not show, unless the pod says so.
type envProxy struct{ fakeProxy }

func (envProxy) EnvPath(pod *corev1.Pod) string {
	if pod.Annotations["shown"] != "" {
		return ""
	}
	return "/env.json?WORKERS"
}

func (envProxy) ReadEnv(_ *corev1.Pod, body []byte) map[string]model.Value[string] {
	value, ok := strings.CutPrefix(string(body), "WORKERS=")
	if !ok {
		return map[string]model.Value[string]{"WORKERS": model.Unknown[string]("no such page")}
	}
	return map[string]model.Value[string]{"WORKERS": model.Known(value)}
}

// envPages serve metrics of a process that started at some time, and what they
// are told to for the environment. They count what they were asked for.
type envPages struct {
	mu    sync.Mutex
	start string
	env   func() (collect.Response, error)
	asked []string
}

func (p *envPages) Get(_ context.Context, path string) (collect.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, path)
	if path == "/metrics" {
		return collect.Response{Status: 200, Body: []byte("process_start_time_seconds " + p.start + "\ntokio_rt_workers 1\n")}, nil
	}
	return p.env()
}

func (p *envPages) Close() {}

func (p *envPages) restart(start string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start = start
}

// times that the environment was asked for.
func (p *envPages) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(p.asked), func(path string) bool { return path == "/metrics" }))
}

func answer(status int, body string) func() (collect.Response, error) {
	return func() (collect.Response, error) { return collect.Response{Status: status, Body: []byte(body)}, nil }
}

// readerOf asks as often as the test says, at times that it says.
func readerOf(p *corev1.Pod) (f *follower, now *time.Time) {
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	opt := ClusterOptions{Adapters: []plugins.Adapter{envProxy{}}, Now: func() time.Time { return at }}
	return newFollower(opt, p), &at
}

// The process is asked once in its life, and another process once again.
func TestEnvironmentIsAskedOncePerProcess(t *testing.T) {
	f, now := readerOf(pod("a"))
	pages := &envPages{env: answer(200, "WORKERS=2")}
	var e envReader
	for range 300 {
		e.read(t.Context(), f, pages, model.Known(1.0))
		*now = now.Add(time.Second)
	}
	if pages.times() != 1 || f.environment()["WORKERS"] != model.Known("2") {
		t.Errorf("asked %d times, environment %+v", pages.times(), f.environment())
	}
	pages.env = answer(200, "WORKERS=3")
	e.read(t.Context(), f, pages, model.Known(2.0))
	if pages.times() != 2 || f.environment()["WORKERS"] != model.Known("3") {
		t.Errorf("asked %d times after a restart, environment %+v", pages.times(), f.environment())
	}
}

// Nothing is asked where the spec shows all.
func TestEnvironmentIsNotAskedWithoutNeed(t *testing.T) {
	f, _ := readerOf(pod("a", func(p *corev1.Pod) { p.Annotations = map[string]string{"shown": "yes"} }))
	pages := &envPages{env: answer(200, "WORKERS=2")}
	var e envReader
	e.read(t.Context(), f, pages, model.Known(1.0))
	if pages.times() != 0 || f.environment() != nil {
		t.Errorf("asked %q, environment %+v", pages.asked, f.environment())
	}
}

// An answer of no use is an unknown with its reason, and is asked for again
// after a minute only.
func TestEnvironmentThatIsNotTold(t *testing.T) {
	for name, tt := range map[string]struct {
		env  func() (collect.Response, error)
		want string
		once bool // the answer is settled for this process
	}{
		"missing":   {answer(404, ""), "it answered 404 Not Found", false},
		"forbidden": {answer(403, ""), "it answered 403 Forbidden", false},
		"no answer": {func() (collect.Response, error) {
			return collect.Response{}, &collect.NoAnswerError{Port: 4191, After: 2 * time.Second}
		}, "no answer on 4191 within 2s", false},
		"broken":      {func() (collect.Response, error) { return collect.Response{}, errors.New("unexpected EOF") }, "unexpected EOF", false},
		"huge":        {answer(200, strings.Repeat("x", maxEnv+1)), "larger than 64 KiB", false},
		"not a page":  {answer(200, "<html>"), "no such page", true},
		"empty":       {answer(200, ""), "no such page", true},
		"redirection": {answer(302, ""), "it answered 302 Found", false},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := readerOf(pod("a"))
			pages := &envPages{env: tt.env}
			var e envReader
			for range 59 {
				e.read(t.Context(), f, pages, model.Known(1.0))
				*now = now.Add(time.Second)
			}
			if got := f.environment()["WORKERS"]; got.IsKnown() || !strings.Contains(got.Reason(), tt.want) {
				t.Errorf("known %v, reason %q, want %q", got.IsKnown(), got.Reason(), tt.want)
			}
			if pages.times() != 1 {
				t.Errorf("asked %d times within a minute", pages.times())
			}
			*now = now.Add(2 * time.Second)
			pages.env = answer(200, "WORKERS=2")
			e.read(t.Context(), f, pages, model.Known(1.0))
			if f.environment()["WORKERS"].IsKnown() == tt.once {
				t.Errorf("a minute later: %+v", f.environment())
			}
		})
	}
}

// The row that shows the proxy's figures first has its environment too.
func TestEnvironmentComesWithTheFirstFigures(t *testing.T) {
	pages := &envPages{start: "7", env: answer(200, "WORKERS=2")}
	c := NewCluster(ClusterOptions{
		Pods: &fakePods{pods: []*corev1.Pod{pod("a")}}, Via: model.ViaMetrics, Adapters: []plugins.Adapter{envProxy{}},
		Pages: func(*corev1.Pod, uint16) Pages { return pages }, Window: time.Second, Interval: time.Millisecond, Now: time.Now,
	})
	t.Cleanup(c.Close)
	p := until(t, c, func(p model.Pod) bool { return p.Runtime.Workers.IsKnown() })
	if p.Proxy.Env["WORKERS"] != model.Known("2") {
		t.Errorf("environment %+v", p.Proxy.Env)
	}
	pages.restart("8")
	pages.mu.Lock()
	pages.env = answer(200, "WORKERS=3")
	pages.mu.Unlock()
	p = until(t, c, func(p model.Pod) bool { return p.Runtime.Start.Or(0) == 8 })
	if p.Proxy.Env["WORKERS"] != model.Known("3") {
		t.Errorf("environment after a restart %+v", p.Proxy.Env)
	}
}
