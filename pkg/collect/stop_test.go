package collect

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probePod is pod shop/a with a probe that runs.
func probePod(target string) *corev1.Pod {
	pod := runningPod("app")
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{Container(pod, 1, ProbeSpec{Image: "tools:1", Target: target, TTL: time.Hour})}
	pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
		Name: "backlog-probe-1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return pod
}

func endProbe(s *apiServer, code int32) {
	s.change(func(p *corev1.Pod) {
		p.Status.EphemeralContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	})
}

// The probe is entered, its own container and no other, and Stop returns when
// the kubelet says that it has ended. With a target, process 1 is excluded.
func TestStopEndsAProbe(t *testing.T) {
	for _, target := range []string{"", "app"} {
		s, k := serveExec(t)
		var got execCall
		k.containers["backlog-probe-1"] = func(c execCall) (int, error) {
			got = c
			endProbe(s, 0)
			return 137, nil // killed with its container
		}
		pod := probePod(target)
		s.change(func(p *corev1.Pod) { *p = *pod })
		e := &Execer{Config: s.config, Client: s.client}
		if err := e.Stop(t.Context(), pod, "backlog-probe-1"); err != nil {
			t.Error(err)
		}
		if want := []string{"sh", "-c", stopScript, "backlog-stop", target}; strings.Join(got.words, "|") != strings.Join(want, "|") {
			t.Errorf("ran %q", got.words)
		}
	}
}

// A kubelet that is away for a moment is asked again.
func TestStopWaitsForTheKubelet(t *testing.T) {
	s, k := serveExec(t)
	pod := probePod("")
	s.change(func(p *corev1.Pod) { *p = *pod })
	tries := 0
	k.refuseSPDY = func(w http.ResponseWriter) {
		tries++
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "error dialing backend: connection refused")
		if tries == 2 {
			endProbe(s, 0)
		}
	}
	k.refuseWebSocket = func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadGateway) }
	e := &Execer{Config: s.config, Client: s.client}
	if err := e.Stop(t.Context(), pod, "backlog-probe-1"); err != nil || tries != 2 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

// What was not ended is told of, in the container's words.
func TestStopTellsWhyNot(t *testing.T) {
	s, k := serveExec(t)
	e := &Execer{Config: s.config, Client: s.client}
	pod := probePod("")
	s.change(func(p *corev1.Pod) { *p = *pod })
	k.containers["backlog-probe-1"] = func(c execCall) (int, error) {
		_, _ = c.stdout.Write([]byte("the container has no process of a sampler\n"))
		return 4, nil
	}
	err := e.Stop(t.Context(), pod, "backlog-probe-1")
	if err == nil || err.Error() != "ending backlog-probe-1 of pod shop/a: the container has no process of a sampler (exit code 4)" {
		t.Errorf("got %v", err)
	}

	k.refuseWebSocket = forbid("forbidden: ")
	k.refuseSPDY = forbid(`pods "a" is forbidden: User "eve" cannot create resource "pods/exec" in API group "" in the namespace "shop"`)
	var forbidden *ForbiddenError
	if err := e.Stop(t.Context(), pod, "backlog-probe-1"); !errors.As(err, &forbidden) || forbidden.Verb != "create" {
		t.Errorf("got %v", err)
	}

	k.refuseWebSocket, k.refuseSPDY = nil, nil
	k.containers["backlog-probe-1"] = func(execCall) (int, error) {
		s.mu.Lock()
		s.pod = nil
		s.mu.Unlock()
		return 0, nil
	}
	var gone *GoneError
	if err := e.Stop(t.Context(), pod, "backlog-probe-1"); !errors.As(err, &gone) {
		t.Errorf("got %v", err)
	}
}

// The script in a process namespace of its own: it ends what its command line
// shows to be a sampler, never process 1 beside a target, nor any other process.
// That it keeps to its own cgroup is tried on a real cluster.
func TestStopScript(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a process namespace needs root")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("needs unshare")
	}
	const scene = `
# Process 1 is a sampler by its looks, as are two others; one is not.
sampler() { exec sh -c 'trap "exit 0" TERM; while :; do sleep 0.1; done' "$1"; }
(sampler backlog-probe) & a=$!
(sampler backlog-probe) & b=$!
(sampler another) & c=$!
sleep 0.3
trap 'first=ended' TERM
first=runs
"$SHELL_UNDER_TEST" -c "$STOP" backlog-stop "$TARGET"
echo "code $?"
sleep 0.5
echo "first $first"
for p in $a $b $c; do
	if kill -0 $p 2>/dev/null && ! grep -q '^State:.Z' /proc/$p/status; then echo runs; else echo ended; fi
done
kill -9 $c $a $b 2>/dev/null
exit 0`
	for _, shell := range [][]string{{"sh"}, {"dash"}, {"bash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		for target, want := range map[string]string{
			"app": "code 0 first runs ended ended runs",
			"":    "code 0 first ended ended ended runs",
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			cmd := exec.CommandContext(ctx, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", scene, "backlog-probe")
			name := shell[0]
			if len(shell) > 1 {
				// A shell that is called by another name needs one word.
				dir := t.TempDir()
				path, _ := exec.LookPath(shell[0])
				name = dir + "/sh"
				if err := os.Symlink(path, name); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Env = append(os.Environ(), "STOP="+stopScript, "TARGET="+target, "SHELL_UNDER_TEST="+name)
			out, err := cmd.Output()
			cancel()
			if got := strings.Join(strings.Fields(string(out)), " "); got != want {
				t.Errorf("%v, target %q: %q, %v; want %q", shell, target, got, err, want)
			}
		}
	}
}
