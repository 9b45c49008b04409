package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// provoked is a fault that is made in a pod, and the verdict that it must get
// from outside.
type provoked struct {
	name string
	pod  *corev1.Pod
	// load is what runs in the pod's container "load" meanwhile.
	load []string
	want model.Class
	// also may stand beside it; nothing else of a warning or worse may.
	also []model.Class
	// says is in its sentence or evidence.
	says string
}

// shell is a server in a container with a shell, so that it can be given another
// name or limits.
func shell(name, script string, change ...func(*corev1.Pod)) *corev1.Pod {
	return serverPod(name, nil, append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"sh", "-c", script}
	}}, change...)...)
}

// lowSomaxconn sets net.core.somaxconn of the pod as people do who may not use
// sysctls: in a privileged init container.
func lowSomaxconn(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{
			Name: "sysctl", Image: toolsImage, ImagePullPolicy: corev1.PullNever,
			Command:         []string{"sh", "-c", "echo " + value + " >/proc/sys/net/core/somaxconn"},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr(true), RunAsUser: ptr(int64(0))},
		}}
	}
}

// asUser lets the server and its probe be one user, so that the probe may count
// its descriptors.
func asUser(id int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: &id, RunAsGroup: &id}
	}
}

func bursts(port, n string) []string {
	return []string{"burst", "-addr", "127.0.0.1:" + port, "-n", n, "-every", "3s", "-for", "90s", "-timeout", "1s"}
}

// faults need little CPU, so that they can all be there at once.
func faults() []provoked {
	backlog := "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	return []provoked{
		{
			name: "burst", pod: proxyPod("burst", burstyEnv()), load: bursts("4143", "150"),
			want: model.ClassBurst, says: "the workers have headroom",
		},
		{
			name: "stalled", pod: serverPod("stalled", []string{"-listen", "127.0.0.1:8080/4", "-never-accept"}),
			load: []string{"burst", "-addr", "127.0.0.1:8080", "-fill", "5", "-hold", "120s"},
			want: model.ClassAcceptStalled, says: "Nothing leaves the queue",
		},
		{
			name: "slow", pod: serverPod("slow", []string{"-listen", "127.0.0.1:8080/16", "-accept-delay", "200ms"}),
			load: []string{"burst", "-addr", "127.0.0.1:8080", "-n", "30", "-every", "1s", "-for", "90s", "-timeout", "1s"},
			want: model.ClassAcceptSlow,
		},
		{
			name: "somaxconn", pod: proxyPod("somaxconn", map[string]string{backlog: "1024", "TOKIOPROXY_BURN_US": "2000"}, lowSomaxconn("16")),
			load: bursts("4143", "150"), want: model.ClassSomaxconnCap, also: []model.Class{model.ClassConfigDrift}, says: "net.core.somaxconn",
		},
		{
			name: "drift", pod: proxyPod("drift", nil, func(p *corev1.Pod) {
				p.Annotations = map[string]string{"config.linkerd.io/proxy-additional-env": `[{"name":"` + backlog + `","value":"1024"}]`}
			}),
			want: model.ClassConfigDrift, says: "1,024",
		},
		{
			name: "oldproxy", pod: proxyPod("oldproxy", map[string]string{backlog: "1024", "TOKIOPROXY_VERSION": "2.340.0"}),
			want: model.ClassConfigDrift, says: "older than 2.347",
		},
		{
			name: "ignored", pod: proxyPod("ignored", map[string]string{"LINKERD2_PROXY_CORES_MAX": "1500m"}),
			want: model.ClassConfigDrift, says: "1500m",
		},
		{
			name: "fixed", pod: shell("fixed", `cp "$(command -v badserver)" /tmp/python3 && exec /tmp/python3 -listen 127.0.0.1:8080/5`),
			load: bursts("8080", "300"), want: model.ClassFixedBacklog, says: "python3",
		},
		{
			name: "app", pod: proxyPod("app", nil, func(p *corev1.Pod) {
				server := serverPod("", []string{"-listen", "127.0.0.1:8080/4"}).Spec.Containers[0]
				p.Spec.Containers = slices.Insert(p.Spec.Containers, 1, server)
			}),
			load: bursts("8080", "300"), want: model.ClassAppBacklog, says: "the proxy in front of it refused nothing",
		},
		{
			name: "imbalance", pod: serverPod("imbalance", []string{"-listen", "127.0.0.1:8080/8", "-reuseport", "4", "-stuck", "1"}),
			load: []string{"burst", "-addr", "127.0.0.1:8080", "-n", "40", "-every", "1s", "-for", "90s", "-timeout", "1s"},
			want: model.ClassImbalance,
		},
		{
			name: "fds", pod: shell("fds", "ulimit -n 24; exec badserver -listen 127.0.0.1:8080/8 -hold", asUser(4711)),
			// Six at a time fit into the queue: what it holds at the end is all that came
			// after the last descriptor.
			load: []string{"sh", "-c", "for i in 1 2 3 4; do burst -addr 127.0.0.1:8080 -fill 6 -hold 120s & sleep 1; done; wait"},
			want: model.ClassFDExhausted, says: "descriptor",
		},
		{
			name: "starting", pod: proxyPod("starting", map[string]string{
				"TOKIOPROXY_READY_AFTER_MS": "180000", backlog: "16",
			}, func(p *corev1.Pod) {
				p.Spec.Containers[0].ReadinessProbe = httpProbe("/ready", 4191)
			}),
			load: []string{"burst", "-addr", "127.0.0.1:4143", "-fill", "10", "-hold", "120s"},
			want: model.ClassStarting,
		},
		{
			name: "host", pod: serverPod("host", []string{"-listen", "127.0.0.1:18080/4"}, func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
			want: model.ClassNotAttributable,
		},
		{
			name: "quiet", pod: proxyPod("quiet", nil),
			want: model.ClassHealthy, says: "Not the queue",
		},
	}
}

