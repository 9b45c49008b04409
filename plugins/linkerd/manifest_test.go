package linkerd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// made is what a Deployment's pod was made from, as that is now.
type made struct {
	template, namespace pairs
	outdated            string // "yes", "no"; empty: not known
	strategy            string // RollingUpdate when empty
	kind                string // Deployment when empty
	paused              bool
}

func (m made) put(live model.Pod) model.Pod {
	all := func(p pairs) model.Value[map[string]string] {
		annotations := map[string]string{}
		p.each(func(name, value string) { annotations[name] = value })
		return model.Known(annotations)
	}
	live.Workload = model.Workload{Kind: "Deployment", Name: "server"}
	if m.kind != "" {
		live.Workload.Kind = m.kind
	}
	live.Manifest = model.Manifest{
		Template: all(m.template), Namespace: all(m.namespace), Strategy: m.strategy, Paused: m.paused,
		Outdated: model.Unknown[bool]("not asked for"),
	}
	if m.outdated != "" {
		live.Manifest.Outdated = model.Known(m.outdated == "yes")
	}
	return live
}

const (
	restart = "restart the workload"
	rollout = "its rollout is under way, stuck, or held back: restart the workload if it does not come"
)

// TestWorkersDrift: what pod template and namespace ask for now, beside a pod
// that was made before.
func TestWorkersDrift(t *testing.T) {
	two := limited(pod(pairs{limit, "2"}, pairs{most, "2"}), "2")
	for _, tt := range []struct {
		name           string
		pod            *corev1.Pod
		from           made
		inForce, asked int64
		restart        bool
		why            string
		chain          string // the link that counts
	}{
		{
			"as it was made", two,
			made{template: pairs{limit, "2"}},
			2, 2, false, "",
			"pod template annotation config.linkerd.io/proxy-cpu-limit=2",
		},
		{
			"inherited as it was made", two,
			made{namespace: pairs{limit, "2"}},
			2, 2, false, "",
			"namespace annotation config.linkerd.io/proxy-cpu-limit=2",
		},
		{
			"the template changed", two,
			made{template: pairs{limit, "4"}, outdated: "yes"},
			2, 4, true,
			`pod template annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`the pod template was changed after the pod was made; ` + rollout,
			"pod annotation config.linkerd.io/proxy-cpu-limit=2 (this pod was made with it)\n" +
				"pod template annotation config.linkerd.io/proxy-cpu-limit=4\n" +
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2",
		},
		{
			"the template asks for the first time, the revisions may not be read", pod(nil, nil),
			made{template: pairs{limit, "4"}},
			1, 4, true,
			`pod template annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`the pod template was changed after the pod was made; ` + restart,
			"pod template annotation config.linkerd.io/proxy-cpu-limit=4",
		},
		{
			"OnDelete", two,
			made{template: pairs{limit, "4"}, outdated: "yes", strategy: "OnDelete", kind: "StatefulSet"},
			2, 4, true,
			`pod template annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`the pod template was changed after the pod was made; the update strategy is OnDelete: delete the pod`, "",
		},
		{
			"a paused rollout", two,
			made{template: pairs{limit, "4"}, paused: true},
			2, 4, false,
			`pod template annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`the pod template was changed after the pod was made; its rollout is paused: resume it`, "",
		},
		{
			"a CronJob's next run", two,
			made{template: pairs{limit, "4"}, kind: "CronJob"},
			2, 4, false,
			`pod template annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`the pod template was changed after the pod was made; the next run takes it`, "",
		},
		{
			"gone from the template", two,
			made{outdated: "yes"},
			2, 1, true,
			`annotation config.linkerd.io/proxy-cpu-limit made the container set LINKERD2_PROXY_CORES_MAX to "2", and ` +
				`it is gone from the pod template since; ` + rollout,
			"pod annotation config.linkerd.io/proxy-cpu-limit=2 (this pod was made with it; it is gone since)\n" +
				"env of container linkerd-proxy LINKERD2_PROXY_CORES_MAX=2",
		},
		{
			"the minimum is gone from the template", pod(pairs{request, "3"}, pairs{cores, "3", least, "3"}),
			made{outdated: "yes"},
			3, 1, true,
			`annotation config.linkerd.io/proxy-cpu-request made the container set LINKERD2_PROXY_CORES_MIN to "3", and ` +
				`it is gone from the pod template since; ` + rollout, "",
		},
		{
			"malformed in the template now", two,
			made{template: pairs{limit, "two"}, outdated: "yes"},
			2, 1, true,
			`pod template annotation config.linkerd.io/proxy-cpu-limit="two" is ignored: not a CPU quantity; ` +
				`annotation config.linkerd.io/proxy-cpu-limit made the container set LINKERD2_PROXY_CORES_MAX to "2", and ` +
				`the pod template was changed after the pod was made; ` + rollout, "",
		},
		{
			"neither template nor namespace has it, and the pod is of this template", two,
			made{outdated: "no"},
			2, 2, false, "",
			"pod annotation config.linkerd.io/proxy-cpu-limit=2 (neither the pod template nor the namespace has it now)",
		},
		{
			"annotated by hand", pod(pairs{limit, "2"}, nil),
			made{outdated: "no"},
			1, 2, false,
			`annotation config.linkerd.io/proxy-cpu-limit asks for "2", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`neither the pod template nor the namespace has it now, and the injector reads a pod's own only when it is made: put it on the pod template`, "",
		},
		{
			"a webhook has the last word", two,
			made{template: pairs{limit, "4"}, outdated: "no"},
			2, 2, false, "",
			"pod template annotation config.linkerd.io/proxy-cpu-limit=4 " +
				"(not used: the pod was made from this template with another value, by a webhook or by hand)\n" +
				"pod annotation config.linkerd.io/proxy-cpu-limit=2",
		},
		{
			"the namespace asks for the first time", pod(nil, nil),
			made{namespace: pairs{limit, "2"}},
			1, 2, true,
			`namespace annotation config.linkerd.io/proxy-cpu-limit asks for "2", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`it was set or changed after the pod was made, and a pod takes it only then; ` + restart,
			"namespace annotation config.linkerd.io/proxy-cpu-limit=2",
		},
		{
			"the namespace changed its mind", two,
			made{namespace: pairs{limit, "3"}},
			2, 3, true,
			`namespace annotation config.linkerd.io/proxy-cpu-limit asks for "3", but the container sets LINKERD2_PROXY_CORES_MAX to "2": ` +
				`it was set or changed after the pod was made, and a pod takes it only then; ` + restart, "",
		},
		{
			"the request of the namespace", pod(nil, nil),
			made{namespace: pairs{request, "1500m"}},
			1, 2, true,
			`namespace annotation config.linkerd.io/proxy-cpu-request asks for "2", but the container sets LINKERD2_PROXY_CORES_MIN to "1": ` +
				`it was set or changed after the pod was made, and a pod takes it only then; ` + restart, "",
		},
		{
			"the template beats the namespace", two,
			made{template: pairs{limit, "2"}, namespace: pairs{limit, "4"}},
			2, 2, false, "",
			"namespace annotation config.linkerd.io/proxy-cpu-limit=4 (not used: that of the pod template beats it)\n" +
				"pod template annotation config.linkerd.io/proxy-cpu-limit=2",
		},
		{
			"the ratio of a namespace", pod(nil, nil),
			made{namespace: pairs{ratioAnn, "0.5"}},
			1, 1, false,
			`namespace annotation config.linkerd.io/proxy-cpu-ratio-limit="0.5" is ignored: pods do not inherit the ratio from their namespace, ` +
				`and a restart does not change that: set it on the pod template`,
			"namespace annotation config.linkerd.io/proxy-cpu-ratio-limit=0.5 (ignored: pods do not inherit",
		},
		{
			"the ratio of a namespace and one of the template", pod(pairs{ratioAnn, "0.25"}, pairs{share, "0.25"}),
			made{template: pairs{ratioAnn, "0.25"}, namespace: pairs{ratioAnn, "0.5"}},
			2, 2, false, "",
			"pod template annotation config.linkerd.io/proxy-cpu-ratio-limit=0.25",
		},
		{
			"the ratio of the template changed", pod(pairs{ratioAnn, "0.25"}, pairs{share, "0.25"}),
			made{template: pairs{ratioAnn, "0.5"}},
			2, 4, true,
			`pod template annotation config.linkerd.io/proxy-cpu-ratio-limit asks for "0.5", but the container sets LINKERD2_PROXY_CORES_MAX_RATIO to "0.25": ` +
				`the pod template was changed after the pod was made; ` + restart, "",
		},
		{
			"Helm's proxy.cores makes the injector drop it", pod(nil, pairs{cores, "3", least, "3"}),
			made{namespace: pairs{limit, "4"}},
			3, 4, false,
			`namespace annotation config.linkerd.io/proxy-cpu-limit asks for "4", but the container does not set LINKERD2_PROXY_CORES_MAX: ` +
				`Helm's proxy.cores sets the workers, and the injector drops the annotation`, "",
		},
		{
			"the same number in other words", two,
			made{template: pairs{limit, "1500m"}, outdated: "yes"},
			2, 2, false, "",
			"pod template annotation config.linkerd.io/proxy-cpu-limit=1500m (rounded up to 2)",
		},
		{
			"another list behind the limit is gone",
			limited(pod(pairs{limit, "2", additional, `[{"name":"LINKERD2_PROXY_CORES_MIN","value":"4"}]`}, pairs{most, "2", least, "4"}), "4"),
			made{template: pairs{limit, "2"}, outdated: "yes"},
			4, 2, true,
			`annotation config.linkerd.io/proxy-additional-env made the container set LINKERD2_PROXY_CORES_MIN to "4", and ` +
				`it is gone from the pod template since; ` + rollout + ` (Helm's proxy.additionalEnv may set it then)`, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := workersOf(t, tt.pod, model.Known[int64](8), tt.from.put(running("2.366.0", tt.inForce)))
			if got, ok := k.Asked.Get(); !ok || got != tt.asked {
				t.Errorf("asked %d (known %v: %s), want %d", got, ok, k.Asked.Reason(), tt.asked)
			}
			if k.Why != tt.why {
				t.Errorf("why:\n%s\nwant:\n%s", k.Why, tt.why)
			}
			if k.Remedy.Restart != tt.restart {
				t.Errorf("restart %v, want %v", k.Remedy.Restart, tt.restart)
			}
			if got := strings.Join(chainLines(k), "\n"); !strings.Contains(got, tt.chain) {
				t.Errorf("chain:\n%s\nlacks:\n%s", got, tt.chain)
			}
		})
	}
}

