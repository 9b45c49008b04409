package e2e

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Three proxies under load made inside them: saturated, bursts, idle. What get
// prints must be what the pod's own tools say before and after it.
func TestFiguresEqualWhatThePodSays(t *testing.T) {
	e := newEnv(t, nil)
	// The runtime books its time after every 61 polls: short ones keep that exact.
	e.create(proxyPod("saturated", map[string]string{"TOKIOPROXY_BURN_US": "500"}))
	e.create(proxyPod("bursts", burstyEnv()))
	e.create(proxyPod("idle", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.running("saturated", "bursts", "idle")
	want := map[string]struct {
		inbound, outbound int64
		workers           int64
	}{"saturated": {128, 128, 1}, "bursts": {16, 128, 1}, "idle": {128, 128, 2}}

	e.background("saturated", "load", "fortio", "load", "-qps", "0", "-c", "200", "-keepalive=false",
		"-allow-initial-errors", "-timeout", "3s", "-t", "90s", "http://127.0.0.1:4143/")
	e.background("bursts", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "300", "-every", "1s", "-for", "90s", "-timeout", "1s")
	time.Sleep(3 * time.Second) // let the load take hold

	compare := func(when string, pods map[string]item, before, after map[string]truth) {
		t.Helper()
		for name, w := range want {
			p, ok := pods[name]
			if !ok {
				t.Fatalf("%s: get did not print pod %s", when, name)
			}
			for port, limit := range map[uint16]int64{4143: w.inbound, 4140: w.outbound} {
				s := e.listener(p, port).Worst()
				if got := s.Limit; got != model.Known(limit) || before[name].limit[port] != limit {
					t.Errorf("%s: %s:%d limit %+v, ss says %d, want %d", when, name, port, got, before[name].limit[port], limit)
				}
				between(t, fmt.Sprintf("%s: %s:%d drops", when, name, port), s.Drops, before[name].drops[port], after[name].drops[port])
			}
			between(t, when+": "+name+" overflows", p.Counters.ListenOverflows, before[name].overflows, after[name].overflows)
			between(t, when+": "+name+" drops", p.Counters.ListenDrops, before[name].listDrops, after[name].listDrops)
			if p.Runtime.Workers != model.Known(w.workers) {
				t.Errorf("%s: %s workers %+v, want %d", when, name, p.Runtime.Workers, w.workers)
			}
		}
	}
	readAll := func() map[string]truth {
		all := map[string]truth{}
		for name := range want {
			all[name] = e.read(name)
		}
		return all
	}

	before := readAll()
	pods := e.getJSON("--window", "5s")
	compare("under load", pods, before, readAll())
	if n := pods["bursts"].Window.Overflows; n.Or(0) == 0 {
		t.Errorf("bursts of 300 on a backlog of 16 show no new overflow: %+v", pods["bursts"].Window)
	}
	if l := e.listener(pods["bursts"], 4143); l.Window.Overflows != pods["bursts"].Window.Overflows {
		t.Errorf("the overflows are not on the inbound listener: %+v of %+v", l.Window, pods["bursts"].Window)
	}
	busy := pods["saturated"].Runtime.Window.Busy.Or(-1)
	for try := 0; busy < model.BusySaturated && try < 2; try++ {
		// A machine that is busy otherwise keeps the client from saturating it all the time.
		busy = e.getJSON("--window", "5s")["saturated"].Runtime.Window.Busy.Or(-1)
	}
	if busy < model.BusySaturated {
		t.Errorf("the saturated worker's busy ratio is %.3f", busy)
	}
	if state, why := pods["idle"].Condition(); state != model.StateOK {
		t.Errorf("the idle pod is %s: %s", state, why)
	}

	e.exec("saturated", "load", "killall", "fortio")
	e.exec("bursts", "load", "killall", "burst")
	// Retransmissions go on for a while: equality is asked for when nothing
	// happened between the two reads.
	e.eventually("two equal reads with get between them", func() error {
		before, pods, after := readAll(), e.getJSON(), readAll()
		if !reflect.DeepEqual(before, after) {
			return fmt.Errorf("overflows went from %d to %d", before["bursts"].overflows, after["bursts"].overflows)
		}
		compare("at rest", pods, before, after)
		return nil
	})
	for name, w := range want {
		if got := e.readMetrics(name)["tokio_rt_workers"]; got != float64(w.workers) {
			t.Errorf("/metrics of %s says %v workers", name, got)
		}
	}
}

func between(t *testing.T, what string, got model.Value[int64], low, high int64) {
	t.Helper()
	n, ok := got.Get()
	if !ok || n < low || n > high {
		t.Errorf("%s = %+v, the pod said %d before and %d after", what, got, low, high)
	}
}

// With the acceptor stopped, what waits is exactly what was sent.
func TestDepthWithTheAcceptorStopped(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", nil))
	e.running("a")
	e.exec("a", "load", "sh", "-c", "kill -STOP $(pidof tokioproxy)")
	e.background("a", "load", "burst", "-addr", "127.0.0.1:4143", "-fill", "7", "-hold", "20s")
	e.eventually("seven connections to wait", func() error {
		if d := e.read("a").depth[4143]; d != 7 {
			return fmt.Errorf("ss says %d", d)
		}
		return nil
	})
	p := e.getJSON("a")["a"]
	if s := e.listener(p, 4143).Worst(); s.Depth != model.Known[int64](7) || s.Limit != model.Known[int64](128) {
		t.Errorf("queue = %+v/%+v, want 7/128", s.Depth, s.Limit)
	}
	// A stopped proxy answers no scrape: that is told, and no old figure stands in.
	if p.Runtime.Window.Busy.IsKnown() || !strings.Contains(p.Collection.Metrics, "4191") {
		t.Errorf("busy = %+v, problem %q", p.Runtime.Window.Busy, p.Collection.Metrics)
	}
	e.exec("a", "load", "sh", "-c", "kill -CONT $(pidof tokioproxy)")
}

// The busy ratio is the CPU time that the proxy itself counted as burned, within
// 0.05 over 10 s, at several loads.
func TestBusyIsTheTimeBurned(t *testing.T) {
	e := newEnv(t, nil)
	// Busy includes what a connection costs beside the burning, nearly a
	// millisecond here: few connections that burn much keep that small.
	e.create(proxyPod("a", map[string]string{"TOKIOPROXY_BURN_US": "20000"}))
	e.running("a")
	e.getJSON("a") // the probe's start is over before the measurement
	for _, qps := range []string{"5", "15"} {
		// Busy is wall time: what the hypervisor takes from a running worker counts
		// in it, and not in the CPU time burned. A moment like that must not decide,
		// and a machine that is never its own says nothing.
		const tries = 4
		noisy := 0
		for try := 1; ; try++ {
			busy, burned, stolen := e.measureBusy(qps)
			if math.Abs(busy-burned) <= 0.05 {
				break
			}
			if stolen > 0.05 {
				noisy++
			}
			if try == tries && noisy == tries {
				t.Skipf("left out: the hypervisor took %.0f %% of what this machine wanted to run, in each of %d tries", stolen*100, tries)
			}
			if try == tries {
				t.Fatalf("%s/s: busy %.3f, burned %.3f; %d tries, %d of them with stolen time", qps, busy, burned, tries, noisy)
			}
		}
	}
}

// measureBusy puts a steady load on pod a for 18 s, and gives the busy ratio
// over 10 s of it beside the CPU time that the proxy says it burned, and the
// share of the node's CPU time that its hypervisor took.
func (e *env) measureBusy(qps string) (busy, burned, stolen float64) {
	e.Helper()
	wait := e.background("a", "load", "fortio", "load", "-qps", qps, "-c", "4", "-uniform", "-keepalive=false",
		"-t", "18s", "http://127.0.0.1:4143/")
	defer wait()
	time.Sleep(2 * time.Second)
	ran0, stole0 := e.cpuTime("a")
	from := e.readMetrics("a")
	w := e.getJSON("a", "--window", "10s")["a"].Runtime.Window
	to := e.readMetrics("a")
	ran1, stole1 := e.cpuTime("a")
	const total, clock = "tokioproxy_burned_seconds_total", "process_uptime_seconds_total"
	burned = (to[total] - from[total]) / (to[clock] - from[clock])
	stolen = (stole1 - stole0) / max(1, ran1-ran0+stole1-stole0)
	busy, ok := w.Busy.Get()
	e.Logf("%s/s: burned %.3f, busy %.3f over %.1f s, %.0f %% stolen", qps, burned, busy, w.Seconds.Or(0), stolen*100)
	if !ok {
		e.Fatalf("busy is unknown: %s", w.Busy.Reason())
	}
	if s := w.Seconds.Or(0); s < 9 || s > 12 {
		e.Errorf("the window is %.1f s long, asked for 10", s)
	}
	return busy, burned, stolen
}

// cpuTime reads what the pod's node ran, and what its hypervisor took from it
// meanwhile, in ticks of all CPUs.
func (e *env) cpuTime(pod string) (ran, stolen float64) {
	e.Helper()
	line, _, _ := strings.Cut(e.exec(pod, "tools", "cat", "/proc/stat"), "\n")
	f := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(f) < 9 {
		e.Fatalf("/proc/stat begins with %q", line)
	}
	for _, i := range []int{1, 2, 3, 6, 7} {
		ran += float64(e.number(f[i]))
	}
	return ran, float64(e.number(f[8]))
}

// Two listeners of one pod that overflow at different rates: each gets its own.
func TestDropsGoToTheRightListener(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("two", []string{"-listen", "127.0.0.1:8080/16", "-listen", "127.0.0.1:9090/16", "-listen", "127.0.0.1:7070/16", "-never-accept"}))
	e.running("two")
	for port, n := range map[string]string{"8080": "60", "9090": "20"} {
		e.background("two", "load", "burst", "-addr", "127.0.0.1:"+port, "-n", n, "-every", "1s", "-for", "15s", "-timeout", "900ms")
	}
	time.Sleep(3 * time.Second) // both queues are full
	before := e.read("two")
	p := e.getJSON("two", "--window", "5s")["two"]
	after := e.read("two")
	a, b, c := e.listener(p, 8080), e.listener(p, 9090), e.listener(p, 7070)
	total := p.Window.Overflows.Or(0)
	if a.Window.Overflows.Or(0)+b.Window.Overflows.Or(0) != total || total == 0 || p.Window.Unattributed != model.Known[int64](0) {
		t.Errorf("%+v and %+v of %d in all", a.Window, b.Window, total)
	}
	if c.Window.Overflows != model.Known[int64](0) {
		t.Errorf("the listener that nobody called: %+v", c.Window)
	}
	// Refused SYNs count one each in the socket's own drops: the truth is their
	// growth around the program's window.
	truth := float64(after.drops[8080]-before.drops[8080]) / float64(after.drops[8080]-before.drops[8080]+after.drops[9090]-before.drops[9090])
	share := float64(a.Window.Overflows.Or(0)) / float64(total)
	t.Logf("8080 has %.2f of the overflows, ss said %.2f", share, truth)
	if math.Abs(share-truth) > 0.08 {
		t.Errorf("8080 has %.2f of the overflows, ss said %.2f", share, truth)
	}
	if a.Role != model.RoleApp {
		t.Errorf("role = %s in a pod without a proxy", a.Role)
	}
}

// In a hostNetwork pod sockets and counters are the node's.
func TestHostNetworkAttributesNothing(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("host", []string{"-listen", "127.0.0.1:39173/16"}, func(p *corev1.Pod) {
		p.Spec.HostNetwork = true
	}))
	e.running("host")
	r := e.backlog("get", "host", "-o", "json")
	p := e.parse(r.stdout)["host"]
	if r.code != 0 || len(p.Listeners) != 0 || p.Counters.ListenOverflows.IsKnown() || p.Window.Overflows.IsKnown() {
		t.Errorf("code %d, pod %+v", r.code, p)
	}
	if !strings.Contains(r.stderr, "hostNetwork") {
		t.Errorf("stderr does not say why: %q", r.stderr)
	}
	if n := len(e.get("host").Spec.EphemeralContainers); n != 0 {
		t.Errorf("%d ephemeral containers were added for nothing", n)
	}
}
