package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What happens while the program looks: processes restart, pods and Jobs end,
// people press ctrl-c or look at the same time.

// A proxy that is killed starts afresh: another process, another socket whose
// drops begin at 0, and no figure that spans both lives.
func TestRestartStartsDifferencesAfresh(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{
		"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "16", "TOKIOPROXY_BURN_US": "2000",
	}))
	e.running("a")
	burst := []string{"burst", "-addr", "127.0.0.1:4143", "-n", "100", "-every", "1s", "-for", "2s", "-timeout", "900ms"}
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

// A pod whose process ends at once when told to is gone as soon with a probe as
// without: a probe that ignored SIGTERM would hold it for the grace period, 30 s.
func TestDeletionIsNoLaterWithAProbe(t *testing.T) {
	e := newEnv(t, nil)
	const times = 3
	var all []string
	for i := range times {
		for _, v := range variants {
			name := fmt.Sprintf("%s-%d", v.name, i)
			e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}, func(p *corev1.Pod) {
				p.Labels = map[string]string{"look": v.name}
				p.Spec.Containers = p.Spec.Containers[:1]
				p.Spec.TerminationGracePeriodSeconds = nil
			}))
			all = append(all, name)
		}
	}
	e.running(all...)
	e.lookAtVariants(all)

	took := map[string][]time.Duration{}
	for _, name := range all {
		begun := time.Now()
		if err := cluster.client.CoreV1().Pods(e.ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("deleting %s: %v", name, err)
		}
		e.eventually("pod "+name+" to be gone", func() error {
			_, err := cluster.client.CoreV1().Pods(e.ns).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errorf("it is there (%v)", err)
		})
		variant, _, _ := strings.Cut(name, "-")
		took[variant] = append(took[variant], time.Since(begun))
	}
	noLater(t, took, 2*time.Second)
}

// A Job whose work has ended completes as soon with a probe as without.
func TestJobCompletesNoLaterWithAProbe(t *testing.T) {
	e := newEnv(t, nil)
	jobs := cluster.client.BatchV1().Jobs(e.ns)
	pods := map[string]string{} // by job
	for i := range 3 {
		for _, v := range variants {
			name := fmt.Sprintf("%s-%d", v.name, i)
			pod := serverPod("x", []string{"-listen", "127.0.0.1:8080/16"})
			pod.Spec.Containers = pod.Spec.Containers[:1]
			pod.Spec.TerminationGracePeriodSeconds = nil
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"look": v.name}}, Spec: pod.Spec,
			}}}
			if _, err := jobs.Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatalf("creating job %s: %v", name, err)
			}
			pods[name] = ""
		}
	}
	e.eventually("the jobs' pods", func() error {
		list, err := cluster.client.CoreV1().Pods(e.ns).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != len(pods) {
			return errorf("%d pods, %v", len(list.Items), err)
		}
		for _, p := range list.Items {
			pods[p.Labels["job-name"]] = p.Name
		}
		return nil
	})
	var all []string
	for _, pod := range pods {
		all = append(all, pod)
	}
	e.running(all...)
	e.lookAtVariants(all)

	for _, pod := range pods { // the work ends now
		if out, err := e.tryExec(t.Context(), pod, "server", "sh", "-c", "kill -TERM 1"); err != nil {
			t.Logf("ending %s: %v %s", pod, err, out) // the shell may go before its answer comes
		}
	}
	took := map[string][]time.Duration{}
	for name, pod := range pods {
		var done, finished metav1.Time
		e.eventually("job "+name+" to complete", func() error {
			job, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || job.Status.CompletionTime == nil {
				return errorf("%v, status %+v", err, job.Status)
			}
			done = *job.Status.CompletionTime
			return nil
		})
		for _, s := range e.get(pod).Status.ContainerStatuses {
			if s.State.Terminated == nil || s.State.Terminated.ExitCode != 0 {
				t.Fatalf("container %s of %s: %+v", s.Name, pod, s.State)
			}
			finished = s.State.Terminated.FinishedAt
		}
		variant, _, _ := strings.Cut(name, "-")
		took[variant] = append(took[variant], done.Sub(finished.Time))
	}
	noLater(t, took, 3*time.Second)
}

// lookAtVariants watches the pods labelled look=VARIANT as each variant says,
// and returns when every probe runs and no plain pod has one.
func (e *env) lookAtVariants(pods []string) {
	e.Helper()
	for _, v := range variants {
		if v.args != nil {
			e.start(append([]string{"get", "-w", "-l", "look=" + v.name}, v.args...)...)
		}
	}
	for _, name := range pods {
		e.eventually("the probe of "+name, func() error {
			want := 1
			if e.get(name).Labels["look"] == "plain" {
				want = 0
			}
			probes := e.probes(name)
			for _, p := range probes {
				if p.State.Running == nil {
					return errorf("%+v", p.State)
				}
			}
			if len(probes) != want {
				return errorf("%d probes, want %d", len(probes), want)
			}
			return nil
		})
	}
}

