package envoy

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// pod makes a pod of one container with these arguments.
func pod(image string, command ...string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Name: "proxy", Image: image, Args: command}}
	return p
}

func limited(p *corev1.Pod, cpu string) *corev1.Pod {
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

func beside(p *corev1.Pod, others ...corev1.Container) *corev1.Pod {
	p.Spec.Containers = append(p.Spec.Containers, others...)
	return p
}

const official = "envoyproxy/envoy:v1.40.0"

func TestMatch(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	native := &corev1.Pod{}
	native.Spec.InitContainers = []corev1.Container{{Name: "edge", Image: official, RestartPolicy: &always}}
	native.Spec.Containers = []corev1.Container{{Name: "app", Image: "app"}}
	runsToItsEnd := native.DeepCopy()
	runsToItsEnd.Spec.InitContainers[0].RestartPolicy = nil
	istio := pod(official)
	istio.Spec.Containers[0].Name = "istio-proxy"
	withCommand := pod("registry.example/mesh/dataplane:3", "-c", "/x")
	withCommand.Spec.Containers[0].Command = []string{"/usr/local/bin/envoy"}
	otherCommand := pod(official)
	otherCommand.Spec.Containers[0].Command = []string{"sleep", "1"}
	port := corev1.Container{Name: "app", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}
	for name, tt := range map[string]struct {
		pod     *corev1.Pod
		want    string
		sidecar bool
	}{
		"official image":               {pod(official), "proxy", false},
		"with arguments":               {pod(official, "-c", "/etc/envoy.yaml"), "proxy", false},
		"digest":                       {pod("reg:5000/envoyproxy/envoy@sha256:00"), "proxy", false},
		"distroless":                   {pod("envoyproxy/envoy:distroless-v1.33.0"), "proxy", false},
		"command":                      {withCommand, "proxy", false},
		"arguments that name envoy":    {pod("mine:1", "envoy", "-c", "x"), "proxy", false},
		"shell":                        {pod("mine:1", "/bin/sh", "-c", "exec /usr/bin/envoy -c x"), "proxy", false},
		"shell with a variable":        {pod("mine:1", "sh", "-ec", "A=1 envoy -c x"), "proxy", false},
		"shell that does other things": {pod("mine:1", "sh", "-c", "curl http://envoy/ready"), "", false},
		"other command":                {otherCommand, "", false},
		"gateway's control plane":      {pod("envoyproxy/gateway:v1.4.0", "server"), "", false},
		"rate limit service":           {pod("envoyproxy/ratelimit:1"), "", false},
		"istio":                        {istio, "", false},
		"native sidecar":               {native, "edge", true},
		"init container":               {runsToItsEnd, "", false},
		"beside an app":                {beside(pod(official), port), "proxy", true},
		"beside a helper":              {beside(pod(official), corev1.Container{Name: "shutdown-manager", Ports: port.Ports}), "proxy", false},
		"beside a container unreached": {beside(pod(official), corev1.Container{Name: "log"}), "proxy", false},
		"no container":                 {&corev1.Pod{}, "", false},
		"nothing":                      {nil, "", false},
	} {
		got, ok := New().Match(tt.pod)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q (%v), want %q", name, got, ok, tt.want)
		}
		if s := New().Sidecar(tt.pod); s != tt.sidecar {
			t.Errorf("%s: sidecar %v", name, s)
		}
	}
}

const inline = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 15000}}}
static_resources:
  listeners:
  - {address: {socket_address: {port_value: 10000}}, tcp_backlog_size: 256}
  - {address: {socket_address: {port_value: 10001}}, enable_reuse_port: false, traffic_direction: OUTBOUND}
