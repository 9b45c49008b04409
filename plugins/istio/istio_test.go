package istio

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	config = "proxy.istio.io/config"
	limit  = "sidecar.istio.io/proxyCPULimit"
)

// pod makes a pod with a sidecar, and annotations given as name, value.
func pod(annotations ...string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Annotations = map[string]string{}
	for i := 0; i+1 < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	p.Spec.Containers = []corev1.Container{
		{Name: "app"},
		{Name: "istio-proxy", Image: "docker.io/istio/proxyv2:1.28.0", Args: []string{"proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local"}},
	}
	return p
}

func change(p *corev1.Pod, f func(*corev1.Container)) *corev1.Pod {
	f(&p.Spec.Containers[1])
	return p
}

func limited(p *corev1.Pod, cpu string) *corev1.Pod {
	return change(p, func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	})
}

func env(p *corev1.Pod, value string) *corev1.Pod {
	return change(p, func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "PROXY_CONFIG", Value: value}) })
}

func args(p *corev1.Pod, list ...string) *corev1.Pod {
	return change(p, func(c *corev1.Container) { c.Args = append(c.Args, list...) })
}

func TestMatch(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	native := pod()
	native.Spec.InitContainers = []corev1.Container{native.Spec.Containers[1]}
	native.Spec.InitContainers[0].RestartPolicy = &always
	native.Spec.Containers = native.Spec.Containers[:1]
	validation := native.DeepCopy()
	validation.Spec.InitContainers[0].RestartPolicy = nil
	gateway := pod()
	gateway.Spec.Containers = gateway.Spec.Containers[1:]
	ambient := change(pod(), func(c *corev1.Container) { c.Image, c.Args = "docker.io/istio/ztunnel:1.28.0", nil })
	for name, tt := range map[string]struct {
		pod            *corev1.Pod
		match, sidecar bool
	}{
		"sidecar":              {pod(), true, true},
		"native sidecar":       {native, true, true},
		"init container":       {validation, false, false},
		"gateway":              {gateway, true, false},
		"ambient's node proxy": {ambient, false, false},
		"its argument":         {args(pod(), "ztunnel"), false, false},
		"no container":         {&corev1.Pod{}, false, false},
		"nothing":              {nil, false, false},
	} {
		container, ok := New().Match(tt.pod)
		if ok != tt.match || ok != (container == "istio-proxy") || New().Sidecar(tt.pod) != tt.sidecar {
			t.Errorf("%s: %q (%v), sidecar %v", name, container, ok, New().Sidecar(tt.pod))
		}
	}
}

func TestPorts(t *testing.T) {
	roles := New().Roles(pod())
	for port, want := range map[uint16]model.Role{
		15001: model.RoleOutbound, 15006: model.RoleInbound, 15008: model.RoleInbound, 15000: model.RoleAdmin,
		15020: model.RoleAdmin, 15021: model.RoleAdmin, 15053: model.RoleAdmin, 15090: model.RoleAdmin, 8080: "",
	} {
		if roles[port] != want {
			t.Errorf("%d: %q, want %q", port, roles[port], want)
		}
	}
	if e := New().Admin(pod()); e.Port != 15000 || e.Why != "" {
		t.Errorf("admin %+v", e)
	}
	if e := New().Admin(&corev1.Pod{}); e.Port != 0 || New().Roles(&corev1.Pod{}) != nil {
		t.Errorf("admin of no sidecar: %+v", e)
	}
}

func workersOf(t *testing.T, p *corev1.Pod, node model.Value[int64], live model.Pod) model.Knob {
	t.Helper()
	knobs := New().Knobs(p, node, live)
	if len(knobs) == 0 || knobs[0].Name != "workers" {
		t.Fatalf("knobs %+v", knobs)
	}
	return knobs[0]
}

func running(workers int64) model.Pod {
	var live model.Pod
	live.Runtime.Workers = model.Known(workers)
	live.Counters.Somaxconn = model.Known[int64](4096)
	live.Manifest = model.UnknownManifest("not asked")
	return live
}

