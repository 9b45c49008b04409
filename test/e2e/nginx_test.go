package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	nginxImage  = "docker.io/local/nginx:1"
	nginxStatus = 8089
)

// nginxConf has the given listen directives, a status page, and a cache, so that
// there are children that are no workers.
func nginxConf(listens ...string) string {
	var b strings.Builder
	b.WriteString("pid /tmp/nginx.pid;\nevents { worker_connections 256; }\nhttp {\n  access_log off;\n")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&b, "  %s_temp_path /tmp/%s;\n", kind, kind)
	}
	b.WriteString("  proxy_cache_path /tmp/cache keys_zone=c:1m;\n")
	for _, l := range listens {
		fmt.Fprintf(&b, "  server { listen %s; location / { return 200 ok; } }\n", l)
	}
	fmt.Fprintf(&b, "  server { listen 127.0.0.1:%d; location /status { stub_status; } }\n}\n", nginxStatus)
	return b.String()
}

// nginxPod runs nginx as a user of its own, beside containers to load it from and to
// look for oneself.
func nginxPod(name string, workers int, conf string) *corev1.Pod {
	shell := fmt.Sprintf("printf %%s \"$CONF\" >/tmp/nginx.conf; exec nginx -e /dev/stderr -c /tmp/nginx.conf -g 'daemon off; worker_processes %d;'", workers)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"test": "nginx"},
			Annotations: map[string]string{"kubectl-backlog.io/nginx-status": fmt.Sprintf("%d/status", nginxStatus)},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Volumes:                       []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{
				sleeper("load", loadImage),
				{
					Name: "web", Image: nginxImage, ImagePullPolicy: corev1.PullNever,
					Command:         []string{"sh", "-c", shell},
					Env:             []corev1.EnvVar{{Name: "CONF", Value: conf}},
					VolumeMounts:    []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
					SecurityContext: &corev1.SecurityContext{RunAsUser: ptr(int64(101)), RunAsGroup: ptr(int64(101))},
				},
				sleeper("tools", toolsImage),
			},
		},
	}
}

// limits are those that ss prints in the pod, by port.
func (e *env) limits(pod string) map[uint16][]int64 {
	e.Helper()
	found := map[uint16][]int64{}
	for _, line := range strings.Split(e.exec(pod, "tools", "ss", "-Hltn"), "\n") {
		if f := strings.Fields(line); len(f) >= 4 {
			port := uint16(e.number(f[3][strings.LastIndex(f[3], ":")+1:]))
			found[port] = append(found[port], e.number(f[2]))
		}
	}
	return found
}

// workerCPU are the ticks that each of nginx's workers has used, by its number in
// the container, and the clock in seconds.
func (e *env) workerCPU(pod string) (ticks map[int]int64, uptime float64) {
	e.Helper()
	ticks = map[int]int64{}
	text := e.exec(pod, "web", "sh", "-c", `cat /proc/uptime; for d in /proc/[0-9]*; do case "$(tr '\0' ' ' <$d/cmdline)" in "nginx: worker process"*) cat $d/stat;; esac; done 2>/dev/null`)
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if i == 0 {
			if _, err := fmt.Sscan(f[0], &uptime); err != nil {
				e.Fatalf("uptime is %q", line)
			}
			continue
		}
		ticks[int(e.number(f[0]))] = e.number(f[13]) + e.number(f[14])
	}
	return ticks, uptime
}

// accepts is what stub_status says of itself in the pod.
func (e *env) accepts(pod string) int64 {
	e.Helper()
	page := strings.Split(e.exec(pod, "tools", "wget", "-q", "-O", "-", fmt.Sprintf("http://127.0.0.1:%d/status", nginxStatus)), "\n")
	if len(page) < 3 {
		e.Fatalf("stub_status is %q", page)
	}
	return e.number(strings.Fields(page[2])[0])
}

