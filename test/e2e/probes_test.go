package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// listedProbes runs `probes -o json` and reads them by pod.
func (e *env) listedProbes(args ...string) map[string]model.ProbeInfo {
	e.Helper()
	r := e.backlog(append([]string{"probes", "-o", "json"}, args...)...)
	var l struct{ Items []model.ProbeInfo }
	if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || r.code != 0 {
		e.Fatalf("reading the probes (code %d): %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	byPod := map[string]model.ProbeInfo{}
	for _, p := range l.Items {
		byPod[p.Pod.Name] = p
	}
	return byPod
}

// Probes are listed with who added them, when, why and until when, and stop ends
// them: beside a target, which is process 1 there and goes on; in a process
// namespace of the whole pod; and alone, where the sampler itself is process 1.
func TestProbes(t *testing.T) {
	e := newEnv(t, nil)
	if r := e.backlog("probes"); r.code != 0 || r.stdout != "" || r.stderr != "No probes found in "+e.ns+" namespace.\n" {
		t.Errorf("without probes: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	targets := map[string]string{"beside": "server", "shared": "load", "alone": ""}
	e.create(serverPod("beside", []string{"-listen", "0.0.0.0:8080/4"}))
	e.create(proxyPod("shared", nil))
	e.create(proxyPod("alone", nil, func(p *corev1.Pod) {
		p.Spec.ShareProcessNamespace = nil
		p.Spec.Containers = p.Spec.Containers[:1]
	}))
	e.running("beside", "shared", "alone")
	began := time.Now()
	e.getJSON("beside", "shared", "alone", "--window", "0", "--probe-ttl", "10m", "--reason", "refused $(HOME) at checkout")

	var me string
	for pod, p := range e.listedProbes() {
		me = p.By
		if p.State != model.ProbeRunning || p.Reason != "refused $(HOME) at checkout" || p.By == "" || p.Image != toolsImage || p.Target != targets[pod] {
			t.Errorf("%s: %+v", pod, p)
		}
		if d := p.Started.Sub(began).Abs(); d > time.Minute || p.Until.Sub(p.Started) != 10*time.Minute {
			t.Errorf("%s: since %s, until %s", pod, p.Started, p.Until)
		}
	}
	r := e.backlog("probes", "beside")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "running") || !strings.Contains(lines[1], me) || !strings.Contains(lines[1], "refused $(HOME) at checkout") {
		t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	// Whoever may not exec is told which right that takes, and when it ends by
	// itself; whoever may is still asked about those of others.
	r = e.user(t, "least", leastRights...).backlog("probes", "stop", "beside", "--yes")
	if r.code != 1 || !strings.Contains(r.stderr, "not allowed to get and create pods/exec") || !strings.Contains(r.stderr, "it ends by itself at ") {
		t.Errorf("without exec: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if role := printedRole(t, r.stderr); !grants(roleRules(role), "get pods/exec") || !grants(roleRules(role), "create pods/exec") {
		t.Error("the Role that was printed lacks pods/exec")
	}
	other := e.user(t, "other", append([]right{"get pods/exec", "create pods/exec"}, leastRights...)...)
	r = other.backlog("probes", "stop", "--all")
	if r.code != 1 || !strings.Contains(r.stderr, "3 of 3 running probes were added by others ("+me+"): nothing was stopped") {
		t.Errorf("those of others: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	before := processes(e, "shared", "tools")
	if r := e.backlog("probes", "stop", "beside", "shared"); r.code != 0 || strings.Count(r.stdout, " stopped\n") != 2 {
		t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := other.backlog("probes", "stop", "-l", "app=alone", "--yes"); r.code != 0 || !strings.Contains(r.stdout, "pod "+e.ns+"/alone: backlog-probe-1 stopped\n") {
		t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for pod, p := range e.listedProbes() {
		if p.State != model.ProbeEnded || p.Ended.IsZero() || !strings.Contains(p.Message, "exit code 0") {
			t.Errorf("%s after stop: %+v", pod, p)
		}
		for _, s := range e.get(pod).Status.ContainerStatuses {
			if s.RestartCount != 0 || s.State.Running == nil {
				t.Errorf("%s of %s did not go on: %+v", s.Name, pod, s)
			}
		}
	}
	after := processes(e, "shared", "tools")
	if !strings.Contains(before, "backlog-probe") || strings.Contains(after, "backlog-probe") {
		t.Errorf("processes before\n%.2000s\nand after\n%.2000s", before, after)
	}
	for _, line := range strings.Split(before, "\n") {
		if (strings.Contains(line, "tokioproxy") || strings.Contains(line, "trap 'exit 0'")) && !strings.Contains(after, line) {
			t.Errorf("%q is gone", line)
		}
	}
	if r := e.backlog("probes", "stop", "--all"); r.code != 0 || r.stderr != "No running probes found in "+e.ns+" namespace.\n" {
		t.Errorf("when none runs: code %d\n%s", r.code, r.stderr)
	}

	// Two probes beside one target see each other's processes: the one that is
	// ended is the one that was meant.
	e.probeBeside("beside", 2)
	e.probeBeside("beside", 3)
	execer := &collect.Execer{Config: cluster.config, Client: cluster.client}
	if err := execer.Stop(t.Context(), e.get("beside"), "backlog-probe-2"); err != nil {
		t.Error(err)
	}
	// A trap runs within a second, and a container takes with it what runs there.
	e.exec("beside", "backlog-probe-3", "sleep", "2")
	states := map[string]model.ProbeState{}
	for _, p := range collect.Probes(e.get("beside")) {
		states[p.Name] = p.State
	}
	if states["backlog-probe-2"] != model.ProbeEnded || states["backlog-probe-3"] != model.ProbeRunning {
		t.Errorf("states %v", states)
	}
}

// probeBeside adds a probe that sees the processes of container server, whatever
// runs already, and waits until it runs.
func (e *env) probeBeside(name string, index int) {
	e.Helper()
	pod := e.get(name)
	c := collect.Container(pod, index, collect.ProbeSpec{Image: toolsImage, TTL: 10 * time.Minute, Target: "server"})
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, c)
	if _, err := cluster.client.CoreV1().Pods(e.ns).UpdateEphemeralContainers(e.Context(), name, pod, metav1.UpdateOptions{}); err != nil {
		e.Fatalf("adding %s: %v", c.Name, err)
	}
	e.eventually(c.Name+" to run", func() error {
		for _, p := range collect.Probes(e.get(name)) {
			if p.Name == c.Name && p.State == model.ProbeRunning {
				return nil
			}
		}
		return errorf("not yet")
	})
}
