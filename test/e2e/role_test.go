package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What the program may do decides what it shows: with the least Role everything,
// and with less than that as much as there is, and a word about the rest.

// The rights that README names are enough for pods and for selectors, and get on
// its kind for a workload. Nodes are not among them.
func TestLeastRole(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	_, err := cluster.client.AppsV1().Deployments(e.ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "server"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}},
			Template: func() (p corev1.PodTemplateSpec) {
				pod := proxyPod("server", nil)
				p.Labels, p.Spec = pod.Labels, pod.Spec
				return p
			}(),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.running("server")
	u := e.user(t, "least", leastRights...)

	for _, args := range [][]string{{"server"}, {"-l", "app=server"}, {}} {
		p := u.getJSON(args...)["server"]
		if p.Collection.Stage != model.StageOK || p.Collection.Via != model.ViaProbe || len(p.Collection.Rights) > 0 {
			t.Errorf("%v: %+v", args, p.Collection)
		}
		if l := e.listener(p, 4143).Worst(); l.Limit != model.Known[int64](128) {
			t.Errorf("%v: inbound %+v", args, l)
		}
		if p.Runtime.Workers != model.Known[int64](2) || !p.Runtime.Window.Busy.IsKnown() {
			t.Errorf("%v: workers %+v, busy %+v", args, p.Runtime.Workers, p.Runtime.Window.Busy)
		}
		// Without nodes the CPUs are those that the app may run on, and that is said.
		i := slices.IndexFunc(p.Knobs, func(k model.Knob) bool { return k.Name == "workers" })
		if i < 0 || !p.Knobs[i].Asked.IsKnown() {
			t.Errorf("%v: what was asked for: %+v", args, p.Knobs)
		}
		if !slices.ContainsFunc(p.Notes, func(n string) bool {
			return strings.Contains(n, "Cpus_allowed_list") && strings.Contains(n, "nodes")
		}) {
			t.Errorf("%v: where the CPUs are from is not said: %q", args, p.Notes)
		}
	}
	// Optional rights are not asked for, as if they were needed.
	r := u.backlog("get", "server", "-o", "wide", "--window", "0")
	if r.code != 0 || printedRole(t, r.stderr) != nil || strings.Contains(r.stderr, "not allowed") {
		t.Errorf("code %d, stderr:\n%s", r.code, r.stderr)
	}
	if r := u.backlog("top", "server", "--count", "1"); r.code != 0 || !strings.Contains(r.stdout, "0/128") {
		t.Errorf("top: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	// A workload needs get on its kind: the refusal names it, and the Role that is
	// printed is enough.
	r = u.backlog("get", "deploy/server", "-o", "name")
	role := printedRole(t, r.stderr)
	if r.code != 1 || !strings.Contains(r.stderr, `cannot get resource "deployments"`) || role == nil {
		t.Fatalf("deploy/server without get on deployments: code %d\n%s", r.code, r.stderr)
	}
	if !grants(role.Rules, "get deployments.apps") || role.Namespace != e.ns {
		t.Errorf("the Role lacks get deployments.apps in %s: %+v", e.ns, role)
	}
	e.grant(t, "least", "more", role.Rules)
	e.eventually("deploy/server to lead to its pod", func() error {
		if r := u.backlog("get", "deploy/server", "-o", "name", "--window", "0"); r.code != 0 || !strings.Contains(r.stdout, "/server") {
			return errorf("code %d: %s", r.code, r.stderr)
		}
		return nil
	})
}

// Each right taken away in turn: what is refused is named as a Role names it,
// the Role is printed, and the next rung is used where there is one.
func TestEachRightTakenAway(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("fresh", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.create(proxyPod("probed", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.running("fresh", "probed")
	if r := e.backlog("get", "probed", "--window", "0"); r.code != 0 {
		t.Fatalf("starting a probe: %s", r.stderr)
	}
	two := model.Known[int64](2)
	noQueue := func(p item) bool {
		return p.Collection.Stage == model.StageFailed && p.Collection.Via == model.ViaMetrics && len(p.Listeners) == 0 && p.Runtime.Workers == two
	}
	queue := func(p item) bool { return p.Collection.Stage == model.StageOK && len(p.Listeners) == 3 }
	for _, tt := range []struct {
		taken []right
		pod   string
		by    []string // how the pod is asked for; its name when empty
		// told are the rights that stderr names; none means that nothing is missing.
		told []right
		code int
		// window is 0 when empty: then there is no busy ratio, and it takes a second.
		window string
		// shown says what is still there; nil: nothing is printed.
		shown func(item) bool
	}{
		{taken: []right{"get pods"}, pod: "probed", told: []right{"get pods"}, code: 1},
		{taken: []right{"list pods"}, pod: "probed", told: []right{"list pods"}, code: 1},
		{taken: []right{"list pods"}, pod: "probed", by: []string{"-l", "app=probed"}, told: []right{"list pods"}, code: 1},
		// Lists again every few seconds instead.
		{taken: []right{"watch pods"}, pod: "probed", told: []right{"watch pods"}, shown: queue},
		{taken: []right{"patch pods/ephemeralcontainers"}, pod: "fresh", told: []right{"patch pods/ephemeralcontainers"}, shown: noQueue},
		{taken: []right{"get pods/log"}, pod: "probed", told: []right{"get pods/log"}, shown: noQueue},
		// The workers are then those of the proxy's start-up line.
		{
			taken: []right{"create pods/portforward"}, pod: "probed", told: []right{"create pods/portforward"},
			shown: func(p item) bool { return queue(p) && p.Runtime.Workers == two && !p.Runtime.Window.Busy.IsKnown() },
		},
		{
			taken: []right{"get pods/portforward", "create pods/portforward"}, pod: "probed",
			told:  []right{"get pods/portforward", "create pods/portforward"},
			shown: func(p item) bool { return queue(p) && p.Runtime.Workers == two && !p.Runtime.Window.Busy.IsKnown() },
		},
		// SPDY does without get.
		{
			taken: []right{"get pods/portforward"}, pod: "probed", window: "1s",
			shown: func(p item) bool { return queue(p) && p.Runtime.Workers == two && p.Runtime.Window.Busy.IsKnown() },
		},
		// Neither a probe nor its metrics: nothing is left but the start-up line.
		{
			taken: []right{"patch pods/ephemeralcontainers", "create pods/portforward"}, pod: "fresh",
			told:  []right{"patch pods/ephemeralcontainers", "create pods/portforward"},
			shown: func(p item) bool { return len(p.Listeners) == 0 && p.Runtime.Workers == two },
		},
	} {
		name := strings.NewReplacer(" ", "-", "/", "-").Replace(string(tt.taken[0]))
		if len(tt.taken) > 1 {
			name += "-and-more"
		}
		if tt.by != nil {
			name += "-by-label"
		}
		t.Run(name, func(t *testing.T) {
			u := e.user(t, strings.ToLower(name), without(tt.taken...)...)
			by := tt.by
			if by == nil {
				by = []string{tt.pod}
			}
			r := u.backlog(append([]string{"get", "-o", "json", "--window", cmp.Or(tt.window, "0")}, by...)...)
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d", r.code, tt.code)
			}
			role := printedRole(t, r.stderr)
			if (role != nil) != (len(tt.told) > 0) {
				t.Fatalf("a Role was printed: %v, want %v", role != nil, len(tt.told) > 0)
			}
			for _, right := range tt.told {
				verb, resource, _ := strings.Cut(string(right), " ")
				named := strings.Contains(r.stderr, "not allowed to "+string(right)+" in namespace "+e.ns) ||
					strings.Contains(r.stderr, "and "+string(right)+" in namespace "+e.ns) ||
					strings.Contains(r.stderr, "cannot "+verb+` resource "`+resource+`"`)
				if resource == "pods/portforward" {
					named = strings.Contains(r.stderr, "not allowed to") && strings.Contains(r.stderr, verb) && strings.Contains(r.stderr, resource+" in namespace "+e.ns)
				}
				if !named {
					t.Errorf("stderr does not name %q in %s", right, e.ns)
				}
				if !grants(role.Rules, right) || role.Namespace != e.ns {
					t.Errorf("the Role does not grant %q in %s: %+v", right, e.ns, role)
				}
			}
			for _, rule := range roleRules(role) {
				for _, verb := range rule.Verbs {
					if !slices.Contains([]string{"get", "list", "watch", "create", "patch"}, verb) {
						t.Errorf("the Role has a verb %q", verb)
					}
				}
			}
			if tt.shown == nil {
				if r.stdout != "" {
					t.Errorf("stdout: %s", r.stdout)
				}
				return
			}
			if p := u.parse(r.stdout)[tt.pod]; !tt.shown(p) {
				t.Errorf("shown: %+v\nlisteners %+v\nruntime %+v", p.Collection, p.Listeners, p.Runtime)
			}
		})
	}
	if n := len(e.probes("fresh")); n != 0 {
		t.Errorf("%d probes in the pod to which none may be added", n)
	}

	// The Role that is printed to somebody with hardly any rights is enough for all.
	t.Run("the printed Role is enough", func(t *testing.T) {
		u := e.user(t, "nobody", "get pods", "list pods")
		role := printedRole(t, u.backlog("get", "fresh", "--window", "0").stderr)
		if role == nil {
			t.Fatal("no Role was printed")
		}
		e.grant(t, "nobody", "printed", role.Rules)
		e.eventually("the Role to hold", func() error {
			r := u.backlog("get", "fresh", "-o", "json")
			if p := u.parse(r.stdout)["fresh"]; r.code != 0 || !queue(p) || !p.Runtime.Window.Busy.IsKnown() || printedRole(t, r.stderr) != nil {
				return errorf("code %d: %s", r.code, r.stderr)
			}
			return nil
		})
	})
}

// A reader with rights to pods and their logs alone sees the probe that somebody
// else started, and one that is started while he looks.
func TestReaderOfOthersProbes(t *testing.T) {
	e := newEnv(t, nil)
	for _, name := range []string{"probed", "later"} {
		e.create(proxyPod(name, nil))
	}
	e.running("probed", "later")
	if r := e.backlog("get", "probed", "--window", "0"); r.code != 0 {
		t.Fatalf("starting a probe: %s", r.stderr)
	}
	reader := e.user(t, "reader", "get pods", "list pods", "watch pods", "get pods/log")
	p := reader.getJSON("probed")["probed"]
	if p.Collection.Stage != model.StageOK || e.listener(p, 4143).Worst().Limit != model.Known[int64](128) || p.Runtime.Workers != model.Known[int64](1) {
		t.Errorf("%+v, listeners %+v, workers %+v", p.Collection, p.Listeners, p.Runtime.Workers)
	}

	w := reader.start("get", "later", "-w", "-o", "json", "--window", "1s")
	w.shows("that no probe may be added", func(p item) bool { return p.Collection.Stage == model.StageFailed })
	if r := e.backlog("get", "later", "--window", "0"); r.code != 0 {
		t.Fatalf("starting a probe: %s", r.stderr)
	}
	w.shows("the other's probe", func(p item) bool {
		return p.Collection.Stage == model.StageOK && p.Collection.Via == model.ViaProbe && p.Collection.Probe == "backlog-probe-1"
	})
	w.interrupt()
	if n := len(e.probes("later")); n != 1 {
		t.Errorf("%d probes, want the one that was started", n)
	}
}
