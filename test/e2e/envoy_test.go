package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	envoyImage = "docker.io/local/envoy:1"
	envoyAdmin = 15000
)

// envoyListener is a listener of the tests' Envoys.
type envoyListener struct {
	port    uint16
	backlog int64 // 0: not set
	reuse   bool
}

// envoyListeners are all combinations of backlog and reuse_port.
func envoyListeners() []envoyListener {
	return []envoyListener{{10001, 0, true}, {10002, 128, true}, {10003, 0, false}, {10004, 64, false}}
}

// sidecarListeners are those of Istio's sidecar, in the sizes that Istio leaves them.
func sidecarListeners() []envoyListener {
	return []envoyListener{{15001, 0, true}, {15006, 0, true}, {15021, 0, true}}
}

// envoyBootstrap answers every request itself.
func envoyBootstrap(dispatcher bool, admin int, listeners []envoyListener) string {
	var b strings.Builder
	fmt.Fprintf(&b, "enable_dispatcher_stats: %v\nadmin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}\nstatic_resources:\n  listeners:\n", dispatcher, admin)
	for _, l := range listeners {
		fmt.Fprintf(&b, "  - name: l%d\n    address: {socket_address: {address: 0.0.0.0, port_value: %d}}\n    enable_reuse_port: %v\n", l.port, l.port, l.reuse)
		if l.backlog != 0 {
			fmt.Fprintf(&b, "    tcp_backlog_size: %d\n", l.backlog)
		}
		fmt.Fprintf(&b, `    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: l%d
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - {name: all, domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 200, body: {inline_string: ok}}}]}
`, l.port)
	}
	return b.String()
}

// envoyPod runs Envoy with these arguments, beside containers to load it from and
// to look for oneself.
func envoyPod(name string, args []string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test": "envoy"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Containers: []corev1.Container{
				{
					Name: "edge", Image: envoyImage, ImagePullPolicy: corev1.PullNever,
					Command: append([]string{"envoy", "--log-level", "error", "--disable-hot-restart"}, args...),
				},
				sleeper("load", loadImage),
				sleeper("tools", toolsImage),
			},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// fromFile mounts the bootstraps that lie in a ConfigMap.
func fromFile(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "bootstrap", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "bootstrap"}},
	}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "bootstrap", MountPath: "/etc/envoy"}}
}

// limitedTo limits without asking for as much: the test's pods stand side by side.
func limitedTo(cpu string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")},
	}
}

// envoyTruth is what ss and Envoy's own pages say in a pod, read past the program.
type envoyTruth struct {
	sockets   map[uint16][]int64 // the limits, by port
	somaxconn int64
	workers   int64
	version   string
}

func (e *env) readEnvoy(pod string, admin int) envoyTruth {
	e.Helper()
	t := envoyTruth{sockets: map[uint16][]int64{}}
	for _, line := range strings.Split(e.exec(pod, "tools", "ss", "-Hltn"), "\n") {
		if f := strings.Fields(line); len(f) >= 4 {
			port := e.number(f[3][strings.LastIndex(f[3], ":")+1:])
			t.sockets[uint16(port)] = append(t.sockets[uint16(port)], e.number(f[2]))
		}
	}
	t.somaxconn = e.number(strings.TrimSpace(e.exec(pod, "tools", "cat", "/proc/sys/net/core/somaxconn")))
	var info struct {
		Version string
		Options struct{ Concurrency int64 } `json:"command_line_options"`
	}
	if err := json.Unmarshal([]byte(e.envoyPage(pod, admin, "/server_info")), &info); err != nil {
		e.Fatalf("reading /server_info of %s: %v", pod, err)
	}
	t.workers, t.version = info.Options.Concurrency, strings.Split(info.Version, "/")[1]
	return t
}

func (e *env) envoyPage(pod string, admin int, path string) string {
	e.Helper()
	return e.exec(pod, "tools", "wget", "-q", "-O", "-", fmt.Sprintf("http://127.0.0.1:%d%s", admin, path))
}

// flushes is what /stats/prometheus showed while the program looked, by
// server.uptime: the workers' time in seconds, of all together.
type flushes map[int64]float64

// near is the sum at a flush: uptime has whole seconds, and flushes are five apart.
func (f flushes) near(uptime int64) (float64, bool) {
	for _, d := range []int64{0, -1, 1} {
		if sum, ok := f[uptime+d]; ok {
			return sum, true
		}
	}
	return 0, false
}

