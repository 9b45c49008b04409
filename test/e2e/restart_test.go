package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// A proxy that is killed starts afresh: another process, another socket whose
// drops begin at 0, and no figure that spans both lives.
func TestRestartStartsDifferencesAfresh(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{
		"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "16", "TOKIOPROXY_BURN_US": "2000",
	}))
	e.running("a")
	burst := []string{"burst", "-addr", "127.0.0.1:4143", "-n", "300", "-every", "1s", "-for", "2s", "-timeout", "900ms"}
	e.exec("a", "load", burst...)
	history := e.quiet("a")
	if history.overflows == 0 || history.drops[4143] == 0 {
		t.Fatalf("the burst overflowed nothing: %+v", history)
	}

	w := e.start("get", "a", "-w", "-o", "json", "--window", "1s")
	kill := func(restarts int32) {
		e.exec("a", "load", "sh", "-c", "kill -9 $(pidof tokioproxy)")
		e.restarted("a", "linkerd-proxy", restarts)
	}
	busy := func(p item) bool { return p.Runtime.Window.Busy.IsKnown() && len(inodes(p, 4143)) == 1 }
	first := w.shows("the busy ratio", busy)
	kill(1)
	second := w.shows("the busy ratio of the second process", func(p item) bool {
		return busy(p) && p.Runtime.Start != first.Runtime.Start
	})
	// A second kill so soon makes the kubelet wait before it starts the third.
	kill(2)
	w.shows("the busy ratio of the third process", func(p item) bool {
		return busy(p) && p.Runtime.Start != first.Runtime.Start && p.Runtime.Start != second.Runtime.Start
	})
	before := len(w.items())
	e.exec("a", "load", burst...)
	truth := e.quiet("a")
	w.shows("the third process's own overflows", func(p item) bool { return p.Window.Overflows.Or(0) > 0 })
	w.interrupt()

	items := w.items()
	old := inodes(items[0], 4143)
	for i, p := range items {
		when := fmt.Sprintf("line %d of %d (burst at %d)", i+1, len(items), before)
		sane(t, when, p)
		fresh := len(inodes(p, 4143)) == 1 && inodes(p, 4143)[0] != old[0]
		if n := p.Window.Overflows.Or(0); n > truth.overflows-history.overflows || i < before && n != 0 {
			t.Errorf("%s: %d overflows in the window, there were %d before the kill and %d after it", when, n, history.overflows, truth.overflows)
		}
		for _, l := range p.Listeners {
			if l.Port != 4143 && l.Window.Overflows.Or(0) != 0 {
				t.Errorf("%s: %s, which nobody called, has %+v", when, l, l.Window)
			}
			if d := l.Worst().Drops; l.Port == 4143 && fresh && i < before && d != model.Known[int64](0) {
				t.Errorf("%s: a new socket has %+v drops", when, d)
			}
		}
		if n := p.Window.Overflows; n.Or(0) > 0 && (e.listener(p, 4143).Window.Overflows != n || p.Window.Unattributed != model.Known[int64](0)) {
			t.Errorf("%s: %+v is not on the inbound listener", when, p.Window)
		}
		if fresh && i < before && p.Collection.Probe != items[0].Collection.Probe {
			t.Errorf("%s: another probe, %s", when, p.Collection.Probe)
		}
	}
	starts, sockets := distinct(items, func(p item) string {
		if s, ok := p.Runtime.Start.Get(); ok {
			return fmt.Sprint(s)
		}
		return ""
	}), distinct(items, func(p item) string { return strings.Join(inodes(p, 4143), " ") })
	if len(starts) != 3 || len(sockets) != 3 {
		t.Errorf("three processes with a socket each; the lines show starts %v, inodes %v", starts, sockets)
	}
	// While no process answers, the old one's figures are not carried forward.
	outage := e.outage("a", "linkerd-proxy")
	unknown := slices.ContainsFunc(items, func(p item) bool { return !p.Runtime.Workers.IsKnown() && !p.Runtime.Window.Busy.IsKnown() })
	t.Logf("%d lines; the last outage took %s, figures unknown: %v", len(items), outage, unknown)
	if outage > 8*time.Second && !unknown {
		t.Errorf("the proxy was away for %s, and no line says that its figures are unknown", outage)
	}
}

