package linkerd

import (
	"bufio"
	"encoding/json"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// recorded is one run of the real linkerd2-proxy 2.366: how it was started, and
// what was true of it.
type recorded struct {
	What      string
	Env       map[string]string
	Somaxconn int64
	CPULimit  string
	Ports     map[string]uint16
	True      struct {
		// ExitCode is set where the proxy did not start.
		ExitCode    int
		Workers     int64
		CPUsAllowed int64
		ListenSendQ map[string]int64
	}
}

func readConfigs(t *testing.T) map[string]recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "configs", "*.json"))
	if err != nil || len(files) != 40 {
		t.Fatalf("found %d recorded configurations (%v), want 40", len(files), err)
	}
	configs := make(map[string]recorded)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recorded
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		configs[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return configs
}

// pod is the pod that such a proxy would stand in.
func (r recorded) pod() *corev1.Pod {
	names := make([]string, 0, len(r.Env))
	for name := range r.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	var env pairs
	for _, name := range names {
		env = append(env, name, r.Env[name])
	}
	p := podWith(nil, env)
	if r.CPULimit != "" {
		p.Spec.Containers[1].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.CPULimit)}
	}
	return p
}

// live is what was measured of it.
func (r recorded) live(t *testing.T, name string) model.Pod {
	t.Helper()
	var live model.Pod
	live.Runtime, live.Proxy.Version = New().Runtime(readPage(t, "configs/"+name+".metrics"))
	live.Counters.Somaxconn = model.Known(r.Somaxconn)
	var sockets []model.Socket
	for addr, limit := range r.True.ListenSendQ {
		i := strings.LastIndexByte(addr, ':')
		port, err := strconv.ParseUint(addr[i+1:], 10, 16)
		if err != nil {
			t.Fatalf("listener %q: %v", addr, err)
		}
		sockets = append(sockets, model.Socket{
			Address: strings.Trim(addr[:i], "[]"), Port: uint16(port),
			Depth: model.Known[int64](0), Limit: model.Known(limit),
		})
	}
	live.Listeners = model.GroupSockets(sockets)
	return live
}

// TestRecordedWorkers predicts from environment, CPU limit and CPUs alone what
// the real proxy did.
func TestRecordedWorkers(t *testing.T) {
	for name, r := range readConfigs(t) {
		if r.True.ExitCode != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			k := knob(t, New().Knobs(r.pod(), model.Known(r.True.CPUsAllowed), r.live(t, name)), "workers")
			if got, ok := k.Asked.Get(); !ok || got != r.True.Workers {
				t.Errorf("%s: asked %d (known %v: %s), the proxy had %d", r.What, got, ok, k.Asked.Reason(), r.True.Workers)
			}
			if got, ok := k.InForce.Get(); !ok || got != r.True.Workers || k.SeenBy != "tokio_rt_workers" {
				t.Errorf("in force %d (known %v, seen by %q), want %d", got, ok, k.SeenBy, r.True.Workers)
			}
			if invalid := strings.Contains(name, "invalid"); invalid != (k.Why != "") {
				t.Errorf("why = %q for a configuration that is invalid: %v", k.Why, invalid)
			}
		})
	}
}

// TestRecordedBacklogs holds what was asked against what the kernel made of it:
// the smaller of the backlog and somaxconn.
func TestRecordedBacklogs(t *testing.T) {
	for name, r := range readConfigs(t) {
		if r.True.ExitCode != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			pod, live := r.pod(), r.live(t, name)
			knobs := New().Knobs(pod, model.Known(r.True.CPUsAllowed), live)
			for _, role := range []string{"inbound", "outbound", "admin"} {
				k := knob(t, knobs, role+" backlog")
				asked, ok := k.Asked.Get()
				if !ok {
					t.Errorf("%s backlog asked for is unknown: %s", role, k.Asked.Reason())
				}
				var want int64 = -1
				for addr, limit := range r.True.ListenSendQ {
					if strings.HasSuffix(addr, ":"+strconv.Itoa(int(r.Ports[role]))) {
						want = limit
					}
				}
				if got, ok := k.InForce.Get(); !ok || got != want || k.SeenBy != "ss" {
					t.Errorf("%s backlog in force is %d (known %v, seen by %q), want %d", role, got, ok, k.SeenBy, want)
				}
				if min(asked, r.Somaxconn) != want {
					t.Errorf("%s backlog: asked %d with somaxconn %d, but the socket has %d", role, asked, r.Somaxconn, want)
				}
				if k.Differs() != strings.Contains(k.Why, "caps it") {
					t.Errorf("%s backlog: asked %d, in force %d, why %q", role, asked, want, k.Why)
				}
			}
		})
	}
}

