package render

import (
	"math"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestShort(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 9999: "9999", 10_000: "10.0k", 12_345: "12.3k", 99_949: "99.9k", 99_950: "100k",
		999_499: "999k", 999_999: "1.0M", 5_300_000: "5.3M", -3: "-3", math.MaxInt64: "9.2E",
	} {
		if got := Short(model.Known(n)); got != want {
			t.Errorf("Short(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Short(model.Unknown[int64]("x")); got != Unknown {
		t.Errorf("Short of unknown = %q", got)
	}
}

func TestRate(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 0.01: "<0.1", 0.05: "0.1", 14.23: "14.2", 99.94: "99.9", 99.95: "100", 1234: "1234", 56_789: "56.8k", 1e300: "9.0E",
	} {
		if got := Rate(model.Known(f)); got != want {
			t.Errorf("Rate(%g) = %q, want %q", f, got, want)
		}
	}
	if got := Rate(model.Unknown[float64]("x")); got != Unknown {
		t.Errorf("Rate of unknown = %q", got)
	}
}

func TestWorst(t *testing.T) {
	for name, c := range map[string]struct {
		pod  model.Pod
		want string
	}{
		"inbound when all are idle": {pod("a"), "in:4143"},
		"the fullest": {with("a", func(p *model.Pod) {
			p.Listeners[3].Sockets[0] = socket(1, 5, 511, 0)
		}), "app:8080"},
		"new overflows before a full queue": {with("a", func(p *model.Pod) {
			p.Listeners[3].Sockets[0] = socket(1, 511, 511, 0)
			p.Listeners[1].Window.Overflows = known(1)
		}), "out:4140"},
		"one full socket among empty ones": {with("a", func(p *model.Pod) {
			p.Listeners[0].Sockets[0] = socket(1, 60, 128, 0)
			p.Listeners[3].Sockets = []model.Socket{socket(1, 0, 8, 0), socket(2, 8, 8, 0), socket(3, 0, 8, 0)}
		}), "app:8080×3"},
	} {
		t.Run(name, func(t *testing.T) {
			l, ok := Worst(c.pod)
			if got := Listener(l); !ok || got != c.want {
				t.Errorf("worst is %q, want %q", got, c.want)
			}
		})
	}
	if _, ok := Worst(with("a", func(p *model.Pod) { p.HostNetwork = true })); ok {
		t.Error("a hostNetwork pod has no listener of its own, one was named")
	}
}

func TestConfig(t *testing.T) {
	unknown := model.Unknown[int64]("the probe failed")
	for want, knobs := range map[string][]model.Knob{
		"-":                                 nil,
		"ok":                                {{Name: "workers", Asked: known(1), InForce: known(1)}},
		"?":                                 {{Name: "workers", Asked: known(1), InForce: known(1)}, {Name: "inbound backlog", Asked: known(1), InForce: unknown}},
		"workers 1≠2":                       {{Name: "workers", Asked: known(2), InForce: known(1)}, {Name: "inbound backlog", Asked: known(1), InForce: unknown}},
		"inbound 128≠1024,outbound 128≠256": {{Name: "inbound backlog", Asked: known(1024), InForce: known(128)}, {Name: "outbound backlog", Asked: known(256), InForce: known(128)}},
	} {
		if got := Config(model.Pod{Proxy: model.Proxy{Adapter: "linkerd"}, Knobs: knobs}); got != want {
			t.Errorf("Config = %q, want %q", got, want)
		}
	}
}

// Of a server that no adapter knows, the threads may tell the workers: these are
// shown, and nothing is said of settings that nobody read.
func TestWorkersOfAServerThatNobodyKnows(t *testing.T) {
	p := model.Pod{Knobs: []model.Knob{{Name: "workers", Asked: model.Unknown[int64]("not read"), InForce: known(4)}}}
	p.Runtime = model.UnknownRuntime("no proxy")
	if Workers(p) != "4" || Busy(p) != Unknown || Config(p) != NotApplicable || Proxy(p) != NotApplicable {
		t.Errorf("workers %s busy %s config %s proxy %s", Workers(p), Busy(p), Config(p), Proxy(p))
	}
	if p.Runtime.Window.Busy = model.Known(0.25); Busy(p) != "0.25" {
		t.Errorf("busy %s", Busy(p))
	}
	p.Knobs[0].SeenBy = "threads"
	b := page{p: p}
	b.workers()
	if text := b.out.String(); !strings.Contains(text, "4 workers, seen by threads: busy 0.25") {
		t.Errorf("%s", text)
	}
	if p.Knobs = nil; Workers(p) != NotApplicable {
		t.Errorf("workers %s of a server whose threads tell nothing", Workers(p))
	}
}

// A pod without a proxy has no workers to be unknown, whatever the reason given.
func TestWorkersWithoutAProxy(t *testing.T) {
	p := model.Pod{Runtime: model.UnknownRuntime("no proxy was recognised")}
	if Workers(p) != NotApplicable || Busy(p) != NotApplicable {
		t.Errorf("workers %s, busy %s", Workers(p), Busy(p))
	}
	p.Proxy.Adapter = "linkerd"
	if Workers(p) != Unknown || Busy(p) != Unknown {
		t.Errorf("a proxy that was not read: workers %s, busy %s", Workers(p), Busy(p))
	}
}

func TestPodName(t *testing.T) {
	if got := PodName(pod("a")); got != "shop/a" {
		t.Errorf("got %q", got)
	}
	if got := PodName(model.Pod{Meta: model.Meta{Name: "vm"}}); got != "vm" {
		t.Errorf("without a namespace: %q", got)
	}
}

func TestNotes(t *testing.T) {
	s := everyKind()
	s.Notes = []string{"probes run until 13:00Z"}
	s.Pods[2].Collection.Metrics = "connection refused\n"
	s.Pods[2].Notes = []string{"restarted"}
	got := strings.Join(Notes(s), "\n") + "\n"
	harmless(t, got)
	golden(t, "notes.txt", []byte(got))
}