// noLater compares medians with the plain variant's. The bound is on behaviour,
// a grace period of 30 s sat out or not, and no benchmark.
func noLater(t *testing.T, took map[string][]time.Duration, bound time.Duration) {
	t.Helper()
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	plain := median(took["plain"])
	for _, v := range variants {
		t.Logf("%s: %v", v.name, took[v.name])
		if got := median(took[v.name]); got > plain+bound {
			t.Errorf("%s: %s, without a probe %s", v.name, got, plain)
		}
	}
}

// A pod that is deleted while it is watched says so, and the others stay.
func TestWatchGoesOnWhenAPodIsDeleted(t *testing.T) {
	e := newEnv(t, nil)
	for _, name := range []string{"a", "b"} {
		e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}))
	}
	e.running("a", "b")
	get := e.start("get", "a", "b", "-w", "-o", "json", "--window", "1s")
	top := e.start("top", "-l", "app in (a,b)", "--interval", "1s")
	ok := func(name string) func(item) bool {
		return func(p item) bool { return p.Meta.Name == name && p.Collection.Stage == model.StageOK }
	}
	get.shows("figures of a", ok("a"))
	get.shows("figures of b", ok("b"))
	top.says("both", "a ", "b ", " ok")
	if err := cluster.client.CoreV1().Pods(e.ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := get.shows("that a is gone", func(p item) bool { return p.Meta.Name == "a" && p.Collection.Stage == model.StageGone })
	if gone.Collection.Message == "" {
		t.Error("nothing says why a is gone")
	}
	have := len(get.items())
	e.eventually("new figures of b", func() error {
		if !slices.ContainsFunc(get.items()[have:], ok("b")) {
			return errorf("none after a was gone")
		}
		return nil
	})
	rows := func() (a, b string) {
		for _, line := range strings.Split(top.lastTable(), "\n") {
			switch {
			case strings.HasPrefix(line, "a "):
				a = line
			case strings.HasPrefix(line, "b "):
				b = line
			}
		}
		return a, b
	}
	e.eventually("top to show a as gone and b as before", func() error {
		if a, b := rows(); !strings.Contains(a, "gone") || !strings.Contains(b, "0/16") || !strings.Contains(b, "ok") {
			return errorf("rows %q, %q of\n%s", a, b, top.lastTable())
		}
		return nil
	})
	get.interrupt()
	top.interrupt()
}

// ctrl-c ends the program at once with 130, at every stage of its work, and
// leaves nothing but clean output behind.
func TestInterrupted(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("fresh", []string{"-listen", "127.0.0.1:8080/16"}))
	e.running("fresh")

	for _, target := range []string{"fresh", "deploy/x"} {
		t.Run("API server says nothing, "+target, func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			silent, called := e.silentServer()
			w := e.start("get", target, "--server", "http://"+silent)
			<-called
			time.Sleep(100 * time.Millisecond)
			if w.interrupt(); w.stdout() != "" {
				t.Errorf("stdout %q", w.stdout())
			}
		})
	}
	t.Run("probe starts", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh")
		e.eventually("the probe to be asked for", func() error {
			if len(e.get("fresh").Spec.EphemeralContainers) == 0 {
				return errorf("not yet")
			}
			return nil
		})
		if w.interrupt(); w.stdout() != "" {
			t.Errorf("stdout %q", w.stdout())
		}
	})
	e.backlog("get", "fresh", "--window", "0") // the probe runs by now
	t.Run("window runs", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh", "--window", "1m")
		time.Sleep(3 * time.Second)
		if w.interrupt(); w.stdout() != "" {
			t.Errorf("stdout %q", w.stdout())
		}
	})
	for _, args := range [][]string{{"get", "fresh", "-w", "--window", "1s"}, {"top", "fresh"}} {
		t.Run("watching with "+args[0], func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			w := e.start(args...)
			w.says("figures", "fresh", "0/16")
			w.interrupt()
			if out := w.stdout(); !strings.HasSuffix(out, "\n") || strings.Contains(out, "\x1b") {
				t.Errorf("stdout %q", out)
			}
		})
	}
	t.Run("watching JSON", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		w := e.start("get", "fresh", "-w", "-o", "json", "--window", "1s")
		w.shows("figures", func(p item) bool { return p.Collection.Stage == model.StageOK })
		w.interrupt()
		if rest := w.rest(); strings.TrimSpace(rest) != "" {
			t.Errorf("the last object is cut off: %q", rest)
		}
	})
}

// silentServer takes connections and never answers.
func (e *env) silentServer() (address string, called <-chan struct{}) {
	e.Helper()
	l, err := (&net.ListenConfig{}).Listen(e.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	first := make(chan struct{}, 100)
	var held []net.Conn
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
			select {
			case first <- struct{}{}:
			default:
			}
		}
	}()
	e.Cleanup(func() {
		l.Close()
		<-done
		for _, c := range held {
			c.Close()
		}
	})
	return l.Addr().String(), first
}

