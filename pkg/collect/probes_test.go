package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What a probe's container was given comes back as it was, and its state and
// times are the kubelet's.
func TestProbes(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(began.Add(d)) }
	pod := podWith(nil, nil)
	spec := ProbeSpec{Image: "tools:1", TTL: time.Hour, By: "ann@example.com", Reason: `$(HOME) costs $5 $$`}
	with := func(index int, change func(*ProbeSpec), state corev1.ContainerState) {
		s := spec
		change(&s)
		c := Container(pod, index, s)
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, c)
		pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: state})
	}
	with(2, func(s *ProbeSpec) { s.Target = "app" }, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(0)}})
	with(1, func(s *ProbeSpec) { s.By, s.Reason = "", "" }, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, StartedAt: at(-time.Hour), FinishedAt: at(-time.Minute),
	}})
	with(3, func(s *ProbeSpec) { s.TTL = 0 }, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(time.Minute)}})
	with(4, func(*ProbeSpec) {}, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}})
	with(5, func(*ProbeSpec) {}, corev1.ContainerState{})
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger-x"},
	})

	base := func(name string, change func(*model.ProbeInfo)) model.ProbeInfo {
		p := model.ProbeInfo{
			Name: name, Pod: model.Meta{Name: "a", Namespace: "shop", UID: "uid-1"}, Node: "node1",
			By: spec.By, Reason: spec.Reason, Image: "tools:1",
		}
		change(&p)
		return p
	}
	want := []model.ProbeInfo{
		base("backlog-probe-1", func(p *model.ProbeInfo) {
			p.State, p.By, p.Reason = model.ProbeEnded, "", ""
			p.Message = "killed (exit code 137), as when its target container restarts"
			p.Started, p.Ended = began.Add(-time.Hour), began.Add(-time.Minute)
		}),
		base("backlog-probe-2", func(p *model.ProbeInfo) {
			p.State, p.Target, p.Started, p.Until = model.ProbeRunning, "app", began, began.Add(time.Hour)
		}),
		base("backlog-probe-3", func(p *model.ProbeInfo) {
			p.State, p.Started = model.ProbeRunning, began.Add(time.Minute)
		}),
		base("backlog-probe-4", func(p *model.ProbeInfo) {
			p.State, p.Message = model.ProbeFailed, "ErrImagePull: no such image"
		}),
		base("backlog-probe-5", func(p *model.ProbeInfo) { p.State = model.ProbeStarting }),
	}
	if diff := cmp.Diff(want, Probes(pod)); diff != "" {
		t.Error(diff)
	}

	// A pod that has finished runs nothing, whatever the last status says.
	pod.Status.Phase = corev1.PodSucceeded
	for _, p := range Probes(pod) {
		if p.State != model.ProbeEnded || !p.Until.IsZero() {
			t.Errorf("in a finished pod: %s is %s until %s", p.Name, p.State, p.Until)
		}
	}
}

// An environment that somebody else wrote does not become a time.
func TestProbesWithStrangeSettings(t *testing.T) {
	for _, ttl := range []string{"", "-5", "1e9", "99999999999999999", "soon"} {
		pod := podWith(nil, nil)
		c := Container(pod, 1, ProbeSpec{TTL: time.Hour})
		c.Env[0].Value = ttl
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{c}
		pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
		if p := Probes(pod); len(p) != 1 || !p[0].Until.IsZero() {
			t.Errorf("ttl %q: %+v", ttl, p)
		}
	}
}