// TestBacklogDrift: the list of additional variables, which must not stand on a
// namespace alone.
func TestBacklogDrift(t *testing.T) {
	list := func(n string) string {
		return `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"` + n + `"}]`
	}
	deep := pod(pairs{additional, list("512")}, pairs{inbound, "512"})
	for _, tt := range []struct {
		name      string
		pod       *corev1.Pod
		from      made
		inForce   int64
		somaxconn int64
		asked     int64 // -1: unknown
		restart   bool
		why       string
	}{
		{"as it was made", deep, made{template: pairs{additional, list("512")}}, 512, 4096, 512, false, ""},
		{
			"the template changed", deep,
			made{template: pairs{additional, list("1024")}},
			512, 4096, 1024, true,
			`pod template annotation config.linkerd.io/proxy-additional-env asks for "1024", but the container sets ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG to "512": the pod template was changed after the pod was made; ` + restart,
		},
		{
			"the template changed to more than the kernel gives", deep,
			made{template: pairs{additional, list("8192")}},
			512, 4096, 8192, false,
			`pod template annotation config.linkerd.io/proxy-additional-env asks for "8192", but the container sets ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG to "512": the pod template was changed after the pod was made; ` + restart +
				`; net.core.somaxconn of the pod is 4096 and will cap it`,
		},
		{
			"the entry is gone", deep,
			made{template: pairs{additional, `[{"name":"A","value":"1"}]`}, outdated: "yes"},
			512, 4096, 128, true,
			`annotation config.linkerd.io/proxy-additional-env made the container set LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG to "512", and ` +
				`the pod template was changed after the pod was made; ` + rollout + ` (Helm's proxy.additionalEnv may set it then)`,
		},
		{
			"malformed in the template now", deep,
			made{template: pairs{additional, list("4k")}},
			512, 4096, -1, false,
			`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG="4k" is no whole number from 0 to 4294967295: the proxy ends with exit code 64; ` +
				`pod template annotation config.linkerd.io/proxy-additional-env asks for "4k", but the container sets ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG to "512": the pod template was changed after the pod was made; ` + restart,
		},
		{
			"on the namespace alone", pod(nil, nil),
			made{namespace: pairs{additional, list("512")}},
			128, 4096, 512, false,
			`namespace annotation config.linkerd.io/proxy-additional-env asks for "512", but the container does not set ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG: the injector makes an invalid patch of it where it stands on a namespace alone, ` +
				`and no pod is made: put it on the pod template before anything restarts`,
		},
		{
			"on the namespace and the template", deep,
			made{template: pairs{additional, list("512")}, namespace: pairs{additional, list("64")}},
			512, 4096, 512, false, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := tt.from.put(listening("2.366.0", tt.somaxconn, tt.inForce, 128, tt.inForce))
			for _, role := range []string{"inbound", "admin"} {
				k := backlogOf(t, tt.pod, live, role)
				if got := k.Asked.Or(-1); got != tt.asked {
					t.Errorf("%s: asked %d (%s), want %d", role, got, k.Asked.Reason(), tt.asked)
				}
				if k.Why != tt.why {
					t.Errorf("%s: why:\n%s\nwant:\n%s", role, k.Why, tt.why)
				}
				if k.Remedy.Restart != tt.restart {
					t.Errorf("%s: restart %v, want %v", role, k.Remedy.Restart, tt.restart)
				}
			}
			if k := backlogOf(t, tt.pod, live, "outbound"); k.Differs() || k.Asked.Or(0) != 128 {
				t.Errorf("outbound: asked %d, why %q", k.Asked.Or(0), k.Why)
			}
		})
	}
}

