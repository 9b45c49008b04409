package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// execPod listens with a backlog of 4, and has these containers beside.
func execPod(name string, beside ...corev1.Container) *corev1.Pod {
	return serverPod(name, []string{"-listen", "0.0.0.0:8080/4", "-never-accept"}, func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers[:1:1], beside...)
	})
}

// --via exec samples in a container of the pod, and adds nothing to it: the one
// that has ss before one that has only a shell, and none that has neither.
func TestExec(t *testing.T) {
	e := newEnv(t, nil)
	bare := proxyContainer(nil) // an image without sh and cat
	bare.Name = "bare"
	e.create(execPod("with-ss", sleeper("noss", nossImage), sleeper("tools", toolsImage)))
	e.create(execPod("without-ss", sleeper("noss", nossImage)))
	next := execPod("next", sleeper("tools", toolsImage))
	next.Spec.Containers = append([]corev1.Container{bare}, next.Spec.Containers...)
	e.create(next)
	e.create(serverPod("nothing", nil, func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{bare} }))
	e.running("with-ss", "without-ss", "next", "nothing")
	for _, pod := range []string{"with-ss", "without-ss"} {
		e.background(pod, "server", "burst", "-addr", "127.0.0.1:8080", "-fill", "3", "-hold", "60s")
	}
	e.eventually("three connections to wait", func() error {
		ss := e.exec("with-ss", "tools", "ss", "-Hltn")
		if !strings.HasPrefix(strings.Join(strings.Fields(ss), " "), "LISTEN 3 4 ") {
			return errorf("ss shows\n%s", ss)
		}
		return nil
	})

	pods := e.getJSON("--via", "exec", "with-ss", "without-ss", "next")
	for name, want := range map[string]string{"with-ss": "3/4", "without-ss": "3/?", "next": "0/4"} {
		p := pods[name]
		if p.Collection.Stage != model.StageOK || p.Collection.Via != model.ViaExec {
			t.Errorf("%s: %+v", name, p.Collection)
			continue
		}
		s := e.listener(p, 8080).Worst()
		if got := queue(s); got != want {
			t.Errorf("%s: queue %s, want %s", name, got, want)
		}
		why := slices.IndexFunc(p.Unknown, func(m model.Missing) bool {
			return strings.HasSuffix(m.Field, ".limit") && strings.Contains(m.Reason, "/proc/net/tcp")
		})
		if s.Limit.IsKnown() != (why < 0) {
			t.Errorf("%s: why the limit is unknown: %+v", name, p.Unknown)
		}
		if !p.Counters.ListenOverflows.IsKnown() || !p.Window.Overflows.IsKnown() {
			t.Errorf("%s: overflows %+v, in the window %+v", name, p.Counters.ListenOverflows, p.Window.Overflows)
		}
	}
	r := e.backlog("get", "--via", "exec", "nothing")
	for _, want := range []string{"no container of pod " + e.ns + "/nothing can be sampled by exec", `bare (sh: "`, `cat: "`} {
		if r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("code %d, %q is not in\n%s", r.code, want, r.stderr)
		}
	}
	for _, name := range []string{"with-ss", "without-ss", "next", "nothing"} {
		if n := len(e.get(name).Spec.EphemeralContainers); n > 0 {
			t.Errorf("%s has %d ephemeral containers", name, n)
		}
	}

	t.Run("forbidden", func(t *testing.T) {
		u := e.user(t, "least", leastRights...)
		r := u.backlog("get", "--via", "exec", "with-ss", "--window", "0")
		if r.code != 1 || !strings.Contains(r.stderr, "not allowed to get and create pods/exec in namespace "+e.ns) {
			t.Errorf("code %d\n%s", r.code, r.stderr)
		}
		role := printedRole(t, r.stderr)
		if !grants(roleRules(role), "create pods/exec") || !grants(roleRules(role), "get pods/exec") {
			t.Errorf("the Role that was printed lacks pods/exec:\n%s", r.stderr)
		}
	})
	t.Run("killed", func(t *testing.T) {
		p := e.start("get", "--via", "exec", "with-ss", "-w", "-o", "json")
		p.shows("the first row", func(i item) bool { return i.Collection.Stage == model.StageOK })
		if ps := processes(e, "with-ss", "tools"); !strings.Contains(ps, "backlog-probe") {
			t.Fatalf("no sampler is seen while it runs:\n%s", ps)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.done
		e.eventually("the sampler to end with its client", func() error {
			if ps := processes(e, "with-ss", "tools"); strings.Contains(ps, "backlog-probe") {
				return errorf("still there:\n%.500s", ps)
			}
			return nil
		})
	})
}

// Where a port-forward is not allowed, the proxy's page comes through the API
// server's pod proxy; where neither is, both rights are named.
func TestPodProxy(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.running("server")
	rights := without("get pods/portforward", "create pods/portforward")
	p := e.user(t, "proxied", append([]right{"get pods/proxy"}, rights...)...).getJSON("server")["server"]
	if p.Runtime.Workers != model.Known[int64](2) || !p.Runtime.Window.Busy.IsKnown() || p.Collection.Metrics != "" {
		t.Errorf("workers %+v, busy %+v, %+v", p.Runtime.Workers, p.Runtime.Window.Busy, p.Collection)
	}
	p = e.user(t, "neither", rights...).getJSON("server")["server"]
	for _, want := range []string{"pods/portforward", "not allowed to get pods/proxy in namespace " + e.ns} {
		if p.Collection.Stage != model.StageOK || !strings.Contains(p.Collection.Metrics, want) {
			t.Errorf("%q is not in %+v", want, p.Collection)
		}
	}
}

// queue is depth/limit, with ? for what is unknown.
func queue(s model.Socket) string {
	limit := "?"
	if n, ok := s.Limit.Get(); ok {
		limit = strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(s.Depth.Or(-1), 10) + "/" + limit
}

// processes are the command lines of all processes that a container sees.
func processes(e *env, pod, container string) string {
	e.Helper()
	return e.exec(pod, container, "sh", "-c", `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done 2>/dev/null; true`)
}