func TestWorkers(t *testing.T) {
	four, unknown := model.Known[int64](4), model.Unknown[int64]("nodes is forbidden")
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		node  model.Value[int64]
		want  int64 // 0: unknown
		chain string
	}{
		"annotation":                             {pod(config, "concurrency: 3\n"), four, 3, "pod annotation proxy.istio.io/config=concurrency: 3"},
		"annotation in JSON, the number as text": {pod(config, `{"concurrency":"3"}`), four, 3, "=concurrency: 3"},
		"annotation beats the limit": {
			limited(pod(config, "concurrency: 3"), "1"), unknown, 3,
			"pod annotation proxy.istio.io/config=concurrency: 3\ncontainer istio-proxy CPU limit=1 (not used: proxy.istio.io/config beats it)",
		},
		"annotation beats the mesh": {
			env(pod(config, "concurrency: 3"), `{"concurrency":2}`), four, 3,
			"env of container istio-proxy PROXY_CONFIG=concurrency: 2 (not used: proxy.istio.io/config beats it)",
		},
		"annotation of other settings": {pod(config, "holdApplicationUntilProxyStarts: true"), four, 4, "node CPUs=4"},
		"mesh":                         {env(limited(pod(), "1"), `{"concurrency":2}`), four, 2, "PROXY_CONFIG=concurrency: 2 (the mesh's settings when the pod was made)"},
		"flag beats all":               {args(pod(config, "concurrency: 3"), "--concurrency", "5"), four, 5, "arguments of container istio-proxy --concurrency=5\npod annotation"},
		"flag of 0":                    {args(limited(pod(), "2"), "--concurrency=0"), four, 2, "--concurrency=0 (0 asks for nothing)"},
		"0 is all":                     {limited(pod(config, "concurrency: 0"), "2"), four, 4, "concurrency: 0 (0 is a thread for each CPU)"},
		"limit rounded up":             {limited(pod(), "1100m"), unknown, 2, "container istio-proxy CPU limit=1100m (rounded up to 2)"},
		"limit below one":              {limited(pod(), "100m"), four, 1, "CPU limit=100m (rounded up to 1)"},
		"limit by annotation": {
			limited(pod(limit, "2"), "2"), four, 2,
			"pod annotation sidecar.istio.io/proxyCPULimit=2\ncontainer istio-proxy CPU limit=2",
		},
		"limit above the node": {limited(pod(), "8"), four, 8, "CPU limit=8"},
		"nothing":              {pod(), four, 4, "node CPUs=4"},
		"nothing, no node":     {pod(), unknown, 0, "node CPUs=unknown (there is a worker for each CPU of the node, and those are unknown: nodes is forbidden)"},
		"null":                 {pod(config, "concurrency: null"), four, 4, "node CPUs=4"},
	} {
		k := workersOf(t, tt.pod, tt.node, running(max(1, tt.want)))
		n, ok := k.Asked.Get()
		if ok != (tt.want > 0) || n != tt.want || !ok && k.Asked.Reason() == "" {
			t.Errorf("%s: asked %d (%v: %s), want %d", name, n, ok, k.Asked.Reason(), tt.want)
		}
		if got := chain(k); !strings.Contains(got, tt.chain) {
			t.Errorf("%s: chain %q, want %q in it", name, got, tt.chain)
		}
		if k.Why != "" || k.SeenBy != "server.concurrency" {
			t.Errorf("%s: why %q, seen by %q", name, k.Why, k.SeenBy)
		}
	}
}

