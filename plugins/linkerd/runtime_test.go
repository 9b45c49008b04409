package linkerd

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

func readText(t *testing.T, text string) *parse.Metrics {
	t.Helper()
	page, err := parse.ReadMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// Out of descriptors the proxy leaves lines out of an answer with status 200.
// What is left stays known, what is gone is unknown and says what its absence means.
func TestRuntimeOutOfDescriptors(t *testing.T) {
	got, _ := New().Runtime(readPage(t, "out-of-descriptors.metrics"))
	for name, v := range map[string]model.Value[int64]{"open": got.OpenFDs, "max": got.MaxFDs} {
		if v.IsKnown() || !strings.Contains(v.Reason(), "out of file descriptors") {
			t.Errorf("%s descriptors: known %v, reason %q", name, v.IsKnown(), v.Reason())
		}
	}
	if got.CPUSeconds.IsKnown() || !strings.Contains(got.CPUSeconds.Reason(), "out of file descriptors") {
		t.Errorf("CPU time: known %v, reason %q", got.CPUSeconds.IsKnown(), got.CPUSeconds.Reason())
	}
	if v := got.Start.Or(0); v != 1796063271.9718414 {
		t.Errorf("start %v", v)
	}
	if v := got.Clock.Or(0); v != 1796063271.9718414+12.57517216 {
		t.Errorf("clock %v", v)
	}
	if v := got.BusySeconds.Or(0); v != 4.328666014 {
		t.Errorf("busy seconds %v", v)
	}
}

// The injection queue's depth repeats the local one; both are there, one is taken.
func TestRuntimeDoesNotAddQueueDepths(t *testing.T) {
	got, _ := New().Runtime(readText(t, "tokio_rt_injection_queue_depth 571\ntokio_rt_local_queue_depth 571\n"))
	if v := got.LocalQueue.Or(-1); v != 571 {
		t.Errorf("local queue %d, want 571", v)
	}
}

func TestRuntimeWithoutTokioMetrics(t *testing.T) {
	const process = "process_start_time_seconds 1.5\nprocess_clock_time_seconds 9\nprocess_open_fds 20\n"
	build := func(version string) string { return `proxy_build_info{version="` + version + "\"} 1\n" }
	for _, tt := range []struct{ name, page, want string }{
		{"older", build("2.251.0"), "proxy 2.251.0 is older than 2.252.0, which added tokio_rt metrics"},
		{"much older", build("2.99.1"), "proxy 2.99.1 is older than 2.252.0, which added tokio_rt metrics"},
		{"new enough", build("2.252.0"), "missing on the metrics page of proxy 2.252.0"},
		{"of unknown version", "", "missing on the metrics page; proxies before 2.252.0 have no tokio_rt metrics"},
		{"with a version that is none", build("dev"), "missing on the metrics page of proxy dev"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := New().Runtime(readText(t, tt.page+process))
			for name, v := range map[string]model.Value[int64]{
				"workers": got.Workers, "parks": got.Parks, "polls": got.Polls, "steals": got.Steals,
				"spills": got.Spills, "local queue": got.LocalQueue,
			} {
				if v.IsKnown() || v.Reason() != tt.want {
					t.Errorf("%s: known %v, reason %q, want %q", name, v.IsKnown(), v.Reason(), tt.want)
				}
			}
			if v := got.Start.Or(0); v != 1.5 {
				t.Errorf("start %v, want 1.5", v)
			}
			if v := got.OpenFDs.Or(0); v != 20 {
				t.Errorf("open descriptors %v, want 20", v)
			}
		})
	}
}

func TestRuntimeOfNothing(t *testing.T) {
	for name, page := range map[string]*parse.Metrics{"no page": nil, "another program's page": readText(t, "go_threads 8\n")} {
		got, version := New().Runtime(page)
		if got.Workers.IsKnown() || got.Workers.Reason() == "" || got.Start.IsKnown() || got.Start.Reason() == "" {
			t.Errorf("%s: workers %+v, start %+v", name, got.Workers, got.Start)
		}
		if version.IsKnown() || version.Reason() == "" {
			t.Errorf("%s: version %+v", name, version)
		}
	}
}

func TestProxyVersion(t *testing.T) {
	for _, tt := range []struct {
		page, want string
		known      bool
	}{
		{`proxy_build_info{version="2.359.0"} 1`, "2.359.0", true},
		{`proxy_build_info{version="0.0.0-dev.abc"} 1`, "0.0.0-dev.abc", true},
		{`proxy_build_info{version=""} 1`, "no proxy_build_info with a version", false},
		{`proxy_build_info{vendor="x"} 1`, "no proxy_build_info with a version", false},
		{"proxy_build_info{version=\"\x1b[31m2.0\"} 1", `holds no version: "\x1b[31m2.0"`, false},
		{`proxy_build_info{version="` + strings.Repeat("2", 65) + `"} 1`, "holds no version", false},
	} {
		_, v := New().Runtime(readText(t, tt.page+"\n"))
		if got, ok := v.Get(); ok != tt.known || (tt.known && got != tt.want) || (!tt.known && !strings.Contains(v.Reason(), tt.want)) {
			t.Errorf("%s: %q (known %v, reason %q), want %q", tt.page, got, ok, v.Reason(), tt.want)
		}
	}
}

// A sample that cannot be a reading is unknown, never a number.
func TestRuntimeRefusesImpossibleFigures(t *testing.T) {
	for _, text := range []string{"-1", "+Inf", "1.5", "1e30"} {
		got, _ := New().Runtime(readText(t, "tokio_rt_workers "+text+"\n"))
		if v, ok := got.Workers.Get(); ok || !strings.Contains(got.Workers.Reason(), "tokio_rt_workers is ") {
			t.Errorf("%s workers: %d (known %v), reason %q", text, v, ok, got.Workers.Reason())
		}
	}
}
