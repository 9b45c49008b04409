package collect

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// podWith is a running pod whose container app has the given security contexts.
func podWith(pod *corev1.PodSecurityContext, app *corev1.SecurityContext) *corev1.Pod {
	p := &corev1.Pod{}
	p.Name, p.Namespace, p.UID = "a", "shop", "uid-1"
	p.Spec.NodeName = "node1"
	p.Spec.SecurityContext = pod
	p.Spec.Containers = []corev1.Container{{Name: "app", SecurityContext: app}}
	p.Spec.InitContainers = []corev1.Container{{Name: "linkerd-proxy", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(2102)), RunAsGroup: new(int64(2102))}}}
	p.Status.Phase = corev1.PodRunning
	return p
}

// Pod Security "restricted", and what it does not ask for but is right: a
// numeric user (a root image with runAsNonRoot alone never starts) and a
// read-only root file system.
func TestContainerSatisfiesRestricted(t *testing.T) {
	c := Container(podWith(nil, nil), 1, ProbeSpec{Image: "tools:1", TTL: time.Hour, Reason: "looking at queues"})
	got, err := json.Marshal(c.SecurityContext)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"capabilities":{"drop":["ALL"]},"privileged":false,"runAsUser":65534,"runAsGroup":65534,` +
		`"runAsNonRoot":true,"readOnlyRootFilesystem":true,"allowPrivilegeEscalation":false,"seccompProfile":{"type":"RuntimeDefault"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if c.Name != "backlog-probe-1" || c.Image != "tools:1" || c.ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("name %s, image %s, policy %s", c.Name, c.Image, c.ImagePullPolicy)
	}
	env := []corev1.EnvVar{{Name: envTTL, Value: "3600"}, {Name: envReason, Value: "looking at queues"}}
	if diff := cmp.Diff(env, c.Env); diff != "" {
		t.Error(diff)
	}
	if c.Stdin || c.TTY || len(c.VolumeMounts) > 0 {
		t.Error("it needs no stdin, terminal or volume")
	}
}

func TestContainerIsTheSameForTheSameArguments(t *testing.T) {
	spec := ProbeSpec{Image: "tools:1", TTL: time.Minute, Target: "app", Reason: "x"}
	a, b := Container(podWith(nil, nil), 2, spec), Container(podWith(nil, nil), 2, spec)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func TestContainerIdentity(t *testing.T) {
	user := func(u, g int64) *corev1.SecurityContext {
		s := &corev1.SecurityContext{}
		if u >= 0 {
			s.RunAsUser = &u
		}
		if g >= 0 {
			s.RunAsGroup = &g
		}
		return s
	}
	pod := func(u, g int64) *corev1.PodSecurityContext {
		s := user(u, g)
		return &corev1.PodSecurityContext{RunAsUser: s.RunAsUser, RunAsGroup: s.RunAsGroup}
	}
	tests := map[string]struct {
		pod         *corev1.PodSecurityContext
		app         *corev1.SecurityContext
		target      string
		user, group int64
	}{
		"no target":                           {app: user(1000, 1000), user: nobody, group: nobody},
		"the spec names neither":              {target: "app", user: nobody, group: nobody},
		"the container names both":            {app: user(1000, 2000), target: "app", user: 1000, group: 2000},
		"the pod names both":                  {pod: pod(1000, 2000), target: "app", user: 1000, group: 2000},
		"the container's win":                 {pod: pod(1, 2), app: user(1000, 2000), target: "app", user: 1000, group: 2000},
		"one from each":                       {pod: pod(1, 2), app: user(1000, -1), target: "app", user: 1000, group: 2},
		"root":                                {app: user(0, 0), target: "app", user: nobody, group: nobody},
		"a user without a group sees no more": {app: user(1000, -1), target: "app", user: nobody, group: nobody},
		"the root group":                      {app: user(1000, 0), target: "app", user: nobody, group: nobody},
		"a native sidecar":                    {target: "linkerd-proxy", user: 2102, group: 2102},
		"another container":                   {app: user(1000, 1000), target: "other", user: nobody, group: nobody},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Container(podWith(tt.pod, tt.app), 1, ProbeSpec{Target: tt.target})
			s := c.SecurityContext
			if *s.RunAsUser != tt.user || *s.RunAsGroup != tt.group {
				t.Errorf("runs as %d:%d, want %d:%d", *s.RunAsUser, *s.RunAsGroup, tt.user, tt.group)
			}
			if !*s.RunAsNonRoot || *s.RunAsUser == 0 {
				t.Error("runs as root")
			}
			if c.TargetContainerName != tt.target {
				t.Errorf("target %q", c.TargetContainerName)
			}
		})
	}
}