func httpProbe(path string, port int32) *corev1.Probe {
	p := &corev1.Probe{PeriodSeconds: 2, FailureThreshold: 100}
	p.HTTPGet = &corev1.HTTPGetAction{Path: path}
	p.HTTPGet.Port.IntVal = port
	return p
}

// Every fault is diagnosed from outside, by what one command says after a few
// seconds.
func TestVerdicts(t *testing.T) {
	e := newEnv(t, map[string]string{"pod-security.kubernetes.io/enforce": "privileged"})
	all := faults()
	var names []string
	for _, f := range all {
		e.create(f.pod)
		names = append(names, f.name)
	}
	e.running(names...)
	// The probes first: a burst on a machine that starts containers is none.
	e.getJSON(append(slices.Clone(names), "--window", "0")...)
	for _, f := range all {
		if f.load != nil {
			e.background(f.name, "load", f.load...)
		}
	}
	time.Sleep(2 * time.Second)
	got := map[string]item{}
	for range looks {
		r := e.backlog(append([]string{"describe", "-o", "json", "--window", "15s"}, names...)...)
		names = nil
		for name, p := range e.parse(r.stdout) {
			got[name] = p
		}
		for _, f := range all {
			if f.wrong(got[f.name]) != "" {
				names = append(names, f.name)
			}
		}
		if len(names) == 0 {
			break
		}
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) { f.check(t, got[f.name]) })
	}

	e.stopLoad("burst")
	stopped := time.Now()
	t.Run("the exit code says it", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		for _, c := range []struct {
			pod, on string
			code    int
		}{{"stalled", "critical", 2}, {"drift", "critical", 0}, {"drift", "warning", 2}, {"quiet", "warning", 0}} {
			if r := e.backlog("get", c.pod, "--fail-on", c.on); r.code != c.code {
				t.Errorf("get %s --fail-on %s: exit code %d, want %d\n%s", c.pod, c.on, r.code, c.code, r.stdout)
			}
		}
	})
	t.Run("a variable that ends the proxy", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		e.create(proxyPod("malformed", map[string]string{"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "many"}))
		e.eventually("the end of the proxy", func() error {
			for _, c := range e.get("malformed").Status.ContainerStatuses {
				if c.Name == "linkerd-proxy" && c.RestartCount > 0 {
					return nil
				}
			}
			return errorf("it has not ended yet")
		})
		p := e.parse(e.backlog("describe", "-o", "json", "--window", "3s", "malformed").stdout)["malformed"]
		provoked{name: "malformed", want: model.ClassConfigDrift, says: "exit code 64"}.check(t, p)
	})
	t.Run("what is over is history", func(t *testing.T) {
		e := &env{T: t, ns: e.ns}
		time.Sleep(time.Until(stopped.Add(33 * time.Second))) // the window of a verdict
		p := e.parse(e.backlog("describe", "-o", "json", "--window", "6s", "burst").stdout)["burst"]
		provoked{name: "history", want: model.ClassHistory}.check(t, p)
	})
}

// stopLoad ends what makes load in a pod, by pid.
func (e *env) stopLoad(pod string) {
	e.Helper()
	e.exec(pod, "load", "sh", "-c", `for d in /proc/[0-9]*; do
		read -r name <$d/comm && case $name in burst | fortio) kill "${d#/proc/}" ;; esac
	done 2>/dev/null; true`)
}

// looks is how often it is looked at a fault before its verdict is wrong: on a
// machine that is short of CPU for a moment everything is starved, truly.
const looks = 3

// check wants the verdict, and no other of a warning or worse.
func (f provoked) check(t *testing.T, p item) {
	t.Helper()
	if why := f.wrong(p); why != "" {
		t.Error(why)
	}
}

// wrong says what is wrong with the verdicts on a pod; empty when they are right.
func (f provoked) wrong(p item) string {
	if len(p.Verdicts) == 0 {
		return fmt.Sprintf("no verdict; collection %+v", p.Collection)
	}
	for _, v := range p.Verdicts {
		if v.Class != f.want && v.Severity.AtLeast(model.SeverityWarning) && !slices.Contains(f.also, v.Class) {
			return fmt.Sprintf("%s %s: %s\nwant %s alone\nevidence %+v\nunknown %q", v.Severity, v.Class, v.Sentence, f.want, v.Evidence, v.Unknown)
		}
	}
	i := slices.IndexFunc(p.Verdicts, func(v model.Verdict) bool { return v.Class == f.want })
	if i < 0 {
		v := p.Verdicts[0]
		return fmt.Sprintf("%s %s, want %s: %s\nevidence %+v\nunknown %q", v.Severity, v.Class, f.want, v.Sentence, v.Evidence, v.Unknown)
	}
	v := p.Verdicts[i]
	text := v.Sentence
	for _, e := range v.Evidence {
		text += "\n" + e.Name + ": " + e.Text
	}
	switch {
	case !strings.Contains(text, f.says):
		return fmt.Sprintf("%q is not in\n%s", f.says, text)
	case len(v.Not) == 0 && v.Class != model.ClassHistory:
		return fmt.Sprintf("%s names no remedy that is wrong", v.Class)
	}
	return ""
}

// wantsCPU gives a pod's proxy its share beside what else runs on the machine.
func wantsCPU(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("700m")}
}

// Two faults that need the CPU: one that uses all of a worker, and one that gets
// a tenth of what it wants.
func TestVerdictsOnWorkers(t *testing.T) {
	e := newEnv(t, nil)
	busy := map[string]string{"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "16", "TOKIOPROXY_BURN_US": "4000"}
	for _, f := range []provoked{
		{name: "saturated", pod: proxyPod("saturated", busy, wantsCPU), want: model.ClassSaturated},
		{name: "starved", pod: proxyPod("starved", busy, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		}), want: model.ClassCPUStarved},
	} {
		t.Run(f.name, func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			e.create(f.pod)
			e.running(f.name)
			e.getJSON(f.name, "--window", "0")
			e.background(f.name, "load", "fortio", "load", "-qps", "0", "-c", "24", "-keepalive=false", "-timeout", "1s",
				"-allow-initial-errors", "-t", "60s", "http://127.0.0.1:4143/")
			time.Sleep(3 * time.Second)
			var p item
			for range looks {
				if p = e.parse(e.backlog("describe", "-o", "json", "--window", "12s", f.name).stdout)[f.name]; f.wrong(p) == "" {
					break
				}
			}
			f.check(t, p)
			e.stopLoad(f.name)
		})
	}
}