func chain(k model.Knob) string {
	var lines []string
	for _, o := range k.Chain {
		line := fmt.Sprintf("%s %s=%s", o.Where, o.Name, o.Value)
		if o.Note != "" {
			line += " (" + o.Note + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// What cannot be read is ignored and told, and what comes next decides.
func TestWorkersOfMalformedSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want int64
		why  string
	}{
		"a word":          {pod(config, "concurrency: two"), 4, `concurrency is "two", which is no whole number from 0`},
		"below 0":         {limited(pod(config, "concurrency: -1"), "2"), 2, `"-1"`},
		"a fraction":      {pod(config, "concurrency: 1.5"), 4, `"1.5"`},
		"too many":        {pod(config, "concurrency: 4294967296"), 4, `"4294967296"`},
		"a list":          {pod(config, "- concurrency"), 4, "no YAML object"},
		"no YAML":         {env(pod(config, "a: b: c"), "concurrency: 2"), 2, "no YAML object"},
		"an escape":       {pod(config, "concurrency: \"\\e[31m\""), 4, `"\x1b[31m"`},
		"huge":            {pod(config, strings.Repeat(" ", 300<<10)), 4, "larger than 256 KiB"},
		"no quantity":     {limited(pod(limit, "two"), "2"), 2, `sidecar.istio.io/proxyCPULimit is "two"`},
		"negative":        {pod(limit, "-1"), 4, "no CPU quantity above 0"},
		"mesh's settings": {env(pod(), "concurrency: {}"), 4, "PROXY_CONFIG is ignored"},
		"flag":            {args(pod(config, "concurrency: 3"), "--concurrency", "x"), 3, `"x"`},
	} {
		k := workersOf(t, tt.pod, model.Known[int64](4), running(tt.want))
		if k.Asked.Or(0) != tt.want || !strings.Contains(k.Why, tt.why) || len(k.Why) > 500 {
			t.Errorf("%s: asked %+v, why %q, want %d, %q", name, k.Asked, k.Why, tt.want, tt.why)
		}
	}
	if k := workersOf(t, pod(config, "concurrency: 2.0"), model.Known[int64](4), running(2)); k.Asked.Or(0) != 2 || k.Why != "" {
		t.Errorf("2.0: asked %+v, why %q", k.Asked, k.Why)
	}
}

// A template that was changed, or a pod that was made before its annotation,
// waits for a restart.
func TestWorkersDrift(t *testing.T) {
	template := func(live model.Pod, annotations map[string]string) model.Pod {
		live.Manifest.Template = model.Known(annotations)
		return live
	}
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		live  model.Pod
		asked int64
		why   string
	}{
		"changed":                      {pod(config, "concurrency: 1"), template(running(1), map[string]string{config: "concurrency: 3"}), 3, "is another than the pod was made with; restart"},
		"added":                        {limited(pod(), "1"), template(running(1), map[string]string{config: "concurrency: 3"}), 3, "is another than the pod was made with; restart"},
		"taken away":                   {limited(pod(config, "concurrency: 1"), "2"), template(running(1), nil), 2, "was taken from the pod template"},
		"limit changed":                {limited(pod(limit, "1"), "1"), template(running(1), map[string]string{limit: "2"}), 2, `asks for "2", but the container has a limit of 1`},
		"limit not there":              {pod(limit, "2"), running(4), 2, `asks for "2", but the container has no CPU limit`},
		"the same":                     {pod(config, "concurrency: 3"), template(running(3), map[string]string{config: "concurrency: 3"}), 3, ""},
		"another with the same effect": {pod(config, "concurrency: 3"), template(running(3), map[string]string{config: "concurrency: 3.0"}), 3, ""},
	} {
		k := workersOf(t, tt.pod, model.Known[int64](4), tt.live)
		if k.Asked.Or(0) != tt.asked || !strings.Contains(k.Why, tt.why) || (k.Why == "") != (tt.why == "") || k.Remedy.Restart != (tt.why != "") {
			t.Errorf("%s: asked %+v, why %q, remedy %+v", name, k.Asked, k.Why, k.Remedy)
		}
	}
	if k := workersOf(t, pod(), model.Known[int64](4), running(2)); !strings.Contains(k.Why, "Istio before 1.18 takes 2") || k.Remedy.Restart {
		t.Errorf("why %q, remedy %+v", k.Why, k.Remedy)
	}
	live := running(1)
	live.Runtime.Workers = model.Unknown[int64]("")
	live.Collection.Metrics = "nothing listens on 15000 in that pod"
	if k := workersOf(t, pod(), model.Known[int64](4), live); k.InForce.Reason() != live.Collection.Metrics || k.SeenBy != "" {
		t.Errorf("in force %+v", k.InForce)
	}
}

