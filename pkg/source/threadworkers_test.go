package source

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// busyWorker is a master and one worker that ran so long, of the given container.
func busyWorker(container string, busy, wait float64) model.Process {
	p := model.UnknownProcess("")
	p.Container, p.PID, p.Name, p.Seconds = container, 1, "nginx", model.Known(5.0)
	p.Children = []model.Child{{PID: 7, Parent: 1, Name: "nginx", Title: "nginx: worker"}}
	p.Threads = []model.Thread{
		{TID: 1, PID: 1, CPU: model.Known(0.0), Wait: model.Known(0.0)},
		{TID: 7, PID: 7, CPU: model.Known(busy), Wait: model.Known(wait)},
	}
	return p
}

// From the threads comes only what the pod's own figures do not tell, and only of
// the container whose threads were read.
func TestBusyFromThreads(t *testing.T) {
	sidecar := corev1.Container{Name: "linkerd-proxy", Image: "cr.l5d.io/linkerd/proxy:edge"}
	for name, c := range map[string]struct {
		containers []corev1.Container
		process    model.Process
		runtime    func(*model.RuntimeWindow)
		want       model.Value[float64]
		adapter    string
	}{
		"nginx":          {[]corev1.Container{{Name: "web", Image: "nginx"}}, busyWorker("web", 0.5, 0.25), nil, model.Known(0.75), "nginx"},
		"another server": {[]corev1.Container{{Name: "web", Image: "web"}}, busyWorker("web", 0.5, 0.25), nil, model.Known(0.75), ""},
		"another container's threads": {
			[]corev1.Container{{Name: "web", Image: "nginx"}}, busyWorker("log", 0.5, 0.25), nil, model.Unknown[float64]("none"), "nginx",
		},
		"the app's threads beside a proxy": {
			[]corev1.Container{{Name: "web", Image: "web"}, sidecar}, busyWorker("web", 0.5, 0.25), nil, model.Unknown[float64]("none"), "linkerd",
		},
		"the proxy tells itself": {
			[]corev1.Container{{Name: "web", Image: "nginx"}},
			busyWorker("web", 0.5, 0.25),
			func(w *model.RuntimeWindow) { w.Busy = model.Known(0.1) }, model.Known(0.1), "nginx",
		},
		"it stands still": {
			[]corev1.Container{{Name: "web", Image: "nginx"}},
			busyWorker("web", 0.5, 0.25),
			func(w *model.RuntimeWindow) { w.Stalled = model.Known(5.0) }, model.Unknown[float64]("none"), "nginx",
		},
		"read once": {[]corev1.Container{{Name: "web", Image: "nginx"}}, model.UnknownProcess("once"), nil, model.Unknown[float64]("none"), "nginx"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}
		f := newFollower(ClusterOptions{Adapters: plugins.All()}, pod)
		if name := f.adapter.Name(); f.proxy != "" && name != c.adapter || f.proxy == "" && c.adapter != "" {
			t.Fatalf("%s: adapter %s", name, f.adapter.Name())
		}
		p := model.Pod{Process: c.process, Runtime: model.UnknownRuntime("none")}
		if c.runtime != nil {
			c.runtime(&p.Runtime.Window)
		}
		f.fillFromThreads(&p)
		if p.Runtime.Window.Busy != c.want {
			t.Errorf("%s: %v (%s), want %v", name, p.Runtime.Window.Busy, p.Runtime.Window.Busy.Reason(), c.want)
		}
		if noted := slices.Contains(p.Notes, noteThreads); noted != (c.want == model.Known(0.75)) {
			t.Errorf("%s: notes %q", name, p.Notes)
		}
	}
}

// The probe's target: not the proxy, but the server that an adapter knows before any
// other container.
func TestSpecPrefersTheServer(t *testing.T) {
	exporter, web := corev1.Container{Name: "exporter", Image: "exporter"}, corev1.Container{Name: "web", Image: "nginx"}
	for name, c := range map[string]struct {
		containers []corev1.Container
		stopped    string
		want       string
	}{
		"nginx behind another": {[]corev1.Container{exporter, web}, "", "web"},
		"it is away":           {[]corev1.Container{exporter, web}, "web", "exporter"},
		"any server":           {[]corev1.Container{exporter, {Name: "app", Image: "app"}}, "", "exporter"},
	} {
		o := &ClusterOptions{Adapters: plugins.All(), Target: func(pod *corev1.Pod, proxy string) string {
			for _, s := range pod.Spec.Containers {
				if s.Name != proxy && s.Name != c.stopped {
					return s.Name
				}
			}
			return ""
		}}
		if got := o.Spec(&corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}, ""); got.Target != c.want || !got.Loose {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// A pod of which no adapter knows the server names no proxy, and get does not wait
// for metrics that never come.
func TestUnknownServerNamesNoProxy(t *testing.T) {
	f := newFollower(ClusterOptions{Adapters: plugins.All()}, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}})
	if f.sidecar() != "" || f.hasMetrics() {
		t.Errorf("sidecar %q, metrics %v", f.sidecar(), f.hasMetrics())
	}
	if _, ok := f.admin(); ok {
		t.Error("it has an admin endpoint")
	}
	p := model.Pod{Process: model.UnknownProcess("none")}
	f.fillProxy(&p, f.begun)
	if p.Proxy.Adapter != "" || p.Proxy.Container != "" || p.Runtime.Clock.Reason() == ReasonNoMetricsYet {
		t.Errorf("proxy %+v, runtime %q", p.Proxy, p.Runtime.Clock.Reason())
	}
}
