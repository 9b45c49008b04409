package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// runningPod is pod shop/a with containers that run.
func runningPod(names ...string) *corev1.Pod {
	pod := podWith(nil, nil)
	pod.Spec.Containers, pod.Status.ContainerStatuses = nil, nil
	for _, n := range names {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: n})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: n, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

// followExec follows until n frames have come or it ends by itself.
func followExec(t *testing.T, s *apiServer, pod *corev1.Pod, n int, change ...func(*Execer)) (frames []parse.Frame, chosen []string, err error) {
	t.Helper()
	s.change(func(p *corev1.Pod) { *p = *pod })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := &Execer{Config: s.config, Client: s.client, Interval: 10 * time.Millisecond}
	e.Chosen = func(_, _, container, program string) { chosen = append(chosen, container+" "+program) }
	for _, f := range change {
		f(e)
	}
	err = e.Follow(ctx, pod, nil, func(f parse.Frame, _ time.Time) {
		frames = append(frames, f)
		if len(frames) == n {
			cancel()
		}
	})
	return frames, chosen, err
}

// fakeSampler is a shell that answers each line with a frame; ss says whether it
// has sockets of ss in it.
func fakeSampler(ss bool) func(execCall) (int, error) {
	return func(c execCall) (int, error) {
		if c.words[0] != "sh" {
			return withoutPrograms(c)
		}
		in := newLines(c.stdin)
		for {
			line, err := in()
			if err != nil {
				return 1, nil
			}
			if line == endOfScript {
				break
			}
		}
		section := "tcp"
		if ss {
			section = "ss"
		}
		for seq := 1; ; seq++ {
			_, err := fmt.Fprintf(c.stdout, "==backlog-frame/1 begin seq=%d uptime=%d.00==\n==backlog-section %s==\n==backlog-frame/1 end seq=%d==\n", seq, 100+seq, section, seq)
			if err != nil {
				return 1, nil
			}
			if _, err := in(); err != nil {
				return 0, nil
			}
		}
	}
}

// newLines reads lines.
func newLines(r io.Reader) func() (string, error) {
	var rest []byte
	return func() (string, error) {
		for {
			if line, after, ok := strings.Cut(string(rest), "\n"); ok {
				rest = []byte(after)
				return line, nil
			}
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			rest = append(rest, buf[:n]...)
			if n == 0 && err != nil {
				return "", err
			}
		}
	}
}

// The real sampler in a real shell: frames come, numbered from 1, and the shell
// ends when the client does.
func TestExecFollowsTheSampler(t *testing.T) {
	for _, over := range []string{"websocket", "spdy"} {
		t.Run(over, func(t *testing.T) {
			s, k := serveExec(t)
			if over == "spdy" {
				k.refuseWebSocket = func(w http.ResponseWriter) { http.Error(w, "no upgrade here", http.StatusBadGateway) }
			}
			ended := make(chan struct{})
			k.containers["app"] = func(c execCall) (int, error) {
				defer close(ended)
				return thisMachine(c)
			}
			frames, chosen, err := followExec(t, s, runningPod("app"), 3)
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			for i, f := range frames {
				if f.Seq != uint64(i+1) || !f.SocketsRead || !f.Uptime.IsKnown() {
					t.Errorf("frame %d: seq %d, sockets %t, uptime %s", i, f.Seq, f.SocketsRead, f.Uptime.Reason())
				}
			}
			if !slices.Equal(chosen, []string{"app sh"}) {
				t.Errorf("chose %q", chosen)
			}
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the shell still runs")
			}
		})
	}
}

// The sampler itself ends with its input, whatever becomes of the client.
func TestSamplerEndsWithItsInput(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	f := execFollower{execer: &Execer{}, pod: runningPod("app")}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", loader, "backlog-probe")
	cmd.Stdin = strings.NewReader(f.script("app") + "\n\n")
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "==backlog-frame/1 end "); n != 3 {
		t.Errorf("%d frames for two lines, want 3:\n%s", n, out.String())
	}
	// A script that was cut off is not run at all.
	cmd = exec.CommandContext(t.Context(), "sh", "-c", loader, "backlog-probe")
	cmd.Stdin = strings.NewReader("echo half\n")
	if text, err := cmd.Output(); err != nil || len(text) > 0 {
		t.Errorf("half a script: %v, %q", err, text)
	}
}

