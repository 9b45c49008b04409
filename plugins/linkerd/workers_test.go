package linkerd

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	limit      = "config.linkerd.io/proxy-cpu-limit"
	request    = "config.linkerd.io/proxy-cpu-request"
	ratioAnn   = "config.linkerd.io/proxy-cpu-ratio-limit"
	additional = "config.linkerd.io/proxy-additional-env"
)

func workersOf(t *testing.T, p *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) model.Knob {
	t.Helper()
	return knob(t, New().Knobs(p, nodeCPUs, live), "workers")
}

// TestWorkersAsked: what annotations and environment lead to. In every row the
// environment is what the injector makes of the annotations.
func TestWorkersAsked(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pod   *corev1.Pod
		node  int64
		want  int64
		chain []string
	}{
		{
			"nothing asked", pod(nil, nil), 4, 1,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"formula available CPUs=4 (the node has 4)",
				"formula workers=1 (1, at least 1, at most 4)",
			},
		},
		{
			"nothing set", podWith(nil, nil), 4, 1,
			[]string{
				"default workers=1",
				"formula available CPUs=4 (the node has 4)",
				"formula workers=1 (1, at most 4)",
			},
		},
		{
			"limit", limited(pod(pairs{limit, "1500m"}, pairs{most, "2"}), "1500m"), 8, 2,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-limit=1500m (rounded up to 2)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2",
				"formula available CPUs=2 (the node has 8; CPU limit 1500m)",
				"formula workers=2 (maximum 2, at least 1, at most 2)",
			},
		},
		{
			"limit above the node", limited(pod(pairs{limit, "4"}, pairs{most, "4"}), "4"), 2, 2,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-limit=4",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=4",
				"formula available CPUs=2 (the node has 2; CPU limit 4)",
				"formula workers=2 (maximum 4, at least 1, at most 2)",
			},
		},
		{
			"request and limit", limited(pod(pairs{request, "1500m", limit, "4"}, pairs{least, "2", most, "4"}), "4"), 8, 4,
			[]string{
				"pod annotation config.linkerd.io/proxy-cpu-request=1500m (rounded up to 2)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1 (not used: the name stands again further down)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=2",
				"pod annotation config.linkerd.io/proxy-cpu-limit=4",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=4",
				"formula available CPUs=4 (the node has 8; CPU limit 4)",
				"formula workers=4 (maximum 4, at least 2, at most 4)",
			},
		},
		{
			"a request of less than a CPU", pod(pairs{request, "100m"}, nil), 8, 1,
			[]string{
				"pod annotation config.linkerd.io/proxy-cpu-request=100m (rounded up to 1)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"formula available CPUs=8 (the node has 8)",
				"formula workers=1 (1, at least 1, at most 8)",
			},
		},
		{
			"ratio", pod(pairs{ratioAnn, "0.35"}, pairs{share, "0.35"}), 10, 4,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-ratio-limit=0.35",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX_RATIO=0.35",
				"formula available CPUs=10 (the node has 10)",
				"formula workers=4 (ratio 0.35 of the available CPUs, rounded, at least 1, at most 10)",
			},
		},
		{
			"the ratio as the injector prints it", pod(pairs{ratioAnn, "0.50"}, pairs{share, "0.5"}), 16, 8,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-ratio-limit=0.50",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX_RATIO=0.5",
				"formula available CPUs=16 (the node has 16)",
				"formula workers=8 (ratio 0.5 of the available CPUs, rounded, at least 1, at most 16)",
			},
		},
		{
			"a limit beats a ratio", limited(pod(pairs{limit, "2", ratioAnn, "0.9"}, pairs{most, "2", share, "0.9"}), "2"), 16, 2,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-limit=2",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2",
				"pod annotation config.linkerd.io/proxy-cpu-ratio-limit=0.9",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX_RATIO=0.9 (not used: LINKERD2_PROXY_CORES_MAX beats it)",
				"formula available CPUs=2 (the node has 16; CPU limit 2)",
				"formula workers=2 (maximum 2, at least 1, at most 2)",
			},
		},
		{
			"additional variables beat the limit",
			limited(pod(pairs{limit, "2", additional, `[{"name":"LINKERD2_PROXY_CORES_MAX","value":"3"}]`}, pairs{most, "2", most, "3"}), "3"), 8, 2,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"pod annotation config.linkerd.io/proxy-cpu-limit=2 (not used: config.linkerd.io/proxy-additional-env sets LINKERD2_PROXY_CORES_MAX behind it)",
				"pod annotation config.linkerd.io/proxy-additional-env=LINKERD2_PROXY_CORES_MAX=3",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2 (not used: the name stands again further down)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=3",
				"formula available CPUs=2 (the node has 8; CPU limit 2)",
				"formula workers=2 (maximum 3, at least 1, at most 2)",
			},
		},
		{
			"Helm's proxy.cores", pod(nil, pairs{cores, "2", least, "2"}), 8, 2,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1 (not used: the name stands again further down)",
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=2",
				"formula available CPUs=8 (the node has 8)",
				"formula workers=2 (1, at least 2, at most 8)",
			},
		},
		{
			"Helm's CPU resources alone change nothing", limited(pod(nil, nil), "4"), 8, 1,
			[]string{
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MIN=1",
				"formula available CPUs=4 (the node has 8; CPU limit 4)",
				"formula workers=1 (1, at least 1, at most 4)",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := workersOf(t, tt.pod, model.Known(tt.node), running("2.366.0", tt.want))
			if got, ok := k.Asked.Get(); !ok || got != tt.want {
				t.Errorf("asked %d (known %v: %s), want %d", got, ok, k.Asked.Reason(), tt.want)
			}
			if k.Why != "" {
				t.Errorf("why %q, though nothing differs", k.Why)
			}
			if got, want := strings.Join(chainLines(k), "\n"), strings.Join(tt.chain, "\n"); got != want {
				t.Errorf("chain:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func chainLines(k model.Knob) []string {
	var lines []string
	for _, o := range k.Chain {
		line := fmt.Sprintf("%s %s=%s", o.Where, o.Name, o.Value)
		if o.Note != "" {
			line += " (" + o.Note + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// The node's CPUs are needed for a ratio; what else is asked for stands without
// them, not capped.
func TestWorkersWithoutNodeCPUs(t *testing.T) {
	unknown := model.Unknown[int64]("nodes is forbidden")
	for _, tt := range []struct {
		name  string
		pod   *corev1.Pod
		asked int64 // 0: unknown
	}{
		{"nothing asked", pod(nil, nil), 1},
		{"maximum", pod(nil, pairs{most, "2"}), 2},
		{"maximum above the limit", limited(pod(nil, pairs{most, "4"}), "1500m"), 2},
		{"ratio", pod(nil, pairs{share, "0.5"}), 0},
		{"ratio under a limit", limited(pod(nil, pairs{share, "0.5"}), "4"), 0},
		{"ratio under a limit of one CPU", limited(pod(nil, pairs{share, "0.5"}), "700m"), 1},
		{"ratio that a maximum beats", pod(nil, pairs{share, "0.5", most, "3"}), 3},
		{"ratio that is ignored", pod(nil, pairs{share, "2"}), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := workersOf(t, tt.pod, unknown, running("2.366.0", 1))
			got, ok := k.Asked.Get()
			if ok != (tt.asked > 0) || got != tt.asked {
				t.Errorf("asked %d (known %v: %s), want %d", got, ok, k.Asked.Reason(), tt.asked)
			}
			if tt.asked == 0 && k.Asked.Reason() != "the ratio is a share of the node's CPUs, which are unknown: nodes is forbidden" {
				t.Errorf("reason %q", k.Asked.Reason())
			}
			if lines := strings.Join(chainLines(k), "\n"); tt.asked > 1 && !strings.Contains(lines, "those of the node are unknown: nodes is forbidden") {
				t.Errorf("the chain does not tell that the node's CPUs are unknown:\n%s", lines)
			}
		})
	}
	if k := workersOf(t, pod(nil, pairs{share, "0.5"}), model.Known[int64](0), running("2.366.0", 1)); k.Asked.IsKnown() {
		t.Errorf("asked %d of a node that states 0 CPUs", k.Asked.Or(0))
	}
}

// What the spec does not show is not asked to be 1.
func TestWorkersHidden(t *testing.T) {
	const hidden = "LINKERD2_PROXY_CORES_MAX is set by valueFrom, which the pod's spec does not resolve"
	four := model.Known[int64](4)
	k := workersOf(t, hide(pod(nil, nil), most), four, running("2.366.0", 2))
	if k.Asked.IsKnown() || k.Asked.Reason() != hidden {
		t.Errorf("asked: known %v, reason %q", k.Asked.IsKnown(), k.Asked.Reason())
	}
	// An annotation is no proof of what a hidden variable holds.
	k = workersOf(t, hide(pod(pairs{limit, "2"}, nil), most), four, running("2.366.0", 1))
	if k.Asked.IsKnown() || k.Why != "" {
		t.Errorf("asked: known %v, why %q", k.Asked.IsKnown(), k.Why)
	}
	// With one CPU every rule leads to one worker.
	if k = workersOf(t, hide(pod(nil, nil), most), model.Known[int64](1), running("2.366.0", 1)); k.Asked.Or(0) != 1 {
		t.Errorf("asked %d of one CPU: %s", k.Asked.Or(0), k.Asked.Reason())
	}
	// CORES does not matter where MIN is set; a ratio does not where MAX is.
	if k = workersOf(t, hide(pod(nil, pairs{most, "2"}), share), four, running("2.366.0", 2)); k.Asked.Or(0) != 2 {
		t.Errorf("asked %d: %s", k.Asked.Or(0), k.Asked.Reason())
	}
	p := pod(nil, pairs{most, "$(CPUS)"})
	if k = workersOf(t, p, four, running("2.366.0", 2)); k.Asked.Reason() != `LINKERD2_PROXY_CORES_MAX refers to another variable ("$(CPUS)")` {
		t.Errorf("reason %q", k.Asked.Reason())
	}
	p = pod(nil, nil)
	p.Spec.Containers[1].EnvFrom = []corev1.EnvFromSource{{Prefix: "APP_"}}
	if k = workersOf(t, p, four, running("2.366.0", 1)); !k.Asked.IsKnown() {
		t.Errorf("a ConfigMap with the prefix APP_ cannot set the proxy's variables: %s", k.Asked.Reason())
	}
	p.Spec.Containers[1].EnvFrom[0].Prefix = "LINKERD2_"
	if k = workersOf(t, p, four, running("2.366.0", 1)); k.Asked.IsKnown() || !strings.Contains(k.Asked.Reason(), "envFrom") {
		t.Errorf("asked: known %v, reason %q", k.Asked.IsKnown(), k.Asked.Reason())
	}
}

func TestWorkersInForceUnknown(t *testing.T) {
	var live model.Pod
	k := workersOf(t, pod(nil, nil), model.Known[int64](4), live)
	if k.InForce.IsKnown() || k.InForce.Reason() != "the proxy's metrics were not read" || k.SeenBy != "" {
		t.Errorf("in force: %+v, seen by %q", k.InForce, k.SeenBy)
	}
	live.Collection.Metrics = "port-forward refused"
	if k = workersOf(t, pod(nil, nil), model.Known[int64](4), live); k.InForce.Reason() != "port-forward refused" {
		t.Errorf("reason %q", k.InForce.Reason())
	}
}

func TestWorkersRemedy(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		pod        *corev1.Pod
	}{
		{"limit", limit, pod(nil, nil)},
		{"ratio in use", ratioAnn, pod(nil, pairs{share, "0.5"})},
		{"ratio asked for", ratioAnn, pod(pairs{ratioAnn, "0.5"}, nil)},
	} {
		r := workersOf(t, tt.pod, model.Known[int64](4), running("2.366.0", 1)).Remedy
		if r.Where != "pod template annotation" || r.Name != tt.want || r.Form == "" {
			t.Errorf("%s: remedy %+v, want %s", tt.name, r, tt.want)
		}
	}
	// Where somebody put a ratio on the namespace, the template is where it works.
	live := made{namespace: pairs{ratioAnn, "0.5"}}.put(running("2.366.0", 1))
	if r := workersOf(t, pod(nil, nil), model.Known[int64](4), live).Remedy; r.Where != "pod template annotation" || r.Name != ratioAnn || r.Restart {
		t.Errorf("a ratio of the namespace: remedy %+v", r)
	}
}
