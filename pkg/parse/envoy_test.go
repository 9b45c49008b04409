package parse

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// envoyFile is a page of a real Envoy 1.40.0 with two workers.
func envoyFile(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "envoy", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func recordedEnvoy(t testing.TB) EnvoyPages {
	return EnvoyPages{
		ServerInfo: envoyFile(t, "server_info.json"), Stats: envoyFile(t, "stats.txt"), Bootstrap: envoyFile(t, "bootstrap.json"),
		Static: envoyFile(t, "static.json"), Listeners: envoyFile(t, "listeners.json"),
	}
}

// The sums are those that the same Envoy gave on /stats/prometheus at that moment.
func TestEnvoyRuntimeRecorded(t *testing.T) {
	r, version, err := EnvoyRuntime(recordedEnvoy(t))
	if err != nil {
		t.Fatal(err)
	}
	const busy = (193350.10186 + 183298.76393) / 1e6
	const delay = (100157.44041 + 196173.63338) / 1e6
	if got := r.BusySeconds.Or(0); math.Abs(got-busy) > 1e-3*busy {
		t.Errorf("busy %v s, want %v", got, busy)
	}
	if got := r.PollDelaySeconds.Or(0); math.Abs(got-delay) > 1e-3*delay {
		t.Errorf("poll delay %v s, want %v", got, delay)
	}
	const start = 1796103975.027 // 2026-12-01T05:46:15.027Z
	for what, pair := range map[string][2]any{
		"version":  {version, model.Known("1.40.0")},
		"workers":  {r.Workers, model.Known[int64](2)},
		"requests": {r.Requests, model.Known[int64](300)},
		"failures": {r.Failures, model.Known[int64](0)},
		"start":    {r.Start, model.Known(start)},
		"clock":    {r.Clock, model.Known(start + 10)},
		"refresh":  {r.RefreshEvery, model.Known(5.0)},
		"booked":   {r.ClockBooked, true},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %+v, want %+v", what, pair[0], pair[1])
		}
	}
	want := []model.ListenerSetting{
		{Port: 15001, Role: model.RoleOutbound, Unset: true, ReusePort: model.Known(false)},
		{Port: 15006, Backlog: model.Known[int64](128), ReusePort: model.Known(true)},
	}
	if diff := cmp.Diff(want, r.Configured, cmp.Comparer(func(a, b model.Value[int64]) bool { return a == b }), cmp.Comparer(func(a, b model.Value[bool]) bool { return a == b })); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

// What Envoy does not report is unknown, and says what would switch it on.
func TestEnvoyRuntimeWithoutDispatcherStats(t *testing.T) {
	pages := recordedEnvoy(t)
	pages.Stats, pages.Bootstrap = envoyFile(t, "stats-no-dispatcher.txt"), envoyFile(t, "bootstrap-flush.json")
	r, _, err := EnvoyRuntime(pages)
	if err != nil {
		t.Fatal(err)
	}
	if r.BusySeconds.IsKnown() || !strings.Contains(r.BusySeconds.Reason(), EnvoyDispatcherStats) {
		t.Errorf("busy %+v", r.BusySeconds)
	}
	if r.Workers != model.Known[int64](2) || r.RefreshEvery != model.Known(0.5) || r.Requests != model.Known[int64](300) {
		t.Errorf("workers %+v, refresh %+v, requests %+v", r.Workers, r.RefreshEvery, r.Requests)
	}
}

// Before the first flush nothing was recorded: the clock stands at the start, and
// the workers' time at none.
func TestEnvoyRuntimeBeforeTheFirstFlush(t *testing.T) {
	pages := recordedEnvoy(t)
	pages.Stats = envoyFile(t, "stats-before-flush.txt")
	r, _, err := EnvoyRuntime(pages)
	if err != nil || r.BusySeconds != model.Known(0.0) || r.Clock != r.Start {
		t.Errorf("busy %+v, clock %+v of start %+v: %v", r.BusySeconds, r.Clock, r.Start, err)
	}
}

func TestEnvoyStats(t *testing.T) {
	const loops = "listener_manager.worker_0.dispatcher.loop_duration_us"
	for _, tt := range []struct {
		name, page string
		busy       float64 // below 0: unknown
		why        string  // of busy, or the error
		failed     bool
	}{
		{"one worker", "server.concurrency: 1\nserver.uptime: 5\n" + loops + ":\n  totals=0,0:200, 10,1:2, 1100,100:1\n", (21 + 1150) / 1e6, "", false},
		{"exponents", "server.concurrency: 1\nserver.uptime: 5\n" + loops + ":\n  totals=1e+06,100000:3\n", 3.15, "", false},
		{"a version that knows quantiles alone", "server.concurrency: 1\nserver.uptime: 5\n" + loops + ": P0(0,0) P25(1,2)\n", -1, "quantiles alone", false},
		{"cut at the end of a line", "server.concurrency: 2\nserver.uptime: 5\n" + loops + ":\n  totals=10,1:2\n", -1, "1 of 2 workers", false},
		{"cut before its buckets", "server.concurrency: 1\nserver.uptime: 5\n" + loops + ":\n", -1, "quantiles alone", false},
		{"cut in a line", "server.concurrency: 2\nserver.uptime: 1", -1, "in the middle of a line", true},
		{"no bucket", "server.concurrency: 1\n" + loops + ":\n  totals=10,1:2, 20:3\n", -1, "not a bucket", false},
		{"negative bucket", "server.concurrency: 1\n" + loops + ":\n  totals=-10,1:2\n", -1, "not a bucket", false},
		{"NaN", "server.concurrency: 1\n" + loops + ":\n  totals=NaN,1:2\n", -1, "not a bucket", false},
		{"too much", "server.concurrency: 1\n" + loops + ":\n  totals=1e308,1:9000000000000000000\n", -1, "no number", false},
		{"the main thread is no worker", "server.concurrency: 1\nserver.uptime: 5\nserver.dispatcher.loop_duration_us:\n  totals=10,1:2\n", -1, EnvoyDispatcherStats, false},
		{"empty", "", -1, "it is empty", true},
		{"HTML", "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", -1, `starts with "<!DOCTYPE html>`, true},
		{"another program", "# HELP tokio_rt_workers Workers\ntokio_rt_workers 2\n", -1, "none of Envoy's figures", true},
		{"huge", strings.Repeat("a: 1\n", maxEnvoyStats/5+1), -1, "larger than 8 MiB", true},
	} {
		s, err := readEnvoyStats([]byte(tt.page))
		if (err != nil) != tt.failed {
			t.Errorf("%s: error %v", tt.name, err)
		}
		got, ok := s.busy.Get()
		switch {
		case tt.busy < 0 && (ok || !strings.Contains(s.busy.Reason(), tt.why)):
			t.Errorf("%s: busy %v (%v), reason %q, want %q", tt.name, got, ok, s.busy.Reason(), tt.why)
		case tt.busy >= 0 && math.Abs(got-tt.busy) > 1e-9:
			t.Errorf("%s: busy %v (%v: %s), want %v", tt.name, got, ok, s.busy.Reason(), tt.busy)
		}
	}
}

// The admin port's own requests are this program's, and no listener's.
func TestEnvoyRequests(t *testing.T) {
	s, err := readEnvoyStats([]byte("http.admin.downstream_rq_total: 900\nhttp.admin.downstream_rq_5xx: 1\n" +
		"http.a.downstream_rq_total: 7\nhttp.b: c.downstream_rq_total: 5\nhttp.a.downstream_rq_5xx: 2\nserver.uptime: 1\n"))
	if err != nil || s.requests != model.Known[int64](12) || s.failures != model.Known[int64](2) {
		t.Errorf("requests %+v, failures %+v: %v", s.requests, s.failures, err)
	}
	if s, _ = readEnvoyStats([]byte("server.uptime: 1\n")); s.requests.IsKnown() || !strings.Contains(s.requests.Reason(), "Istio") {
		t.Errorf("requests %+v", s.requests)
	}
	for _, text := range []string{"-1", "x", "1.5", ""} {
		if s, _ = readEnvoyStats([]byte("server.concurrency: 2\nserver.uptime: " + text + "\n")); s.uptime.IsKnown() {
			t.Errorf("uptime %q is %+v", text, s.uptime)
		}
		if s, _ = readEnvoyStats([]byte("server.uptime: 2\nserver.concurrency: " + text + "\n")); s.workers.IsKnown() {
			t.Errorf("workers %q are %+v", text, s.workers)
		}
	}
}

// Where one of the two pages is missing, the other still tells the workers; where
// neither is Envoy's, the error says what they are.
func TestEnvoyRuntimeOfBadPages(t *testing.T) {
	good := recordedEnvoy(t)
	r, version, err := EnvoyRuntime(EnvoyPages{ServerInfo: good.ServerInfo})
	if err != nil || r.Workers != model.Known[int64](2) || version != model.Known("1.40.0") {
		t.Errorf("server_info alone: workers %+v, version %+v: %v", r.Workers, version, err)
	}
	if r.BusySeconds.IsKnown() || r.Clock.IsKnown() || r.BusySeconds.Reason() == "" || r.Clock.Reason() == "" {
		t.Errorf("busy %+v, clock %+v", r.BusySeconds, r.Clock)
	}
	r, version, err = EnvoyRuntime(EnvoyPages{Stats: good.Stats})
	if err != nil || r.Workers != model.Known[int64](2) || version.IsKnown() || r.Clock != model.Known(10.0) || r.Start.IsKnown() {
		t.Errorf("stats alone: workers %+v, version %+v, clock %+v, start %+v: %v", r.Workers, version, r.Clock, r.Start, err)
	}
	for name, body := range map[string]string{
		"HTML": "<html><body>Sign in</body></html>\n", "empty": "", "another program's": "tokio_rt_workers 1\n", "another's JSON": `{"a":1}` + "\n",
		"a list": "[1]\n", "cut": string(good.ServerInfo[:200]), "deep": strings.Repeat(`{"a":`, 20000), "control": "\x1b[31m\n",
	} {
		_, _, err := EnvoyRuntime(EnvoyPages{Stats: []byte(body), ServerInfo: []byte(body), Bootstrap: []byte(body), Static: []byte(body), Listeners: []byte(body)})
		if err == nil || !strings.Contains(err.Error(), "reading /") || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := EnvoyRuntime(EnvoyPages{ServerInfo: bytes.Repeat([]byte("{"), maxEnvoyJSON+1)}); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Errorf("huge: %v", err)
	}
}

// How often the figures are flushed decides on how exact a window is.
func TestEnvoyFlush(t *testing.T) {
	for bootstrap, want := range map[string]float64{ // 0: unknown
		`{}`:                                5,
		`{"stats_flush_interval":"2s"}`:     2,
		`{"stats_flush_interval":"0.250s"}`: 0.25,
		`{"stats_flush_interval":"-1s"}`:    0,
		`{"stats_flush_interval":"soon"}`:   0,
		`{"stats_flush_on_admin":true}`:     0,
		`{"enable_dispatcher_stats":true}`:  5,
	} {
		page := `{"configs":[{"@type":"x.ListenersConfigDump"},{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":` + bootstrap + `}]}`
		d, err := readEnvoyBootstrapDump([]byte(page))
		if err != nil || d.flush.Or(0) != want || want == 0 && d.flush.Reason() == "" || d.start.IsKnown() {
			t.Errorf("%s: every %+v, start %+v: %v", bootstrap, d.flush, d.start, err)
		}
	}
	if _, err := readEnvoyBootstrapDump([]byte(`{"configs":[]}`)); err == nil {
		t.Error("a page without a bootstrap was read")
	}
}

func TestEnvoyVersion(t *testing.T) {
	for text, want := range map[string]string{
		"9e55/1.40.0/Clean/RELEASE/BoringSSL":    "1.40.0",
		"a/1.33.1-dev/Clean/RELEASE/BoringSSL":   "1.33.1-dev",
		"":                                       "",
		"1.40.0":                                 "",
		"a/b/c":                                  "",
		"a/1.40\x1b[0m/c":                        "",
		"a/1." + strings.Repeat("0", 100) + "/c": "",
	} {
		if got, ok := envoyVersion(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q (%v), want %q", text, got, ok, want)
		}
	}
}

func TestReadEnvoyBootstrap(t *testing.T) {
	b, err := ReadEnvoyBootstrap([]byte(`{"admin":{"address":{"socketAddress":{"address":"127.0.0.1","portValue":9901}}},
		"dynamic_resources":{"lds_config":{"path":"/x"}},
		"staticResources":{"listeners":[
		 {"address":{"socket_address":{"port_value":80}},"tcpBacklogSize":64,"enableReusePort":false,"trafficDirection":"INBOUND"},
		 {"address":{"socket_address":{"port_value":81,"protocol":"UDP"}}},
		 {"address":{"pipe":{"path":"/x"}},"additional_addresses":[{"address":{"socket_address":{"port_value":82}}}]},
		 {"address":{"socket_address":{"port_value":83}},"bind_to_port":false},
		 {"address":{"socket_address":{"port_value":70000}}}]}}`))
	if err != nil || b.AdminPort != 9901 || !b.Dynamic {
		t.Fatalf("%+v: %v", b, err)
	}
	want := []model.ListenerSetting{
		{Port: 80, Role: model.RoleInbound, Backlog: model.Known[int64](64), ReusePort: model.Known(false)},
		{Port: 82, Unset: true, ReusePort: model.Known(true)},
	}
	if len(b.Listeners) != 2 || b.Listeners[0] != want[0] || b.Listeners[1] != want[1] {
		t.Errorf("listeners %+v, want %+v", b.Listeners, want)
	}
	if _, err := ReadEnvoyBootstrap([]byte(`{"admin":{"address":3}}`)); err == nil {
		t.Error("a bootstrap whose address is a number was read")
	}
}

// A listener that a control plane sent has a reason instead of a backlog.
func TestEnvoyDynamicListeners(t *testing.T) {
	pages := recordedEnvoy(t)
	pages.Static = []byte("{}")
	got := envoyConfigured(pages)
	if len(got) != 2 || got[0].Port != 15001 || got[0].Unset || got[0].Backlog.IsKnown() || !strings.Contains(got[0].Backlog.Reason(), "no static one") {
		t.Errorf("%+v", got)
	}
	pages.Static = nil
	if got = envoyConfigured(pages); len(got) != 2 || !strings.Contains(got[1].ReusePort.Reason(), "not answered") {
		t.Errorf("%+v", got)
	}
}

func TestEnvoyPathsAndSeldom(t *testing.T) {
	paths := EnvoyPaths(true)
	for i, p := range paths {
		if EnvoySeldom(p) != (i > 0) {
			t.Errorf("%s: seldom %v", p, EnvoySeldom(p))
		}
	}
	if short := EnvoyPaths(false); len(short) != 3 || short[0] != paths[0] {
		t.Errorf("%q", short)
	}
	bodies := [][]byte{envoyFile(t, "stats.txt"), envoyFile(t, "server_info.json")}
	if r, v, err := ReadEnvoyPages(bodies); err != nil || r.Workers.Or(0) != 2 || v.Or("") != "1.40.0" {
		t.Errorf("workers %+v, version %+v: %v", r.Workers, v, err)
	}
}

// FuzzEnvoyRuntime feeds pages of any content: no figure is ever impossible, and
// whatever is unknown says why.
func FuzzEnvoyRuntime(f *testing.F) {
	for _, stats := range []string{"stats.txt", "stats-no-dispatcher.txt", "stats-before-flush.txt"} {
		f.Add(envoyFile(f, stats), envoyFile(f, "server_info.json"), envoyFile(f, "bootstrap-flush.json"), envoyFile(f, "static.json"), envoyFile(f, "listeners.json"))
	}
	f.Add([]byte("<html>\n"), []byte("{"), []byte(`{"configs":[{"@type":".BootstrapConfigDump"}]}`), []byte("{}"), []byte(nil))
	f.Fuzz(func(t *testing.T, stats, info, bootstrap, static, listeners []byte) {
		r, version, err := EnvoyRuntime(EnvoyPages{ServerInfo: info, Stats: stats, Bootstrap: bootstrap, Static: static, Listeners: listeners})
		if err != nil {
			return
		}
		for what, v := range map[string]model.Value[float64]{"busy": r.BusySeconds, "delay": r.PollDelaySeconds, "clock": r.Clock, "start": r.Start, "refresh": r.RefreshEvery} {
			n, ok := v.Get()
			if !ok && v.Reason() == "" || ok && (math.IsNaN(n) || math.IsInf(n, 0)) || ok && n < 0 && what != "start" && what != "clock" {
				t.Errorf("%s: %v (known %v), reason %q", what, n, ok, v.Reason())
			}
		}
		for what, v := range map[string]model.Value[int64]{"workers": r.Workers, "requests": r.Requests, "failures": r.Failures} {
			if n, ok := v.Get(); !ok && v.Reason() == "" || ok && n < 0 || ok && what == "workers" && n < 1 {
				t.Errorf("%s: %v (known %v), reason %q", what, n, ok, v.Reason())
			}
		}
		if !version.IsKnown() && version.Reason() == "" {
			t.Error("version: unknown without a reason")
		}
		if len(r.Configured) > maxListeners {
			t.Errorf("%d listeners", len(r.Configured))
		}
		for _, l := range r.Configured {
			if l.Port == 0 || l.Backlog.Or(0) < 0 || !l.Unset && !l.Backlog.IsKnown() && l.Backlog.Reason() == "" {
				t.Errorf("listener %+v", l)
			}
		}
	})
}