func TestRemedy(t *testing.T) {
	for name, tt := range map[string]struct {
		pod        *corev1.Pod
		want, unit string
	}{
		"limit":       {limited(pod(), "1"), limit, "cpus"},
		"concurrency": {limited(pod(config, "concurrency: 1"), "1"), config, ""},
		"nothing":     {pod(), config, ""},
	} {
		r := workersOf(t, tt.pod, model.Known[int64](4), running(1)).Remedy
		if r.Where != "pod template annotation" || r.Name != tt.want || r.Unit != tt.unit || r.Form == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestWorkerRule(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		limit int64 // 0: unknown
		on8   int
	}{
		"concurrency": {limited(pod(config, "concurrency: 3"), "1"), 0, 3},
		"all":         {limited(pod(config, "concurrency: 0"), "1"), 0, 8},
		"limit":       {limited(pod(), "1500m"), 2, 2},
		"nothing":     {pod(), 0, 8},
	} {
		rule, limit, ok := New().WorkerRule(tt.pod)
		if !ok || limit.Or(0) != tt.limit || rule.Workers(8) != tt.on8 {
			t.Errorf("%s: %+v, limit %+v, %d on 8 CPUs", name, rule, limit, rule.Workers(8))
		}
	}
	if _, _, ok := New().WorkerRule(&corev1.Pod{}); ok {
		t.Error("a pod without a sidecar has a rule")
	}
}

func TestBacklogs(t *testing.T) {
	listener := func(port uint16, limits ...int64) model.Listener {
		l := model.Listener{Port: port}
		for _, n := range limits {
			l.Sockets = append(l.Sockets, model.Socket{Port: port, Depth: model.Known[int64](0), Limit: model.Known(n)})
		}
		return l
	}
	live := running(2)
	live.Listeners = []model.Listener{listener(15006, 4096, 4096), listener(15001, 4096, 128), listener(8080, 5)}
	knobs := New().Knobs(pod(), model.Known[int64](2), live)
	if len(knobs) != 3 || knobs[1].Name != "inbound backlog" || knobs[2].Name != "outbound backlog" {
		t.Fatalf("%+v", knobs)
	}
	if k := knobs[1]; k.Asked.Or(0) != 4096 || k.InForce.Or(0) != 4096 || k.SeenBy != "ss" || chain(k) != "default tcp_backlog_size=4096 (net.core.somaxconn: Istio does not set it; an EnvoyFilter may)" {
		t.Errorf("inbound: %+v, chain %q", k, chain(k))
	}
	// What is in force was asked for by somebody the spec does not show.
	if k := knobs[2]; k.Asked.IsKnown() || k.InForce.Or(0) != 128 || !strings.Contains(k.Asked.Reason(), "EnvoyFilter") {
		t.Errorf("outbound: %+v", k)
	}
	live.Listeners = live.Listeners[2:]
	live.Counters.Somaxconn = model.Unknown[int64]("no frame")
	k := New().Knobs(pod(), model.Known[int64](2), live)[1]
	if k.InForce.Reason() != "nothing listens on the proxy's inbound port" || !strings.Contains(k.Asked.Reason(), "no frame") {
		t.Errorf("%+v", k)
	}
	gateway := pod()
	gateway.Spec.Containers = gateway.Spec.Containers[1:]
	if knobs = New().Knobs(gateway, model.Known[int64](2), live); len(knobs) != 1 {
		t.Errorf("a gateway's knobs: %+v", knobs)
	}
}

func TestPagesGoToTheirReader(t *testing.T) {
	a := New()
	paths := a.Pages(nil)
	if len(paths) != 3 || a.Seldom(paths[0]) || !a.Seldom(paths[2]) {
		t.Errorf("pages %q", paths)
	}
	r, _, err := a.ReadPages([][]byte{[]byte("server.concurrency: 2\nserver.uptime: 5\n"), nil, nil})
	if err != nil || r.Workers != model.Known[int64](2) {
		t.Errorf("workers %+v: %v", r.Workers, err)
	}
	if got := a.AnnotationPrefixes(); len(got) != 2 || !strings.HasPrefix(config, got[0]) || !strings.HasPrefix(limit, got[1]) {
		t.Errorf("prefixes %q", got)
	}
}

// FuzzKnobs feeds annotations, variables and arguments as a user may write them.
func FuzzKnobs(f *testing.F) {
	f.Add("concurrency: 2", "1500m", `{"concurrency":3}`, "0", "concurrency: 4", int64(4))
	f.Add("concurrency: {}", "-1", "[", "x", "", int64(0))
	f.Add("concurrency: 1e9", "1e9999", "concurrency: -0", "+1", "a: &a [*a]", int64(1)<<62)
	f.Fuzz(func(t *testing.T, annotation, cpu, proxyConfig, flag, template string, node int64) {
		p := args(env(pod(config, annotation, limit, cpu), proxyConfig), "--concurrency", flag)
		rule, _, _ := New().WorkerRule(p)
		if n := rule.Workers(4); n < 1 || n > 4 {
			t.Errorf("%d workers of 4 CPUs", n)
		}
		live := running(2)
		live.Manifest.Template = model.Known(map[string]string{config: template, limit: flag})
		for _, live := range []model.Pod{running(2), live} {
			for _, nodeCPUs := range []model.Value[int64]{model.Known(node), model.Unknown[int64]("not asked")} {
				for _, k := range New().Knobs(p, nodeCPUs, live) {
					n, ok := k.Asked.Get()
					if !ok && k.Asked.Reason() == "" || ok && n < 1 {
						t.Errorf("%s: asked %d (known %v, %q)", k.Name, n, ok, k.Asked.Reason())
					}
					if len(k.Why) > 5000 {
						t.Errorf("%s: why has %d bytes", k.Name, len(k.Why))
					}
					for _, o := range k.Chain {
						if utf8.RuneCountInString(o.Value) > shown+20 || len(o.Note) > 1000 {
							t.Errorf("%s: %s repeats %d bytes of value, %d of note", k.Name, o.Name, len(o.Value), len(o.Note))
						}
					}
				}
			}
		}
	})
}