func TestRecordedRoles(t *testing.T) {
	for name, r := range readConfigs(t) {
		t.Run(name, func(t *testing.T) {
			want := map[uint16]model.Role{
				r.Ports["inbound"]: model.RoleInbound, r.Ports["outbound"]: model.RoleOutbound, r.Ports["admin"]: model.RoleAdmin,
			}
			if name == "tap" {
				want[4190] = model.RoleTap
			}
			pod := r.pod()
			got := New().Roles(pod)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("roles %v, want %v", got, want)
			}
			if e := New().Admin(pod); e.Port != r.Ports["admin"] {
				t.Errorf("admin endpoint on port %d, want %d", e.Port, r.Ports["admin"])
			}
			if r.True.ExitCode != 0 {
				return
			}
			// Every port that was told is one that the proxy listened on.
			for port := range got {
				found := false
				for addr := range r.True.ListenSendQ {
					_, p, err := net.SplitHostPort(addr)
					found = found || (err == nil && p == strconv.Itoa(int(port)))
				}
				if !found {
					t.Errorf("port %d has a role but nobody listened on it: %v", port, r.True.ListenSendQ)
				}
			}
		})
	}
}

// TestRecordedExits: a proxy that ends because of its backlog asks for nothing
// that could be in force, and the knob says what is wrong.
func TestRecordedExits(t *testing.T) {
	ends := 0
	for name, r := range readConfigs(t) {
		if r.True.ExitCode == 0 {
			continue
		}
		ends++
		t.Run(name, func(t *testing.T) {
			knobs := New().Knobs(r.pod(), model.Known[int64](2), model.Pod{})
			for _, role := range []string{"inbound", "admin"} {
				k := knob(t, knobs, role+" backlog")
				if k.Asked.IsKnown() || !strings.Contains(k.Asked.Reason(), "exit code 64") {
					t.Errorf("%s backlog asked: known %v, reason %q", role, k.Asked.IsKnown(), k.Asked.Reason())
				}
				if k.Why != k.Asked.Reason() {
					t.Errorf("%s backlog: why = %q", role, k.Why)
				}
			}
			if k := knob(t, knobs, "outbound backlog"); k.Asked.Or(0) != 128 {
				t.Errorf("outbound backlog asked: %d, want 128", k.Asked.Or(0))
			}
		})
	}
	if ends != 7 {
		t.Errorf("%d recorded configurations end the proxy, want 7", ends)
	}
}

// TestRecordedRuntimes compares every figure with the line of the page, read
// here by nothing but splitting it at the blank.
func TestRecordedRuntimes(t *testing.T) {
	for name, r := range readConfigs(t) {
		if r.True.ExitCode != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			lines := readLines(t, "configs/"+name+".metrics")
			got, version := New().Runtime(readPage(t, "configs/"+name+".metrics"))
			if v, _ := version.Get(); v != "2.366.0" {
				t.Errorf("version %q, want 2.366.0", v)
			}
			for sample, value := range map[string]any{
				"tokio_rt_workers":            got.Workers,
				"tokio_rt_busy_seconds_total": got.BusySeconds,
				"tokio_rt_park_total":         got.Parks,
				"tokio_rt_polls_total":        got.Polls,
				"tokio_rt_steal_total":        got.Steals,
				"tokio_rt_overflow_total":     got.Spills,
				"tokio_rt_local_queue_depth":  got.LocalQueue,
				"process_cpu_seconds_total":   got.CPUSeconds,
				"process_start_time_seconds":  got.Start,
				"process_open_fds":            got.OpenFDs,
				"process_max_fds":             got.MaxFDs,
			} {
				want, ok := lines[sample]
				if !ok {
					t.Fatalf("the recorded page has no %s", sample)
				}
				switch v := value.(type) {
				case model.Value[int64]:
					if n, ok := v.Get(); !ok || float64(n) != want {
						t.Errorf("%s: %d (known %v), the page says %v", sample, n, ok, want)
					}
				case model.Value[float64]:
					if f, ok := v.Get(); !ok || f != want {
						t.Errorf("%s: %v (known %v), the page says %v", sample, f, ok, want)
					}
				}
			}
			// Start and uptime, with fractions; the page's own clock has whole seconds.
			want := lines["process_start_time_seconds"] + lines["process_uptime_seconds_total"]
			if at := got.Clock.Or(0); at != want || math.Abs(at-lines["process_clock_time_seconds"]) > 1 {
				t.Errorf("clock %v, want %v", at, want)
			}
		})
	}
}

func readLines(t *testing.T, name string) map[string]float64 {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := make(map[string]float64)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			lines[name] = v
		}
	}
	return lines
}