// The real nginx with one worker and with two, with and without reuseport, the
// backlog set and left alone: what is printed equals what ss, ps and stub_status say.
func TestNginx(t *testing.T) {
	e := newEnv(t, nil)
	pods := map[string]int{"one": 1, "two": 2}
	for name, workers := range pods {
		e.create(nginxPod(name, workers, nginxConf(
			"8080", "8081 backlog=64", "8082 reuseport", "8083 reuseport backlog=128")))
	}
	e.running("one", "two")
	before := map[string]int64{}
	for name := range pods {
		e.eventually("nginx to listen in "+name, func() error {
			if n := len(e.limits(name)[8083]); n != pods[name] {
				return errorf("%d sockets on 8083", n)
			}
			return nil
		})
		before[name] = e.accepts(name)
	}
	var got map[string]item
	e.eventually("two readings of the threads, and stub_status", func() error {
		got = e.getJSON("one", "two")
		for name, p := range got {
			if !p.Process.Seconds.IsKnown() || !p.Runtime.Accepts.IsKnown() {
				return errorf("%s: %+v, %+v", name, p.Process.Seconds, p.Runtime.Accepts)
			}
		}
		return nil
	})
	for name, workers := range pods {
		t.Run(name, func(t *testing.T) {
			e := &env{T: t, ns: e.ns}
			p, truth := got[name], e.limits(name)
			if p.Proxy.Adapter != "nginx" || p.Proxy.Container != "web" || p.Proxy.Sidecar || p.Process.Container != "web" || p.Process.Name != "nginx" {
				t.Fatalf("proxy %+v, process of %s", p.Proxy, p.Process.Container)
			}
			if k := knobOf(p, "workers"); k.InForce != model.Known(int64(workers)) || k.Asked != k.InForce || k.SeenBy != "threads" {
				t.Errorf("workers %+v", k)
			}
			seen, _ := e.workerCPU(name)
			if len(seen) != workers {
				t.Fatalf("%d workers in /proc: %v", len(seen), seen)
			}
			// The cache manager is a child too, and the loader for a minute.
			if n := len(p.Process.Children); n < workers+1 {
				t.Errorf("children %+v", p.Process.Children)
			}
			for pid := range seen {
				if !slices.ContainsFunc(p.Process.Children, func(c model.Child) bool { return c.PID == pid && c.Title == "nginx: worker" && c.Parent == 1 }) {
					t.Errorf("worker %d is not among %+v", pid, p.Process.Children)
				}
			}
			for port, limits := range map[uint16][]int64{
				8080: {511}, 8081: {64}, 8082: slices.Repeat([]int64{511}, workers), 8083: slices.Repeat([]int64{128}, workers),
			} {
				var printed []int64
				for _, s := range e.listener(p, port).Sockets {
					printed = append(printed, s.Limit.Or(-1))
				}
				if !slices.Equal(printed, limits) || !slices.Equal(truth[port], limits) {
					t.Errorf("port %d: limits %v, ss says %v, want %v", port, printed, truth[port], limits)
				}
				suffix := fmt.Sprintf(" of port %d", port)
				if k := knobOf(p, "backlog"+suffix); k.InForce != model.Known(limits[0]) || k.Asked.IsKnown() {
					t.Errorf("backlog of %d: %+v", port, k)
				}
				if k := knobOf(p, "sockets"+suffix); k.InForce != model.Known(int64(len(limits))) || k.Asked.IsKnown() {
					t.Errorf("sockets of %d: %+v", port, k)
				}
			}
			after := e.accepts(name)
			between(t, "accepts", p.Runtime.Accepts, before[name], after)
			between(t, "handled", p.Runtime.Handled, before[name], after)
			if p.Runtime.Accepts != p.Runtime.Handled || p.Runtime.Workers.IsKnown() {
				t.Errorf("runtime %+v", p.Runtime)
			}
		})
	}
	t.Run("under load", func(t *testing.T) { nginxUnderLoad(t, e.ns) })
}

// nginxUnderLoad: what a worker uses is what /proc says of it in the pod, and the
// sum is the server's.
func nginxUnderLoad(t *testing.T, ns string) {
	e := &env{T: t, ns: ns}
	e.background("one", "load", "fortio", "load", "-qps", "0", "-c", "4", "-keepalive=false", "-allow-initial-errors",
		"-timeout", "3s", "-t", "40s", "http://127.0.0.1:8080/")
	e.eventually("a worker that is busy", func() error {
		// The two readings of the threads lie between the test's own, which must not
		// be much further apart: what one reads is then about what the other does.
		first, from := e.workerCPU("one")
		p := e.getJSON("one", "--window", "6s")["one"]
		last, to := e.workerCPU("one")
		var worker model.Thread
		for pid := range last {
			i := slices.IndexFunc(p.Process.Threads, func(th model.Thread) bool { return th.PID == pid })
			if i < 0 {
				return errorf("no thread of worker %d: %+v", pid, p.Process.Threads)
			}
			worker = p.Process.Threads[i]
			cpu, ok := worker.CPU.Get()
			really := float64(last[pid]-first[pid]) / 100 / (to - from)
			if !ok || really < 0.1 || cpu < really/2 || cpu > really*2 {
				return errorf("worker %d: %v cores (%s), /proc says %.3f over %.1f s", pid, worker.CPU, worker.CPU.Reason(), really, to-from)
			}
		}
		if sum := p.Process.CPU.Or(-1); sum < worker.CPU.Or(0)-0.05 || sum > worker.CPU.Or(0)+0.2 {
			return errorf("the server uses %v, its only worker %v", p.Process.CPU, worker.CPU)
		}
		busy, ok := p.Runtime.Window.Busy.Get()
		if want := min(worker.CPU.Or(0)+worker.Wait.Or(0), 1); !ok || busy < want-0.01 || busy > want+0.01 {
			return errorf("busy %v (%s), the worker ran %v and waited %v", p.Runtime.Window.Busy, p.Runtime.Window.Busy.Reason(), worker.CPU, worker.Wait)
		}
		if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "from the threads") }) {
			return errorf("notes %q", p.Notes)
		}
		return nil
	})
}