// A container with ss is better than the first with a shell, and that is better
// than one with cat alone.
func TestExecChoosesTheContainer(t *testing.T) {
	catOnly := func(c execCall) (int, error) {
		if c.words[0] != "cat" {
			return withoutPrograms(c)
		}
		text, err := os.ReadFile("testdata/cat.txt")
		if err == nil {
			_, err = c.stdout.Write(text)
		}
		return 0, err
	}
	for _, c := range []struct {
		name       string
		containers map[string]func(execCall) (int, error)
		chosen     string
		calls      []string
	}{
		{"the first with ss", map[string]func(execCall) (int, error){"a": fakeSampler(true), "b": fakeSampler(true)}, "a sh", []string{"a sh"}},
		{"ss in a later one", map[string]func(execCall) (int, error){"a": withoutPrograms, "b": fakeSampler(false), "c": fakeSampler(true)}, "c sh", []string{"a sh", "b sh", "c sh"}},
		{"ss nowhere", map[string]func(execCall) (int, error){"a": fakeSampler(false), "b": withoutPrograms}, "a sh", []string{"a sh", "b sh", "a sh"}},
		{"no shell", map[string]func(execCall) (int, error){"a": withoutPrograms, "b": catOnly}, "b cat", []string{"a sh", "b sh", "a cat", "b cat", "b cat", "b cat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, k := serveExec(t)
			k.containers = c.containers
			var names []string
			for n := range c.containers {
				names = append(names, n)
			}
			slices.Sort(names)
			frames, chosen, err := followExec(t, s, runningPod(names...), 3)
			if !errors.Is(err, context.Canceled) || len(frames) != 3 {
				t.Fatalf("%d frames, %v", len(frames), err)
			}
			if !slices.Equal(chosen, []string{c.chosen}) {
				t.Errorf("chose %q, want %q", chosen, c.chosen)
			}
			if got := k.calls(); !slices.Equal(got, c.calls) {
				t.Errorf("ran %q\nwant %q", got, c.calls)
			}
			for i, f := range frames {
				if f.Seq != uint64(i+1) {
					t.Errorf("frame %d has number %d", i, f.Seq)
				}
			}
		})
	}
}

// When nothing can be sampled, the error says what was tried and what each
// container answered, in few words.
func TestExecSaysWhatWasTried(t *testing.T) {
	s, k := serveExec(t)
	k.containers["app"] = withoutPrograms
	k.containers["log"] = func(c execCall) (int, error) {
		fmt.Fprintf(c.stderr, "%s: \x1b[31mnot today\n", c.words[0])
		return 126, nil
	}
	_, _, err := followExec(t, s, runningPod("app", "log"), 1)
	var impossible *NotPossibleError
	if !errors.As(err, &impossible) {
		t.Fatalf("got %v", err)
	}
	const want = `no container of pod shop/a can be sampled by exec: ` +
		`app (sh: "unable to start container process: exec: \"sh\": executable file not found in $PATH: unknown", ` +
		`cat: "unable to start container process: exec: \"cat\": executable file not found in $PATH: unknown"); ` +
		`log (sh: "sh: \x1b[31mnot today (exit code 126)", cat: "cat: \x1b[31mnot today (exit code 126)")`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if n := len(k.calls()); n != 4 {
		t.Errorf("%d execs, want 4: an answer is not asked for twice", n)
	}
}

// The verb that is missing is named, whichever way the API server words it.
func TestExecNamesTheRight(t *testing.T) {
	const get = `pods "a" is forbidden: User "eve" cannot get resource "pods/exec" in API group "" in the namespace "shop"`
	const create = `pods "a" is forbidden: User "eve" cannot create resource "pods/exec" in API group "" in the namespace "shop"`
	for _, c := range []struct{ name, websocket, spdy, verb string }{
		{"create missing", "forbidden: ", create, "create"},
		{"both missing", get, create, "get and create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, k := serveExec(t)
			k.refuseWebSocket, k.refuseSPDY = forbid(c.websocket), forbid(c.spdy)
			_, _, err := followExec(t, s, runningPod("app", "log"), 1)
			var forbidden *ForbiddenError
			if !errors.As(err, &forbidden) {
				t.Fatalf("got %v", err)
			}
			if forbidden.Verb != c.verb || forbidden.Resource != "pods/exec" || forbidden.Namespace != "shop" {
				t.Errorf("%+v", forbidden)
			}
			if !slices.Equal(k.over, []string{"websocket", "spdy"}) {
				t.Errorf("asked over %v: a refusal holds for all containers", k.over)
			}
		})
	}
	t.Run("webhook", func(t *testing.T) {
		const words = `admission webhook "no-exec.example.com" denied the request: not in production`
		s, k := serveExec(t)
		k.refuseWebSocket, k.refuseSPDY = forbid(words), forbid(words)
		_, _, err := followExec(t, s, runningPod("app"), 1)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Message != words {
			t.Errorf("got %v", err)
		}
	})
}

