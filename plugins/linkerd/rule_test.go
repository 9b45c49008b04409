package linkerd

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	cores = "LINKERD2_PROXY_CORES"
	least = "LINKERD2_PROXY_CORES_MIN"
	most  = "LINKERD2_PROXY_CORES_MAX"
	share = "LINKERD2_PROXY_CORES_MAX_RATIO"
)

// TestWorkerRule goes through the rule variable by variable, with nothing else
// in the environment.
func TestWorkerRule(t *testing.T) {
	for _, tt := range []struct {
		env             pairs
		available, want int
	}{
		// Nothing set: one worker, however many CPUs.
		{nil, 8, 1},
		// CORES is the minimum where MIN is not set; MIN stands in its place.
		{pairs{cores, "2"}, 8, 2},
		{pairs{cores, "8"}, 2, 2},
		{pairs{cores, "3", least, "2"}, 8, 2},
		{pairs{least, "2"}, 8, 2},
		// MIN beats MAX, MAX beats RATIO, what is available caps all.
		{pairs{most, "2"}, 8, 2},
		{pairs{most, "2"}, 1, 1},
		{pairs{least, "2", most, "1"}, 8, 2},
		{pairs{least, "2", most, "4"}, 8, 4},
		{pairs{least, "2", most, "4"}, 3, 3},
		{pairs{most, "1", share, "1.0"}, 8, 1},
		// Rounding is half away from zero; a ratio that rounds to 0 counts as unset.
		{pairs{share, "0.35"}, 10, 4},
		{pairs{share, "0.34"}, 10, 3},
		{pairs{share, "0.75"}, 2, 2},
		{pairs{share, "0.5"}, 2, 1},
		{pairs{share, "1.0"}, 4, 4},
		{pairs{share, "0.1"}, 2, 1},
		{pairs{share, "0.1", least, "3"}, 4, 3},
		// Ignored: no whole number above 0.
		{pairs{most, "0"}, 8, 1},
		{pairs{most, "1500m"}, 8, 1},
		{pairs{most, "-2"}, 8, 1},
		{pairs{most, "2.0"}, 8, 1},
		{pairs{most, " 2"}, 8, 1},
		{pairs{most, ""}, 8, 1},
		{pairs{most, "+"}, 8, 1},
		{pairs{most, "+-2"}, 8, 1},
		{pairs{most, "0x2"}, 8, 1},
		{pairs{most, "18446744073709551616"}, 8, 1},
		{pairs{cores, "1500m", least, "1500m"}, 8, 1},
		// What Rust takes beside plain digits.
		{pairs{most, "+2"}, 8, 2},
		{pairs{most, "18446744073709551615"}, 8, 8},
		// A malformed MIN falls back to CORES, a malformed MAX to the ratio.
		{pairs{cores, "2", least, "1500m"}, 8, 2},
		{pairs{most, "1500m", share, "0.5"}, 8, 4},
		// Ignored: no ratio in (0,1].
		{pairs{share, "1.5"}, 8, 1},
		{pairs{share, "0"}, 8, 1},
		{pairs{share, "-0.5"}, 8, 1},
		{pairs{share, "NaN"}, 8, 1},
		{pairs{share, "50%"}, 8, 1},
		{pairs{share, "0x1p-1"}, 8, 1},
		{pairs{share, "0_5"}, 8, 1},
		// The last of equal names counts.
		{pairs{most, "2", most, "3"}, 8, 3},
	} {
		if got := ruleOf(podWith(nil, tt.env)).Workers(tt.available); got != tt.want {
			t.Errorf("%v with %d CPUs: %d workers, want %d", tt.env, tt.available, got, tt.want)
		}
	}
}

// Bounds that the spec does not show are unknown, with the variable's name.
func TestWorkerRuleHidden(t *testing.T) {
	rule := ruleOf(hide(podWith(nil, pairs{cores, "1"}), most))
	if rule.Max.IsKnown() || rule.Max.Reason() == "" {
		t.Errorf("max: %+v", rule.Max)
	}
	if rule.Min.Or(0) != 1 {
		t.Errorf("min: %+v", rule.Min)
	}
	// A hidden MIN is not an absent one: CORES must not stand in for it.
	if rule := ruleOf(hide(podWith(nil, pairs{cores, "1"}), least)); rule.Min.IsKnown() {
		t.Errorf("min: %+v", rule.Min)
	}
	if rule, _, ok := New().WorkerRule(nil); ok || rule.Workers(8) != 1 {
		t.Errorf("without a pod: %d workers, %v", rule.Workers(8), ok)
	}
	if _, _, ok := New().WorkerRule(&corev1.Pod{}); ok {
		t.Error("a pod without a proxy has a rule")
	}
}

func ruleOf(p *corev1.Pod) model.WorkerRule {
	rule, _, _ := New().WorkerRule(p)
	return rule
}

// The limit is rounded up, as the proxy does when it looks at its quota.
func TestWorkerRuleLimit(t *testing.T) {
	for cpu, want := range map[string]int64{"500m": 1, "1": 1, "1500m": 2, "4": 4} {
		if _, got, ok := New().WorkerRule(limited(pod(nil, nil), cpu)); !ok || got != model.Known(want) {
			t.Errorf("%s: %+v, want %d", cpu, got, want)
		}
	}
	if _, got, _ := New().WorkerRule(pod(nil, nil)); got.IsKnown() || got.Reason() != "container linkerd-proxy has no CPU limit" {
		t.Errorf("without a limit: %+v", got)
	}
}

func TestBacklogValues(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "128": 128, "1024": 1024, "+5": 5, "4294967295": math.MaxUint32,
		"": -1, "4k": -1, "-1": -1, "1024.0": -1, " 1024": -1, "4294967296": -1, "1_000": -1, "0x10": -1,
	} {
		got, ok := backlog(text)
		if ok != (want >= 0) || (ok && got != want) {
			t.Errorf("%q: %d, %v; want %d", text, got, ok, want)
		}
	}
}