`

func TestAdmin(t *testing.T) {
	annotated := func(p *corev1.Pod, text string) *corev1.Pod {
		p.Annotations = map[string]string{AnnotationAdminPort: text}
		return p
	}
	ports := func(list ...corev1.ContainerPort) *corev1.Pod {
		p := pod(official, "-c", "x")
		p.Spec.Containers[0].Ports = list
		return p
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		port uint16
		why  string
	}{
		"bootstrap in the arguments":    {pod(official, "--config-yaml", inline), 15000, ""},
		"joined":                        {pod(official, "--config-yaml="+inline), 15000, ""},
		"bootstrap over the annotation": {annotated(pod(official, "--config-yaml", inline), "1"), 15000, ""},
		"bootstrap without admin":       {pod(official, "--config-yaml", "{static_resources: {}}"), 0, "has no admin listener"},
		"a file beside it":              {pod(official, "-c", "x", "--config-yaml", "{static_resources: {}}"), 9901, "is a guess"},
		"broken bootstrap":              {pod(official, "--config-yaml", "{"), 9901, "is a guess"},
		"annotation":                    {annotated(pod(official, "-c", "x"), "8001"), 8001, ""},
		"annotation that is no port":    {annotated(pod(official, "-c", "x"), "80011"), 0, `"80011", which is no port`},
		"annotation of another kind":    {annotated(pod(official, "-c", "x"), "no\x1b"), 0, `"no\x1b"`},
		"port called so":                {ports(corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{Name: "envoy-admin", ContainerPort: 8002}), 8002, ""},
		"usual port of a gateway":       {ports(corev1.ContainerPort{ContainerPort: 19000}), 19000, ""},
		"port that cannot be":           {ports(corev1.ContainerPort{Name: "admin", ContainerPort: 99999}), 9901, "is a guess"},
		"nothing said":                  {pod(official, "-c", "x"), 9901, AnnotationAdminPort},
		"no Envoy":                      {pod("app:1"), 0, ""},
	} {
		got := New().Admin(tt.pod)
		if got.Port != tt.port || (got.Why == "") != (tt.why == "") || !strings.Contains(got.Why, tt.why) {
			t.Errorf("%s: %+v, want %d, %q", name, got, tt.port, tt.why)
		}
	}
}

func TestRoles(t *testing.T) {
	got := New().Roles(pod(official, "--config-yaml", inline))
	if len(got) != 2 || got[15000] != model.RoleAdmin || got[10001] != model.RoleOutbound {
		t.Errorf("%v", got)
	}
	if got = New().Roles(pod(official, "-c", "x")); len(got) != 0 {
		t.Errorf("a guess takes ports from the app: %v", got)
	}
}

func workersOf(t *testing.T, p *corev1.Pod, node model.Value[int64], live model.Pod) model.Knob {
	t.Helper()
	for _, k := range New().Knobs(p, node, live) {
		if k.Name == "workers" {
			return k
		}
	}
	t.Fatal("no knob of workers")
	return model.Knob{}
}

func running(version string, workers int64) model.Pod {
	var live model.Pod
	live.Proxy.Version = model.Unknown[string]("not told")
	if version != "" {
		live.Proxy.Version = model.Known(version)
	}
	live.Runtime.Workers = model.Known(workers)
	live.Counters.Somaxconn = model.Known[int64](4096)
	return live
}

func TestWorkers(t *testing.T) {
	four, unknown := model.Known[int64](4), model.Unknown[int64]("nodes is forbidden")
	noCgroup := limited(pod(official), "2")
	noCgroup.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "ENVOY_CGROUP_CPU_DETECTION", Value: "False"}}
	for name, tt := range map[string]struct {
		pod     *corev1.Pod
		node    model.Value[int64]
		version string
		want    int64 // 0: unknown
		chain   string
	}{
		"asked for":             {pod(official, "--concurrency", "3"), four, "1.40.0", 3, "arguments of container proxy --concurrency=3"},
		"joined":                {pod(official, "--concurrency=3"), unknown, "", 3, "arguments of container proxy --concurrency=3"},
		"0 is 1":                {pod(official, "--concurrency", "0"), four, "1.40.0", 1, "--concurrency=0 (0 is one worker)"},
		"no number":             {pod(official, "--concurrency", "two"), four, "1.40.0", 0, "Envoy does not start"},
		"variable":              {pod(official, "--concurrency", "$(N)"), four, "1.40.0", 0, `refers to a variable ("$(N)")`},
		"the limit is no cap":   {limited(pod(official, "--concurrency", "3"), "1"), four, "1.40.0", 3, "=3"},
		"in a shell":            {pod("x", "sh", "-c", "envoy -c x --concurrency 2"), four, "", 2, "=2"},
		"last word":             {pod(official, "--concurrency"), four, "1.40.0", 0, "Envoy does not start"},
		"nothing":               {pod(official), four, "1.40.0", 4, "available CPUs=4 (the node has 4)"},
		"nothing, no node":      {pod(official), unknown, "1.40.0", 0, "available CPUs=unknown"},
		"limit rounded down":    {limited(pod(official), "2900m"), four, "1.37.0", 2, "available CPUs=2 (the node has 4; CPU limit 2900m, rounded down)"},
		"limit below one":       {limited(pod(official), "300m"), unknown, "1.37.0", 1, "CPU limit 300m"},
		"limit above the node":  {limited(pod(official), "9"), four, "1.40.0", 4, "available CPUs=4"},
		"limit before 1.37":     {limited(pod(official), "2"), four, "1.36.4", 4, "does not count: Envoy before 1.37"},
		"limit of some version": {limited(pod("mine/envoy:3x"), "2"), four, "", 0, "CPU limit 2"},
		"limit by the tag":      {limited(pod("mine/envoy:v1.36.1"), "2"), four, "", 4, "does not count"},
		"limit switched off":    {noCgroup, four, "1.40.0", 4, "ENVOY_CGROUP_CPU_DETECTION is false"},
	} {
		k := workersOf(t, tt.pod, tt.node, running(tt.version, max(1, tt.want)))
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
	if k := workersOf(t, pod(official), four, running("1.40.0", 2)); !strings.Contains(k.Why, "cpuset") {
		t.Errorf("why %q", k.Why)
	}
	live := running("", 1)
	live.Runtime.Workers = model.Unknown[int64]("")
	live.Collection.Metrics = "nothing listens on 9901"
	if k := workersOf(t, pod(official), four, live); k.InForce.Reason() != "nothing listens on 9901" || k.SeenBy != "" {
		t.Errorf("in force %+v", k.InForce)
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

func TestWorkerRule(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		limit int64 // 0: unknown
		on8   int
	}{
		"asked for":            {limited(pod(official, "--concurrency", "3"), "1"), 0, 3},
		"all":                  {pod(official), 0, 8},
		"limit":                {limited(pod(official), "2500m"), 2, 8},
		"limit before 1.37":    {limited(pod("envoyproxy/envoy:v1.30.1"), "2"), 0, 8},
		"limit, no version":    {limited(pod("envoyproxy/envoy"), "2"), 2, 8},
		"broken --concurrency": {pod(official, "--concurrency", "x"), 0, 1},
	} {
		rule, limit, ok := New().WorkerRule(tt.pod)
		if !ok || limit.Or(0) != tt.limit || rule.Workers(8) != tt.on8 {
			t.Errorf("%s: %+v, limit %+v, %d on 8 CPUs", name, rule, limit, rule.Workers(8))
		}
	}
	if _, _, ok := New().WorkerRule(pod("app:1")); ok {
		t.Error("a pod without Envoy has a rule")
	}
}

// on gives one listener of so many sockets with that limit.
func on(port uint16, limit int64, sockets int) model.Listener {
	l := model.Listener{Address: "0.0.0.0", Port: port}
	for range sockets {
		l.Sockets = append(l.Sockets, model.Socket{Port: port, Depth: model.Known[int64](0), Limit: model.Known(limit)})
	}
	return l
}

func names(knobs []model.Knob) string {
	var out []string
	for _, k := range knobs {
		out = append(out, k.Name)
	}
	return strings.Join(out, ", ")
}

func TestListenerKnobs(t *testing.T) {
	live := running("1.40.0", 3)
	live.Listeners = []model.Listener{on(10000, 256, 3), on(10001, 4096, 1), on(15000, 4096, 1)}
	knobs := New().Knobs(pod(official, "--concurrency", "3", "--config-yaml", inline), model.Known[int64](4), live)
	if got := names(knobs); got != "workers, backlog, sockets, outbound backlog, outbound sockets" {
		t.Fatalf("knobs: %s", got)
	}
	for i, want := range []string{
		"3 3", "256 256 --config-yaml of container proxy tcp_backlog_size=256",
		"3 3 --config-yaml of container proxy enable_reuse_port=true (a queue for each worker)",
		"4096 4096 default tcp_backlog_size=4096 (not set in --config-yaml of container proxy: net.core.somaxconn)",
		"1 1 --config-yaml of container proxy enable_reuse_port=false (one queue for all workers)",
	} {
		k := knobs[i]
		got := fmt.Sprintf("%d %d %s", k.Asked.Or(-1), k.InForce.Or(-1), chain(k))
		if !strings.HasPrefix(got, want) || k.Why != "" {
			t.Errorf("%s: %q (%s), want %q", k.Name, got, k.Why, want)
		}
	}
}

// What the running Envoy says of itself stands in for a bootstrap in a file.
func TestListenerKnobsOfTheRunningEnvoy(t *testing.T) {
	live := running("1.40.0", 2)
	live.Runtime.Configured = []model.ListenerSetting{
		{Port: 80, Backlog: model.Known[int64](8192), ReusePort: model.Known(true)},
		{Port: 81, Backlog: model.Unknown[int64]("no narrow view"), ReusePort: model.Unknown[bool]("no narrow view")},
	}
	live.Listeners = []model.Listener{on(80, 4096, 1), on(81, 128, 2), on(9901, 4096, 1), on(7000, 5, 1)}
	knobs := New().Knobs(pod(official, "-c", "x"), model.Known[int64](2), live)
	if got := names(knobs); got != "workers, backlog of port 80, sockets of port 80, backlog of port 81, backlog of port 7000" {
		t.Fatalf("knobs: %s", got)
	}
	if k := knobs[1]; k.Why != "net.core.somaxconn of the pod is 4096 and caps it" || !strings.Contains(chain(k), "kernel net.core.somaxconn=4096 (caps it)") {
		t.Errorf("why %q, chain %q", k.Why, chain(k))
	}
	if k := knobs[2]; k.Asked.Or(0) != 2 || k.InForce.Or(0) != 1 {
		t.Errorf("sockets: %+v", k)
	}
	if k := knobs[3]; k.Asked.Reason() != "no narrow view" || k.InForce.Or(0) != 128 {
		t.Errorf("backlog of port 81: %+v", k)
	}
	if k := knobs[4]; !strings.Contains(k.Asked.Reason(), "does not list this port") {
		t.Errorf("backlog of port 7000: %+v", k)
	}
	// Beside others, a port that nobody says is Envoy's is not.
	knobs = New().Knobs(beside(pod(official, "-c", "x"), corev1.Container{Name: "app"}), model.Known[int64](2), live)
	if got := names(knobs); strings.Contains(got, "7000") {
		t.Errorf("knobs: %s", got)
	}
}

func TestBacklogOfAnUnsetSize(t *testing.T) {
	for name, tt := range map[string]struct {
		version   string
		somaxconn model.Value[int64]
		inForce   int64
		asked     int64 // 0: unknown
		why       string
	}{
		"somaxconn":           {"1.40.0", model.Known[int64](4096), 4096, 4096, ""},
		"raised since":        {"1.40.0", model.Known[int64](4096), 128, 4096, "it is 4096 now and was 128 then"},
		"lowered since":       {"1.40.0", model.Known[int64](128), 4096, 128, "it is 128 now and was 4096 then"},
		"before 1.16":         {"1.15.3", model.Known[int64](4096), 128, 128, ""},
		"somaxconn not known": {"1.40.0", model.Unknown[int64]("no frame"), 4096, 0, ""},
	} {
		live := running(tt.version, 1)
		live.Counters.Somaxconn = tt.somaxconn
		live.Runtime.Configured = []model.ListenerSetting{{Port: 80, Unset: true, ReusePort: model.Known(true)}}
		live.Listeners = []model.Listener{on(80, tt.inForce, 1)}
		k := New().Knobs(pod(official), model.Known[int64](1), live)[1]
		if k.Asked.Or(0) != tt.asked || k.InForce.Or(0) != tt.inForce || !strings.Contains(k.Why, tt.why) || (k.Why == "") != (tt.why == "") {
			t.Errorf("%s: asked %+v, in force %+v, why %q", name, k.Asked, k.InForce, k.Why)
		}
	}
}

func TestPagesGoToTheirReader(t *testing.T) {
	a := New()
	paths := a.Pages(nil)
	if len(paths) != 5 || a.Seldom(paths[0]) || !a.Seldom(paths[1]) {
		t.Errorf("pages %q", paths)
	}
	r, _, err := a.ReadPages([][]byte{[]byte("server.concurrency: 2\nserver.uptime: 5\n"), nil, nil, nil, nil})
	if err != nil || r.Workers != model.Known[int64](2) {
		t.Errorf("workers %+v: %v", r.Workers, err)
	}
	if _, _, err := a.ReadPages(make([][]byte, 5)); err == nil {
		t.Error("no page at all was read")
	}
}

// FuzzKnobs feeds arguments and settings as a user may write them.
func FuzzKnobs(f *testing.F) {
	f.Add("envoyproxy/envoy:v1.40.0", "3", inline, "9901", "1500m", int64(4))
	f.Add("envoy:distroless-v1.x", "-1", `{"static_resources":{"listeners":[{"tcp_backlog_size":-1,"address":{"socket_address":{"port_value":1}}}]}}`, "x", "1e9999", int64(0))
	f.Add("a/envoy@sha256:", "$(A)", "{", "70000", "1Ei", int64(1)<<62)
	f.Fuzz(func(t *testing.T, image, concurrency, yaml, annotation, cpu string, node int64) {
		p := pod(image, "envoy", "--concurrency", concurrency, "--config-yaml", yaml)
		p.Annotations = map[string]string{AnnotationAdminPort: annotation}
		if q, err := resource.ParseQuantity(cpu); err == nil {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: q}
		}
		a := New()
		if e := a.Admin(p); e.Port == 0 && e.Why == "" || len(e.Why) > 2000 {
			t.Errorf("admin %+v", e)
		}
		a.Roles(p)
		rule, _, _ := a.WorkerRule(p)
		if n := rule.Workers(4); n < 1 || n > 4 {
			t.Errorf("%d workers of 4 CPUs", n)
		}
		for _, args := range [][]string{p.Spec.Containers[0].Args, {"envoy", "--config-yaml", yaml}} {
			p.Spec.Containers[0].Args = args
			live := running(image, 2)
			live.Listeners = []model.Listener{on(1, 128, 1), on(80, 128, 2)}
			for _, nodeCPUs := range []model.Value[int64]{model.Known(node), model.Unknown[int64]("not asked")} {
				for _, k := range a.Knobs(p, nodeCPUs, live) {
					n, ok := k.Asked.Get()
					if !ok && k.Asked.Reason() == "" || ok && n < 0 || ok && n < 1 && k.Name == "workers" {
						t.Errorf("%s: asked %d (known %v, %q)", k.Name, n, ok, k.Asked.Reason())
					}
					for _, o := range k.Chain {
						if utf8.RuneCountInString(o.Value) > shown+1 || len(o.Note) > 2000 {
							t.Errorf("%s: %s repeats %d bytes of value, %d of note", k.Name, o.Name, len(o.Value), len(o.Note))
						}
					}
				}
			}
		}
	})
}