// fromThreads says whether a pod's busy ratio is that of its threads, for want of
// the proxy's own figures.
func fromThreads(p item) bool {
	return strings.Contains(strings.Join(p.Notes, "\n"), "from the threads")
}

// recordFlushes reads it twice a second until told that it is enough.
func (e *env) recordFlushes(pod string) (enough func() flushes) {
	e.Helper()
	const filter = `%5E(server.uptime%7Clistener_manager.worker_.*.dispatcher.loop_duration_us)$`
	wait := e.background(pod, "tools", "sh", "-c", `while [ ! -e /tmp/enough ]; do wget -q -O - "http://127.0.0.1:`+strconv.Itoa(envoyAdmin)+
		`/stats/prometheus?filter=`+filter+`" | grep -v -e '^#' -e _bucket -e _count; echo end; sleep 0.5; done`)
	return func() flushes {
		e.Helper()
		e.exec(pod, "tools", "touch", "/tmp/enough")
		found := flushes{}
		uptime, sum := int64(-1), 0.0
		for _, line := range strings.Split(wait(), "\n") {
			f := strings.Fields(line)
			switch {
			case len(f) == 1 && f[0] == "end":
				if uptime >= 0 {
					found[uptime] = sum / 1e6
				}
				uptime, sum = -1, 0
			case len(f) == 2 && strings.HasPrefix(f[0], "envoy_server_uptime"):
				uptime = e.number(f[1])
			case len(f) == 2 && strings.Contains(f[0], "loop_duration_us_sum"):
				v, err := strconv.ParseFloat(f[1], 64)
				if err != nil {
					e.Fatalf("/stats/prometheus printed %q", line)
				}
				sum += v
			}
		}
		return found
	}
}