// Whoever may not read workloads or namespaces sees what the pod itself tells,
// and nothing is claimed of a restart.
func TestDriftWithoutRights(t *testing.T) {
	p := pod(pairs{limit, "2"}, nil)
	live := running("2.366.0", 1)
	live.Manifest = model.UnknownManifest("deployments is forbidden")
	k := workersOf(t, p, model.Known[int64](8), live)
	if k.Asked.Or(0) != 2 || k.Remedy.Restart || !strings.Contains(k.Why, "injected before the annotation was set") {
		t.Errorf("asked %d, restart %v, why %q", k.Asked.Or(0), k.Remedy.Restart, k.Why)
	}
	// A namespace may be readable where the workload is not. That it asks for
	// something says nothing of a pod whose template may say otherwise.
	live.Manifest.Namespace = model.Known(map[string]string{limit: "4"})
	live.Runtime.Workers = model.Known[int64](2)
	if k = workersOf(t, limited(pod(pairs{limit, "2"}, pairs{most, "2"}), "2"), model.Known[int64](8), live); k.Asked.Or(0) != 2 || k.Why != "" {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
	// A pod that carries nothing would have got it.
	if k = workersOf(t, pod(nil, nil), model.Known[int64](8), live); k.Asked.Or(0) != 4 {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
}
