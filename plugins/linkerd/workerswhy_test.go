package linkerd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// TestWorkersWhy: what is in force is not what was asked for, or something that
// was written has no effect.
func TestWorkersWhy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		pod     *corev1.Pod
		version string
		inForce int64
		asked   int64
		want    string
	}{
		{
			"the annotation came after the pod", pod(pairs{limit, "2"}, nil), "2.366.0", 1, 2,
			`annotation config.linkerd.io/proxy-cpu-limit asks for "2", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`it was injected before the annotation was set; restart the workload (Helm's proxy.cores makes the injector drop it)`,
		},
		{
			"the annotation was changed", limited(pod(pairs{limit, "4"}, pairs{most, "2"}), "2"), "2.366.0", 2, 4,
			`annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`it was injected before the annotation was set; restart the workload (Helm's proxy.cores makes the injector drop it)`,
		},
		{
			"additional variables came after the pod",
			pod(pairs{additional, `[{"name":"LINKERD2_PROXY_CORES_MAX","value":"3"}]`}, nil), "2.366.0", 1, 3,
			`annotation config.linkerd.io/proxy-additional-env asks for "3", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`it was injected before the annotation was set; restart the workload`,
		},
		{
			"the injector does not know the ratio",
			pod(pairs{ratioAnn, "0.5", "linkerd.io/proxy-version", "edge-25.3.2"}, nil), "2.366.0", 1, 4,
			`annotation config.linkerd.io/proxy-cpu-ratio-limit asks for "0.5", but the container does not set LINKERD2_PROXY_CORES_MAX_RATIO: ` +
				`it was injected by "edge-25.3.2", and only Linkerd 2.18.0 (edge-25.3.3) knows the annotation`,
		},
		{
			"the proxy knows CORES only", pod(nil, pairs{most, "3"}), "2.285.0", 1, 3,
			"proxy 2.285.0 is older than 2.286.0 and knows LINKERD2_PROXY_CORES only",
		},
		{
			"a malformed variable", pod(nil, pairs{most, "1500m"}), "2.366.0", 1, 1,
			`LINKERD2_PROXY_CORES_MAX="1500m" is ignored: not a whole number above 0`,
		},
		{
			"two malformed variables", pod(nil, pairs{least, "0", cores, "two"}), "2.366.0", 1, 1,
			`LINKERD2_PROXY_CORES_MIN="0" is ignored: not a whole number above 0; ` +
				`LINKERD2_PROXY_CORES="two" is ignored: not a whole number above 0`,
		},
		{
			"CORES asks for more than the minimum in its place",
			pod(pairs{additional, `[{"name":"LINKERD2_PROXY_CORES","value":"4"}]`}, pairs{cores, "4"}), "2.366.0", 1, 1,
			`LINKERD2_PROXY_CORES="4" is ignored: LINKERD2_PROXY_CORES_MIN stands in its place`,
		},
		{
			"CORES asks for less", pod(nil, pairs{least, "2", cores, "1"}), "2.366.0", 2, 2, "",
		},
		{
			"a malformed CORES that nobody reads", pod(nil, pairs{cores, "two"}), "2.366.0", 1, 1, "",
		},
		{
			"the last of equal names is malformed", pod(nil, pairs{most, "3", most, "three"}), "2.366.0", 1, 1,
			`LINKERD2_PROXY_CORES_MAX="three" is ignored: not a whole number above 0`,
		},
		{
			"a ratio out of range", pod(nil, pairs{share, "1.5"}), "2.366.0", 1, 1,
			`LINKERD2_PROXY_CORES_MAX_RATIO="1.5" is ignored: not above 0 and at most 1`,
		},
		{
			"a malformed annotation", pod(pairs{limit, "two"}, nil), "2.366.0", 1, 1,
			`annotation config.linkerd.io/proxy-cpu-limit="two" is ignored: not a CPU quantity`,
		},
		{
			"an annotation of nothing", pod(pairs{limit, "0"}, nil), "2.366.0", 1, 1,
			`annotation config.linkerd.io/proxy-cpu-limit="0" is ignored: not above 0`,
		},
		{
			"a ratio of 1", pod(pairs{ratioAnn, "1.0"}, nil), "2.366.0", 1, 1,
			`annotation config.linkerd.io/proxy-cpu-ratio-limit="1.0" is refused: not between 0 and 1 (1 itself is refused too)`,
		},
		{
			"additional variables that are no list", pod(pairs{additional, `{"name":"x"}`}, nil), "2.366.0", 1, 1,
			`annotation config.linkerd.io/proxy-additional-env="{\"name\":\"x\"}" is ignored: not a JSON list of name and value`,
		},
		{
			"the limit was raised in place", limited(pod(nil, pairs{most, "4"}), "4"), "2.366.0", 2, 4,
			"it follows from 2 CPUs available when the proxy started" +
				" (a CPU limit that is changed in place counts only after a restart; a cpuset may be narrower than the node)",
		},
		{
			"the limit was lowered in place", limited(pod(nil, pairs{most, "4"}), "2"), "2.366.0", 4, 2,
			"it follows from 4 CPUs available when the proxy started" +
				" (a CPU limit that is changed in place counts only after a restart; a cpuset may be narrower than the node)",
		},
		{"nothing explains it", pod(nil, nil), "2.366.0", 7, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := workersOf(t, tt.pod, model.Known[int64](8), running(tt.version, tt.inForce))
			if got, ok := k.Asked.Get(); !ok || got != tt.asked {
				t.Errorf("asked %d (known %v: %s), want %d", got, ok, k.Asked.Reason(), tt.asked)
			}
			if k.InForce.Or(0) != tt.inForce {
				t.Errorf("in force %d, want %d", k.InForce.Or(0), tt.inForce)
			}
			if k.Why != tt.want {
				t.Errorf("why:\n%s\nwant:\n%s", k.Why, tt.want)
			}
		})
	}
}

// Before Linkerd 2.18 the limit became CORES, and the request had nothing to do
// with workers. A proxy that does not tell its version shows it by its environment.
func TestWorkersOfOldInjection(t *testing.T) {
	for _, version := range []string{"2.250.0", ""} {
		k := workersOf(t, podWith(pairs{limit, "2", request, "3"}, pairs{cores, "2"}), model.Known[int64](8), running(version, 2))
		if k.Asked.Or(0) != 2 || k.Why != "" {
			t.Errorf("version %q: asked %d, why %q", version, k.Asked.Or(0), k.Why)
		}
		if lines := strings.Join(chainLines(k), "\n"); !strings.Contains(lines, "env of container linkerd-proxy LINKERD2_PROXY_CORES=2") ||
			strings.Contains(lines, request) {
			t.Errorf("version %q: chain\n%s", version, lines)
		}
	}
	// A newer proxy in the same pod would have been asked for three.
	if k := workersOf(t, podWith(pairs{request, "3"}, pairs{cores, "2"}), model.Known[int64](8), running("2.300.0", 2)); k.Asked.Or(0) != 3 {
		t.Errorf("asked %d, want 3", k.Asked.Or(0))
	}
}