// Two people who look at the same fresh pods at the same moment share the
// probes: an ephemeral container can never be removed, so there is one a pod.
func TestTwoAtOnceShareAProbe(t *testing.T) {
	e := newEnv(t, nil)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		e.create(serverPod(name, []string{"-listen", "127.0.0.1:8080/16"}))
	}
	e.running(names...)
	args := append([]string{"get", "--window", "0"}, names...)
	one, two := e.start(args...), e.start(args...)
	for i, w := range []*program{one, two} {
		if code := w.wait(); code != 0 || strings.Count(w.stdout(), "0/16") != len(names) {
			t.Errorf("person %d: code %d\n%s%s", i+1, code, w.stdout(), w.stderr())
		}
	}
	for _, name := range names {
		if n := len(e.get(name).Spec.EphemeralContainers); n != 1 {
			t.Errorf("pod %s has %d ephemeral containers, want one that both used", name, n)
		}
	}
}

// program is kubectl-backlog while it runs.
type program struct {
	*env
	cmd      *exec.Cmd
	out, err buffer
	done     chan struct{}
}

// buffer is what was printed so far, read while more is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the program in the background, until the test ends at most.
func (e *env) start(args ...string) *program {
	e.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{env: e, cmd: e.command(ctx, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		cancel()
		e.Fatalf("starting kubectl-backlog %q: %v", args, err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	e.Cleanup(func() {
		cancel()
		<-p.done
		if e.Failed() {
			e.Logf("kubectl backlog %s\n%.20000s\n%s", strings.Join(args, " "), p.stdout(), p.stderr())
		}
	})
	return p
}

func (p *program) stdout() string { return p.out.String() }
func (p *program) stderr() string { return p.err.String() }

// wait gives the exit code.
func (p *program) wait() int {
	p.Helper()
	select {
	case <-p.done:
	case <-time.After(3 * time.Minute):
		p.Fatalf("kubectl-backlog does not end:\n%s%s", p.stdout(), p.stderr())
	}
	return p.cmd.ProcessState.ExitCode()
}

// noise is what no interrupt may leave on stderr: errors of its own making, and
// log lines of libraries.
var noise = regexp.MustCompile(`(?m)error|cancell?ed|deadline|panic|goroutine|^[EWIF]\d{4} `)

// interrupt is ctrl-c. The program must end by itself within two seconds, with
// the code of an interrupt and without a word about it.
func (p *program) interrupt() {
	p.Helper()
	begun := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.Fatalf("interrupting: %v (code %d)\n%s%s", err, p.wait(), p.stdout(), p.stderr())
	}
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.Fatalf("20 s after ctrl-c the program still runs:\n%s", p.stderr())
	}
	if took := time.Since(begun); took > 2*time.Second {
		p.Errorf("it took %s to end after ctrl-c", took)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		p.Errorf("exit code %d after ctrl-c, want 130", code)
	}
	if found := noise.FindString(p.stderr()); found != "" {
		p.Errorf("%q on stderr after ctrl-c:\n%s", found, p.stderr())
	}
}

// items are the pods that -o json has printed so far, whole ones alone.
func (p *program) items() []item {
	p.Helper()
	items, _ := p.decode()
	return items
}

// rest is what follows the last whole object.
func (p *program) rest() string {
	p.Helper()
	_, rest := p.decode()
	return rest
}

func (p *program) decode() (items []item, rest string) {
	p.Helper()
	text := p.stdout()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		begin := d.InputOffset()
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return items, text[begin:]
		case err != nil:
			p.Fatalf("reading JSON: %v\n%.2000s", err, text[begin:])
		}
		var many struct{ Items *[]item }
		var one item
		if err := errors.Join(json.Unmarshal(raw, &many), json.Unmarshal(raw, &one)); err != nil {
			p.Fatalf("reading a pod: %v\n%.2000s", err, raw)
		}
		if many.Items != nil {
			items = append(items, *many.Items...)
		} else {
			items = append(items, one)
		}
	}
}

// shows waits until a pod is printed that is as wanted, and gives the first.
func (p *program) shows(what string, wanted func(item) bool) item {
	p.Helper()
	var found item
	p.eventually(what, func() error {
		items := p.items()
		i := slices.IndexFunc(items, wanted)
		if i < 0 {
			return errorf("not in %d pods\n%s", len(items), p.stderr())
		}
		found = items[i]
		return nil
	})
	return found
}

// says waits until all of the words are on stdout.
func (p *program) says(what string, words ...string) {
	p.Helper()
	p.eventually(what, func() error {
		for _, w := range words {
			if !strings.Contains(p.stdout(), w) {
				return errorf("%q is not in\n%s%s", w, p.stdout(), p.stderr())
			}
		}
		return nil
	})
}

// lastTable is the newest whole table of top: they are apart by an empty line.
func (p *program) lastTable() string {
	tables := strings.Split(p.stdout(), "\n\n")
	return tables[max(0, len(tables)-2)]
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