// The real Envoy, in every combination of workers, reuse_port, backlog and
// dispatcher statistics: what is printed equals what ss, /server_info and /stats
// say in the pod.
func TestEnvoy(t *testing.T) {
	e := newEnv(t, nil)
	kinds := map[string]struct {
		workers    int64
		dispatcher bool
	}{"one": {1, true}, "three": {3, true}, "one-silent": {1, false}, "three-silent": {3, false}}
	for name, k := range kinds {
		e.create(envoyPod(name, []string{"--concurrency", strconv.FormatInt(k.workers, 10), "--config-yaml", envoyBootstrap(k.dispatcher, envoyAdmin, envoyListeners())}))
	}
	// Whose bootstrap is not in the spec, and whose workers nobody asked for.
	_, err := cluster.client.CoreV1().ConfigMaps(e.ns).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap"}, Data: map[string]string{"envoy.yaml": envoyBootstrap(true, 9901, envoyListeners()), "hidden.yaml": envoyBootstrap(true, 9902, envoyListeners())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.create(envoyPod("file", []string{"-c", "/etc/envoy/envoy.yaml"}, fromFile, func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = limitedTo("1500m")
	}))
	// Whose admin port is another than the guess.
	e.create(envoyPod("hidden", []string{"-c", "/etc/envoy/hidden.yaml"}, fromFile))
	// In the place of Istio's native sidecar, in front of another server.
	e.create(envoyPod("sidecar", []string{"--config-yaml", envoyBootstrap(true, envoyAdmin, sidecarListeners())}, func(p *corev1.Pod) {
		c := p.Spec.Containers[0]
		c.Name, c.RestartPolicy = "istio-proxy", ptr(corev1.ContainerRestartPolicyAlways)
		c.Resources = limitedTo("1")
		p.Annotations = map[string]string{"sidecar.istio.io/proxyCPULimit": "1"}
		p.Spec.InitContainers = []corev1.Container{c}
		p.Spec.Containers[0] = corev1.Container{
			Name: "server", Image: loadImage, ImagePullPolicy: corev1.PullNever, Command: []string{"badserver", "-listen", "127.0.0.1:8080/16"},
		}
	}))
	names := []string{"one", "three", "one-silent", "three-silent", "file", "sidecar", "hidden"}
	e.running(names...)
	truths := map[string]envoyTruth{}
	for _, name := range names[:6] {
		admin := envoyAdmin
		if name == "file" {
			admin = 9901
		}
		e.eventually(name+" to answer", func() error {
			_, err := e.tryExec(t.Context(), name, "tools", "wget", "-q", "-O", "-", fmt.Sprintf("http://127.0.0.1:%d/ready", admin))
			return err
		})
		truths[name] = e.readEnvoy(name, admin)
	}
	// Requests first, so that their number stands still while it is compared; then
	// connections all along, for the workers to be busy with.
	for _, name := range []string{"one", "three"} {
		e.exec(name, "load", "fortio", "load", "-quiet", "-c", "4", "-qps", "0", "-n", "400", "http://127.0.0.1:10002/")
	}
	enough := map[string]func() flushes{}
	for _, name := range []string{"one", "three"} {
		enough[name] = e.recordFlushes(name)
		e.background(name, "load", "fortio", "load", "-quiet", "-c", "4", "-qps", "150", "-t", "45s", "-keepalive=false", "http://127.0.0.1:10001/")
	}
	var pods map[string]item
	for range looks {
		pods = e.getJSON(append(names, "--window", "6s")...)
		if !fromThreads(pods["one"]) && !fromThreads(pods["three"]) {
			break // whole flushes were seen of both
		}
	}
	recorded := map[string]flushes{}
	for name, f := range enough {
		recorded[name] = f()
	}

	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			p, truth := pods[name], truths[name]
			e.checkEnvoy(t, p, truth)
			if truth.workers != k.workers {
				t.Fatalf("Envoy itself says that it has %d workers, %d were asked for", truth.workers, k.workers)
			}
			busy := p.Runtime.Window.Busy
			if !k.dispatcher {
				if p.Runtime.BusySeconds.IsKnown() || !strings.Contains(p.reason("runtime.busySeconds"), "enable_dispatcher_stats: true") {
					t.Errorf("busy for %+v s without dispatcher statistics: %q", p.Runtime.BusySeconds, p.reason("runtime.busySeconds"))
				}
				// Its threads tell instead, and it says so.
				if busy.IsKnown() && !fromThreads(p) || busy.Or(0) < 0 || busy.Or(0) > 1 {
					t.Errorf("busy %+v, notes %q", busy, p.Notes)
				}
				return
			}
			end := int64(math.Round(p.Runtime.Clock.Or(0) - p.Runtime.Start.Or(0)))
			seconds := p.Runtime.Window.Seconds.Or(0)
			begin := end - int64(math.Round(seconds))
			s0, ok0 := recorded[name].near(begin)
			s1, ok1 := recorded[name].near(end)
			if !ok0 || !ok1 || seconds == 0 {
				t.Fatalf("the window is of uptime %d to %d (%+v), /stats/prometheus had %v; %q", begin, end, busy, recorded[name], p.reason("runtime.window.busy"))
			}
			// Envoy's own sums lie within 0.1 % of those of the buckets.
			if got := p.Runtime.BusySeconds.Or(0); math.Abs(got-s1) > 0.002*s1 {
				t.Errorf("busy for %v s in all, /stats/prometheus says %v", got, s1)
			}
			want := (s1 - s0) / (float64(k.workers) * float64(end-begin))
			if got, ok := busy.Get(); !ok || math.Abs(got-want) > 0.002+0.01*want || want == 0 {
				t.Errorf("busy %v (%v), /stats/prometheus says %v over %d s", got, ok, want, end-begin)
			}
			if p.Runtime.Window.Stalled.Or(-1) != 0 {
				t.Errorf("stalled: %+v", p.Runtime.Window.Stalled)
			}
			if n := p.Runtime.Requests.Or(0); n < 400 || p.Runtime.Failures != model.Known[int64](0) {
				t.Errorf("%d requests, %+v failures", n, p.Runtime.Failures)
			}
		})
	}
	t.Run("file", func(t *testing.T) {
		p := pods["file"]
		e.checkEnvoy(t, p, truths["file"])
		k := knobOf(p, "workers")
		if len(k.Chain) == 0 || k.Chain[len(k.Chain)-1].Name != "available CPUs" {
			t.Errorf("workers by default: %+v", k)
		}
	})
	t.Run("sidecar", func(t *testing.T) {
		p, truth := pods["sidecar"], truths["sidecar"]
		if p.Proxy.Adapter != "istio" || p.Proxy.Container != "istio-proxy" || !p.Proxy.Sidecar || p.Proxy.Version != model.Known(truth.version) || p.Collection.Metrics != "" {
			t.Errorf("proxy %+v, %q", p.Proxy, p.Collection.Metrics)
		}
		for port, role := range map[uint16]model.Role{
			15001: model.RoleOutbound, 15006: model.RoleInbound, 15000: model.RoleAdmin, 15021: model.RoleAdmin, 8080: model.RoleApp,
		} {
			l := e.listener(p, port)
			if l.Role != role || len(l.Sockets) != len(truth.sockets[port]) || l.Worst().Limit != model.Known(truth.sockets[port][0]) {
				t.Errorf("port %d: %+v, want %q, ss has %v", port, l, role, truth.sockets[port])
			}
		}
		for name, want := range map[string]int64{
			"workers": truth.workers, "inbound backlog": truth.sockets[15006][0], "outbound backlog": truth.sockets[15001][0],
		} {
			if k := knobOf(p, name); k.Asked != model.Known(want) || k.InForce != model.Known(want) {
				t.Errorf("%s: asked %+v, in force %+v, want %d", name, k.Asked, k.InForce, want)
			}
		}
		if !p.Runtime.BusySeconds.IsKnown() || truth.workers != 1 {
			t.Errorf("busy seconds %+v of %d workers", p.Runtime.BusySeconds, truth.workers)
		}
	})
	t.Run("hidden", func(t *testing.T) {
		// On a loaded machine a first look may end before the connection stands.
		e.eventually("the refused connection", func() error {
			p := e.getJSON("hidden", "--window", "0")["hidden"]
			if m := p.Collection.Metrics; p.Runtime.Workers.IsKnown() || !strings.Contains(m, "nothing listens on 9901") || !strings.Contains(m, "is a guess") {
				return errorf("workers %+v: %q", p.Runtime.Workers, m)
			}
			return nil
		})
	})
}