// sane holds what must be true of every printed pod: no rate is negative, and
// no busy ratio reaches back beyond the start of its process.
func sane(t *testing.T, when string, p item) {
	t.Helper()
	figures := map[string]model.Value[int64]{
		"overflows": p.Window.Overflows, "drops": p.Window.Drops, "accepted": p.Window.Accepted,
		"unattributed": p.Window.Unattributed, "parks": p.Runtime.Window.Parks, "polls": p.Runtime.Window.Polls,
	}
	for _, l := range p.Listeners {
		figures["overflows of "+l.String()] = l.Window.Overflows
	}
	for what, v := range figures {
		if v.Or(0) < 0 || v.Or(0) > 1_000_000 {
			t.Errorf("%s: %s = %+v", when, what, v)
		}
	}
	if s := p.Window.Seconds; s.Or(1) <= 0 || s.Or(1) > 60 {
		t.Errorf("%s: a window of %+v s", when, s)
	}
	r := p.Runtime
	if b := r.Window.Busy.Or(0); b < 0 || b > 1 || r.Window.CPU.Or(0) < 0 {
		t.Errorf("%s: busy %+v, CPU %+v", when, r.Window.Busy, r.Window.CPU)
	}
	// The process's clock has whole seconds in some versions of the crates.
	if life := r.Clock.Or(0) - r.Start.Or(0) + 1; r.Window.Seconds.Or(0) > life {
		t.Errorf("%s: a busy ratio over %+v s of a process that is %.1f s old", when, r.Window.Seconds, life)
	}
}

// A probe that shares its target's processes dies with it: another one, without
// a target, goes on, and it stays at these two.
func TestProbeDiesWithItsTarget(t *testing.T) {
	e := newEnv(t, nil)
	for _, name := range []string{"get", "top"} {
		e.create(proxyPod(name, nil, func(p *corev1.Pod) { p.Spec.ShareProcessNamespace = nil }))
	}
	e.running("get", "top")
	check := func(t *testing.T, name string) {
		e := &env{T: t, ns: e.ns}
		targets := map[string]string{}
		for _, c := range e.get(name).Spec.EphemeralContainers {
			targets[c.Name] = c.TargetContainerName
		}
		want := map[string]string{"backlog-probe-1": "linkerd-proxy", "backlog-probe-2": "", "ender": "linkerd-proxy"}
		if !maps.Equal(targets, want) {
			t.Errorf("the pod's ephemeral containers and their targets are %q, want %q", targets, want)
		}
	}
	t.Run("get", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "get", "-c", "linkerd-proxy", "-w", "-o", "json", "--window", "1s")
		first := w.shows("figures of the first process", func(p item) bool {
			return p.Collection.Stage == model.StageOK && p.Runtime.Window.Busy.IsKnown()
		})
		e.endProcessOne("get", "linkerd-proxy")
		e.restarted("get", "linkerd-proxy", 1)
		w.shows("figures of the second process, through another probe", func(p item) bool {
			return p.Collection.Stage == model.StageOK && p.Collection.Probe != first.Collection.Probe &&
				p.Window.Seconds.IsKnown() && p.Runtime.Window.Busy.IsKnown() && p.Runtime.Start != first.Runtime.Start
		})
		w.interrupt()
		for i, p := range w.items() {
			sane(t, fmt.Sprintf("line %d", i+1), p)
		}
		check(t, "get")
	})
	// top looks less often, so that what it knows of the pod is older.
	t.Run("top", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("top", "top", "-c", "linkerd-proxy", "--interval", "3s")
		w.says("figures", "0/128", " ok")
		e.endProcessOne("top", "linkerd-proxy")
		e.restarted("top", "linkerd-proxy", 1)
		e.eventually("a second probe", func() error {
			if n := len(e.probes("top")); n != 2 {
				return errorf("%d probes\n%s%s", n, w.lastTable(), w.stderr())
			}
			return nil
		})
		e.eventually("figures through the second probe", func() error {
			if last := w.lastTable(); !strings.Contains(last, "0/128") || !strings.Contains(last, " ok") {
				return errorf("top shows\n%s%s", last, w.stderr())
			}
			return nil
		})
		w.interrupt()
		check(t, "top")
	})
}