// A stream that breaks is made again, in the same container; numbers go on.
func TestExecGoesOnWhenTheStreamBreaks(t *testing.T) {
	s, k := serveExec(t)
	k.containers["a"], k.containers["b"] = withoutPrograms, fakeSampler(true)
	pod := runningPod("a", "b")
	s.change(func(p *corev1.Pod) { *p = *pod })
	var retried []string
	var n int
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &Execer{
		Config: s.config, Client: s.client, Interval: 10 * time.Millisecond,
		Retrying: func(_, _ string, why error) { retried = append(retried, fmt.Sprint(why)) },
	}
	var cut sync.WaitGroup
	err := e.Follow(ctx, pod, nil, func(f parse.Frame, _ time.Time) {
		n++
		if f.Seq != uint64(n) {
			t.Errorf("frame %d after %d", f.Seq, n-1)
		}
		switch n {
		case 2, 5:
			cut.Go(k.cut)
		case 8:
			cancel()
		}
	})
	cut.Wait()
	if !errors.Is(err, context.Canceled) || n != 8 {
		t.Fatalf("%d frames, %v", n, err)
	}
	if got := k.calls(); !slices.Equal(got, []string{"a sh", "b sh", "b sh", "b sh"}) {
		t.Errorf("ran %q", got)
	}
	if len(retried) != 2 {
		t.Errorf("told of %q", retried)
	}
}

// A kubelet that is away for a while is waited for; a container that does not
// run is not asked, and waited for, too.
func TestExecWaits(t *testing.T) {
	s, k := serveExec(t)
	k.containers["app"] = fakeSampler(true)
	pod := runningPod("app")
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	tries := 0
	away := func(w http.ResponseWriter) {
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "error dialing backend: dial tcp 10.0.0.1:10250: connect: connection refused")
	}
	var told []string
	frames, _, err := followExec(t, s, pod, 1, func(e *Execer) {
		e.Retrying = func(_, _ string, why error) {
			told = append(told, why.Error())
			switch tries++; tries {
			case 1, 2:
				if len(k.over) > 0 {
					t.Error("asked for a container that does not run")
				}
				k.refuseWebSocket, k.refuseSPDY = away, away
				s.change(func(p *corev1.Pod) { p.Status = runningPod("app").Status })
			case 4:
				k.refuseWebSocket, k.refuseSPDY = nil, nil
			}
		}
	})
	if !errors.Is(err, context.Canceled) || len(frames) != 1 {
		t.Fatalf("%d frames, %v, told of %q", len(frames), err, told)
	}
	if len(told) != 4 || !strings.Contains(told[1], "app (does not run: CrashLoopBackOff)") || !strings.Contains(told[3], "error dialing backend") {
		t.Errorf("told of %q", told)
	}
}

// A pod that goes is gone, also when another one takes its name.
func TestExecTellsThatThePodIsGone(t *testing.T) {
	for name, change := range map[string]func(*apiServer){
		"was deleted":  func(s *apiServer) { s.pod = nil },
		"has finished": func(s *apiServer) { s.pod.Status.Phase = corev1.PodSucceeded },
		"was replaced by another of the same name": func(s *apiServer) { s.pod.UID = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			s, k := serveExec(t)
			k.containers["app"] = func(c execCall) (int, error) {
				s.mu.Lock()
				change(s)
				s.mu.Unlock()
				return 137, nil
			}
			_, _, err := followExec(t, s, runningPod("app"), 1)
			var gone *GoneError
			if !errors.As(err, &gone) || !strings.Contains(gone.Why, name) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Words that nobody can read are not asked for for ever.
func TestExecGivesUpOnStrangeWords(t *testing.T) {
	s, k := serveExec(t)
	no := func(w http.ResponseWriter) {
		refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "Debug endpoints are disabled.")
	}
	k.refuseWebSocket, k.refuseSPDY = no, no
	_, _, err := followExec(t, s, runningPod("app"), 1)
	var impossible *NotPossibleError
	if !errors.As(err, &impossible) || !strings.Contains(err.Error(), "Debug endpoints are disabled") {
		t.Errorf("got %v", err)
	}
}

// The threads of the target are shown where they can be seen: process 1 in its
// own container, and by the container's ID in a namespace that the pod shares.
func TestExecTarget(t *testing.T) {
	yes := true
	shared := runningPod("app", "log")
	shared.Spec.ShareProcessNamespace = &yes
	shared.Status.ContainerStatuses[0].ContainerID = "containerd://0123456789abcdef"
	for _, c := range []struct {
		pod    *corev1.Pod
		target string
		want   string
	}{
		{runningPod("app", "log"), "app", ""},
		{runningPod("app", "log"), "", ""},
		{runningPod("app", "log"), "log", envContainer + "='log'\n" + envTarget + "='1'\n"},
		{shared, "app", envContainer + "='app'\n" + envContainerID + "='0123456789abcdef'\n"},
	} {
		f := execFollower{execer: &Execer{Target: func(*corev1.Pod) string { return c.target }}, pod: c.pod}
		settings, _, _ := strings.Cut(f.script("log"), samplerScript)
		_, got, _ := strings.Cut(settings, envOwners+"=\n")
		if got != c.want {
			t.Errorf("target %q: %q, want %q", c.target, got, c.want)
		}
	}
}