// checkEnvoy compares a pod's listeners, workers and knobs with the truth.
func (e *env) checkEnvoy(t *testing.T, p item, truth envoyTruth) {
	t.Helper()
	if p.Proxy.Adapter != "envoy" || p.Proxy.Container != "edge" || p.Proxy.Version != model.Known(truth.version) || p.Collection.Metrics != "" {
		t.Errorf("proxy %+v, %q", p.Proxy, p.Collection.Metrics)
	}
	if p.Runtime.Workers != model.Known(truth.workers) {
		t.Errorf("workers %+v, /server_info says %d", p.Runtime.Workers, truth.workers)
	}
	if len(p.Listeners) != len(truth.sockets) {
		t.Errorf("%d listeners, ss has %d ports", len(p.Listeners), len(truth.sockets))
	}
	for port, limits := range truth.sockets {
		l := e.listener(p, port)
		if len(l.Sockets) != len(limits) {
			t.Errorf("port %d: %d sockets, ss has %d", port, len(l.Sockets), len(limits))
		}
		for _, s := range l.Sockets {
			if s.Limit != model.Known(limits[0]) {
				t.Errorf("port %d: limit %+v, ss has %v", port, s.Limit, limits)
			}
		}
		if want := map[bool]model.Role{true: model.RoleAdmin, false: model.RoleApp}[port == envoyAdmin]; l.Role != want {
			t.Errorf("port %d is %q, want %q", port, l.Role, want)
		}
	}
	if k := knobOf(p, "workers"); k.Asked != model.Known(truth.workers) || k.InForce != model.Known(truth.workers) {
		t.Errorf("workers: asked %+v, in force %+v, want %d: %s", k.Asked, k.InForce, truth.workers, p.reason("knobs[0].asked"))
	}
	for _, l := range envoyListeners() {
		asked, sockets := l.backlog, int64(1)
		if asked == 0 {
			asked = truth.somaxconn
		}
		if l.reuse {
			sockets = truth.workers
		}
		k := knobOf(p, fmt.Sprintf("backlog of port %d", l.port))
		if k.Asked != model.Known(asked) || k.InForce != model.Known(truth.sockets[l.port][0]) || k.Differs() {
			t.Errorf("%s: asked %+v, in force %+v, want %d", k.Name, k.Asked, k.InForce, asked)
		}
		k = knobOf(p, fmt.Sprintf("sockets of port %d", l.port))
		if k.Asked != model.Known(sockets) || k.InForce != model.Known(int64(len(truth.sockets[l.port]))) || k.Differs() {
			t.Errorf("%s: asked %+v, in force %+v, want %d", k.Name, k.Asked, k.InForce, sockets)
		}
	}
}

// knobOf is the knob of that name; one without a name where there is none.
func knobOf(p item, name string) model.Knob {
	for _, k := range p.Knobs {
		if k.Name == name {
			return k
		}
	}
	return model.Knob{}
}