// Process 1 of a namespace that the whole pod shares is the pod's pause: the
// container's ID finds the process there.
func TestContainerNamesTheTarget(t *testing.T) {
	const id = "1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014"
	status := func(containerID string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: containerID}}
		}
	}
	tests := map[string]struct {
		target string
		shared bool
		change func(*corev1.Pod)
		want   map[string]string
	}{
		"none":              {shared: true, change: status("containerd://" + id), want: map[string]string{}},
		"its own processes": {target: "app", change: status("containerd://" + id), want: map[string]string{envContainer: "app", envTarget: "1"}},
		"shared":            {target: "app", shared: true, change: status("containerd://" + id), want: map[string]string{envContainer: "app", envContainerID: id}},
		"shared, a sidecar": {target: "app", shared: true, change: func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: "cri-o://" + id}}
		}, want: map[string]string{envContainer: "app", envContainerID: id}},
		"shared, not started": {target: "app", shared: true, change: func(*corev1.Pod) {}, want: map[string]string{envContainer: "app"}},
		"shared, an odd ID":   {target: "app", shared: true, change: status("x://*" + id), want: map[string]string{envContainer: "app"}},
		"shared, a short ID":  {target: "app", shared: true, change: status("x://0"), want: map[string]string{envContainer: "app"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podWith(nil, nil)
			pod.Spec.ShareProcessNamespace = &tt.shared
			tt.change(pod)
			got := map[string]string{}
			for _, e := range Container(pod, 1, ProbeSpec{Target: tt.target}).Env {
				if e.Name != envTTL {
					got[e.Name] = e.Value
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultTarget(t *testing.T) {
	type status struct {
		running  bool
		restarts int32
	}
	up := status{running: true}
	tests := map[string]struct {
		proxy    string
		statuses map[string]status
		want     string
	}{
		"the first":                      {statuses: map[string]status{"proxy": up, "app": up, "b": up}, want: "proxy"},
		"not the proxy":                  {proxy: "proxy", statuses: map[string]status{"proxy": up, "app": up, "b": up}, want: "app"},
		"not one that does not run":      {proxy: "proxy", statuses: map[string]status{"proxy": up, "app": {}, "b": up}, want: "b"},
		"not one without a status":       {proxy: "proxy", statuses: map[string]status{"b": up}, want: "b"},
		"one that restarted twice":       {proxy: "proxy", statuses: map[string]status{"app": {true, 2}, "b": up}, want: "app"},
		"not one that restarts for ever": {proxy: "proxy", statuses: map[string]status{"app": {true, 3}, "b": up}, want: "b"},
		"only the proxy runs":            {proxy: "proxy", statuses: map[string]status{"proxy": up}, want: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			for _, c := range []string{"proxy", "app", "b"} {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c})
			}
			for c, s := range tt.statuses {
				cs := corev1.ContainerStatus{Name: c, RestartCount: s.restarts}
				if s.running {
					cs.State = *stateRunning()
				}
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, cs)
			}
			if got := DefaultTarget(pod, tt.proxy); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestContainerTTLNeverBecomesNever(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		0: "0", time.Nanosecond: "1", 1500 * time.Millisecond: "2", time.Hour: "3600",
	} {
		if got := Container(podWith(nil, nil), 1, ProbeSpec{TTL: ttl}).Env[0].Value; got != want {
			t.Errorf("TTL %v gives %s s, want %s", ttl, got, want)
		}
	}
}

// The kubelet expands $(NAME) in a variable's value.
func TestContainerReasonIsNotExpanded(t *testing.T) {
	c := Container(podWith(nil, nil), 1, ProbeSpec{Reason: "costs $5 $(" + envTTL + ")"})
	if got, want := c.Env[1].Value, "costs $$5 $$("+envTTL+")"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProbeIndex(t *testing.T) {
	for name, want := range map[string]int{
		"backlog-probe-1": 1, "backlog-probe-12": 12,
		"backlog-probe-0": 0, "backlog-probe-01": 0, "backlog-probe--1": 0, "backlog-probe-": 0,
		"backlog-probe-x": 0, "debugger-abc": 0, "x-backlog-probe-1": 0,
	} {
		if got := probeIndex(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