// endProcessOne ends a container's first process from inside its process
// namespace, through an ephemeral container of the test's own.
func (e *env) endProcessOne(pod, container string) {
	e.Helper()
	p := e.get(pod)
	p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: container,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "ender", Image: loadImage, ImagePullPolicy: corev1.PullNever, Command: []string{"sh", "-c", "kill -TERM 1"},
			SecurityContext: &corev1.SecurityContext{RunAsUser: ptr(int64(2102)), RunAsGroup: ptr(int64(2102))},
		},
	})
	if _, err := cluster.client.CoreV1().Pods(e.ns).UpdateEphemeralContainers(e.Context(), pod, p, metav1.UpdateOptions{}); err != nil {
		e.Fatalf("adding a container to %s: %v", pod, err)
	}
}

// variants are the ways in which something is looked at while it ends.
var variants = []struct {
	name string
	args []string // of the program; nil leaves the thing alone
}{
	{"plain", nil},
	{"probed", []string{}},
	{"target", []string{"-c", "server"}},
}

// inodes are those of a port's sockets.
func inodes(p item, port uint16) []string {
	var found []string
	for _, l := range p.Listeners {
		for _, s := range l.Sockets {
			if n, ok := s.Inode.Get(); ok && l.Port == port {
				found = append(found, fmt.Sprint(n))
			}
		}
	}
	return found
}

// distinct are the different answers, without the empty one, in order.
func distinct(items []item, of func(item) string) []string {
	var found []string
	for _, p := range items {
		if s := of(p); s != "" && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// probes are the statuses of the pod's probes; a probe without one counts as
// one that does not run.
func (e *env) probes(pod string) []corev1.ContainerStatus {
	e.Helper()
	p := e.get(pod)
	var found []corev1.ContainerStatus
	for _, c := range p.Spec.EphemeralContainers {
		if !strings.HasPrefix(c.Name, "backlog-probe-") {
			continue
		}
		status := corev1.ContainerStatus{Name: c.Name}
		for _, s := range p.Status.EphemeralContainerStatuses {
			if s.Name == c.Name {
				status = s
			}
		}
		found = append(found, status)
	}
	return found
}

// restarted waits until the container runs for the n-th time after its first.
func (e *env) restarted(pod, container string, n int32) {
	e.Helper()
	e.eventually(fmt.Sprintf("restart %d of %s in %s", n, container, pod), func() error {
		for _, s := range e.get(pod).Status.ContainerStatuses {
			if s.Name == container && s.RestartCount >= n && s.State.Running != nil {
				return nil
			} else if s.Name == container {
				return errorf("%d restarts, %+v", s.RestartCount, s.State)
			}
		}
		return errorf("no such container")
	})
}

// outage is the time between the container's last two lives.
func (e *env) outage(pod, container string) time.Duration {
	e.Helper()
	for _, s := range e.get(pod).Status.ContainerStatuses {
		if s.Name == container && s.State.Running != nil && s.LastTerminationState.Terminated != nil {
			return s.State.Running.StartedAt.Sub(s.LastTerminationState.Terminated.FinishedAt.Time)
		}
	}
	e.Fatalf("container %s of %s has not restarted", container, pod)
	return 0
}
