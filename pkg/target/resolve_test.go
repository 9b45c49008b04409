package target

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// pod is a running pod of namespace shop with these labels ("app=web,tier=x").
func pod(name, labels string) string { return podIn("shop", name, labels, "Running") }

func podIn(namespace, name, labels, phase string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{kind: Pod, apiVersion: v1, metadata: {name: %s, namespace: %s, labels: {", name, namespace)
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			fmt.Fprintf(&b, "%s: %q, ", key, value)
		}
	}
	fmt.Fprintf(&b, "}}, spec: {containers: [{name: app}]}, status: {phase: %s}}", phase)
	return b.String()
}

const workloads = `
{kind: Deployment, apiVersion: apps/v1, metadata: {name: server}, spec: {replicas: 2, selector: {matchLabels: {app: server}}}}
---
{kind: Deployment, apiVersion: apps/v1, metadata: {name: asleep}, spec: {replicas: 0, selector: {matchLabels: {app: asleep}}}}
---
{kind: Deployment, apiVersion: apps/v1, metadata: {name: stuck}, spec: {replicas: 3, selector: {matchLabels: {app: stuck}}}}
---
{kind: ReplicaSet, apiVersion: apps/v1, metadata: {name: server-1}, spec: {selector: {matchLabels: {app: server, pod-template-hash: "1"}}}}
---
{kind: StatefulSet, apiVersion: apps/v1, metadata: {name: db}, spec: {selector: {matchExpressions: [{key: app, operator: In, values: [db]}]}}}
---
{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}}}
---
{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: nowhere}, spec: {selector: {matchLabels: {app: nowhere}}}, status: {desiredNumberScheduled: 0}}
---
{kind: ReplicationController, apiVersion: v1, metadata: {name: old}, spec: {selector: {app: old}}}
---
{kind: Service, apiVersion: v1, metadata: {name: web}, spec: {selector: {tier: front}}}
---
{kind: Service, apiVersion: v1, metadata: {name: external}, spec: {externalName: example.com}}
---
{kind: Service, apiVersion: v1, metadata: {name: unserved}, spec: {selector: {app: nobody}}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: import}, spec: {selector: {matchLabels: {controller-uid: u1}}}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: done}, spec: {selector: {matchLabels: {controller-uid: u2}}}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: waiting}, spec: {suspend: true, selector: {matchLabels: {controller-uid: u3}}}}
---
{kind: CronJob, apiVersion: batch/v1, metadata: {name: nightly, uid: nightly-uid}}
---
{kind: CronJob, apiVersion: batch/v1, metadata: {name: yearly, uid: yearly-uid}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: by-hand, ownerReferences: [{kind: CronJob, name: nightly, uid: nightly-uid, controller: true}]}}
---
{kind: Job, apiVersion: batch/v1, metadata: {name: nightly-1}}
---
{kind: Rollout, apiVersion: argoproj.io/v1alpha1, metadata: {name: canary}, spec: {selector: {matchLabels: {app: canary}}}}
---
{kind: Fleet, apiVersion: example.com/v1, metadata: {name: games}, spec: {size: 2}}
---
{kind: Widget, apiVersion: example.com/v1, metadata: {name: gadget}, spec: {selector: {}}}
---
{kind: ConfigMap, apiVersion: v1, metadata: {name: settings}}
---
{kind: Node, apiVersion: v1, metadata: {name: node1}}
`

// aShop is a namespace with something of every kind.
func aShop(t *testing.T) *apiServer {
	t.Helper()
	s := newAPIServer(
		t, workloads,
		pod("server-1-a", "app=server,pod-template-hash=1,tier=front"), pod("server-2-b", "app=server,pod-template-hash=2"),
		pod("db-0", "app=db"), pod("agent-x", "app=agent"), pod("old-1", "app=old"),
		pod("import-abc", "controller-uid=u1,job-name=import"), podIn("shop", "done-abc", "controller-uid=u2,job-name=done", "Succeeded"),
		pod("by-hand-abc", "job-name=by-hand"), pod("nightly-1-abc", "job-name=nightly-1"), pod("nightly-29412345-abc", "job-name=nightly-29412345"),
		pod("canary-a", "app=canary"), pod("games-a", "fleet=games"),
		podIn("other", "server-1-a", "app=server", "Running"),
	)
	// A kind without .spec.selector tells its pods by its scale subresource.
	s.mu.Lock()
	s.objects["fleets/scale/shop/games"] = scale("fleet=games")
	s.mu.Unlock()
	return s
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"deploy/server", "server-1-a server-2-b"},
		{"deployment/server", "server-1-a server-2-b"},
		{"deployments.apps/server", "server-1-a server-2-b"},
		{"deployments.v1.apps/server", "server-1-a server-2-b"},
		{"rs/server-1", "server-1-a"},
		{"sts/db", "db-0"},
		{"ds/agent", "agent-x"},
		{"rc/old", "old-1"},
		{"svc/web", "server-1-a"},
		{"job/import", "import-abc"},
		{"cj/nightly", "by-hand-abc nightly-29412345-abc"}, // not nightly-1: that Job is nobody's
		{"rollout/canary", "canary-a"},
		{"fleet/games", "games-a"},
		{"pod/db-0", "db-0"},
		{"db-0", "db-0"},
		{"db-0 agent-x", "agent-x db-0"},
		{"db-0 db-0 po/db-0", "db-0"},
		{"deploy/server svc/web db-0", "db-0 server-1-a server-2-b"}, // each pod once
		{"pods db-0 agent-x", "agent-x db-0"},
		{"deploy server", "server-1-a server-2-b"},
		{"deploy,svc server", "server-1-a server-2-b"}, // there is no svc/server, the rest is shown
	} {
		t.Run(tt.args, func(t *testing.T) {
			s := aShop(t)
			selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: strings.Fields(tt.args)})
			if err != nil {
				t.Fatal(err)
			}
			w := start(t, s, selection)
			if got := names(w.Pods()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, tt := range []struct {
		args  string
		query Query
		want  string
	}{
		{args: "foo/bar", want: `the server doesn't have a resource type "foo"`},
		{args: "nope", want: `pods "nope" not found`},
		{args: "deploy/nope", want: `deployments.apps "nope" not found`},
		{args: "nope-1 nope-2", want: `pods "nope-1" not found; pods "nope-2" not found`},
		{args: "a/b/c", want: "arguments in resource/name form may not have more than one slash"},
		{args: "deploy/", want: "arguments in resource/name form must have a single resource and name"},
		{args: "cm/settings", want: "configmap/settings does not select pods"},
		{args: "widget/gadget", want: "widget/gadget does not select pods"},
		{args: "no/node1", want: "node/node1 does not select pods (for the pods on it: --all-namespaces --field-selector spec.nodeName=node1)"},
		{args: "svc/external", want: "service/external has no selector, so no pods can be told from it (its endpoints are set by hand)"},
		{args: "db-0", query: Query{AllNamespaces: true}, want: "a resource cannot be retrieved by name across all namespaces"},
		{args: "db-0", query: Query{LabelSelector: "app=db"}, want: "name cannot be provided when a selector is specified"},
		{query: Query{LabelSelector: "app in"}, want: `label selector "app in": unable to parse requirement: found '' expected: '('`},
		{query: Query{FieldSelector: "phase"}, want: `field selector "phase": invalid selector: 'phase'; can't understand 'phase'`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := aShop(t)
			tt.query.Namespace, tt.query.Args = "shop", strings.Fields(tt.args)
			_, err := Resolve(t.Context(), s.getter(t), tt.query)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %v", err, tt.want)
			}
		})
	}
}

func TestResolveForbidden(t *testing.T) {
	s := aShop(t)
	s.refuse("get", "deployments", 403)
	_, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: []string{"deploy/server"}})
	want := `deployments.apps "server" is forbidden: User "dev" cannot get resource "deployments" in API group "apps" in the namespace "shop"`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// quiet fails the test when something is written to stderr: client-go logs there,
// and would write over the screen.
func quiet(t *testing.T) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	t.Cleanup(func() {
		os.Stderr = before
		_ = file.Close()
		if text, err := os.ReadFile(file.Name()); err != nil || len(text) > 0 {
			t.Errorf("on stderr: %s %v", text, err)
		}
	})
}

func TestResolveUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	_ = listener.Close()
	quiet(t)
	_, err = Resolve(t.Context(), flagsFor(t, url), Query{Namespace: "shop", Args: []string{"deploy/server"}})
	if want := "connecting to " + url + ": connection refused"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

// What is missing beside what is there is a note, not an end.
func TestProblems(t *testing.T) {
	s := aShop(t)
	args := []string{"db-0", "nope", "deploy/asleep", "cm/settings"}
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, s, selection)
	if got := names(w.Pods()); got != "db-0" {
		t.Errorf("pods: %q", got)
	}
	want := `pods "nope" not found
configmap/settings does not select pods
deployment/asleep has no pods (0 replicas)`
	if got := errors.Join(w.Problems()...); got == nil || got.Error() != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestNoPods(t *testing.T) {
	for _, tt := range []struct {
		query    Query
		want     string
		listing  bool
		finished int
	}{
		{query: Query{Namespace: "empty"}, want: "No resources found in empty namespace.", listing: true},
		{query: Query{Namespace: "shop", LabelSelector: "app=nobody"}, want: "No resources found in shop namespace.", listing: true},
		{query: Query{AllNamespaces: true, LabelSelector: "app=nobody"}, want: "No resources found", listing: true},
		{query: Query{Namespace: "shop", LabelSelector: "job-name=done"}, want: "No running pods in shop namespace (1 finished)", listing: true, finished: 1},
		{query: Query{Namespace: "shop", Args: []string{"deploy/asleep"}}, want: "deployment/asleep has no pods (0 replicas)"},
		{query: Query{Namespace: "shop", Args: []string{"deploy/asleep", "cj/yearly"}}, want: "deployment/asleep has no pods (0 replicas); cronjob/yearly has no pods (no job of it runs)"},
		{query: Query{Namespace: "shop", Args: []string{"deploy/stuck"}}, want: "deployment/stuck has no pods (3 replicas wanted)"},
		{query: Query{Namespace: "shop", Args: []string{"ds/nowhere"}}, want: "daemonset/nowhere has no pods (0 nodes want one)"},
		{query: Query{Namespace: "shop", Args: []string{"svc/unserved"}}, want: "service/unserved has no pods (no pod has app=nobody)"},
		{query: Query{Namespace: "shop", Args: []string{"job/done"}}, want: "job/done has no running pods (1 finished)", finished: 1},
		{query: Query{Namespace: "shop", Args: []string{"job/waiting"}}, want: "job/waiting has no pods (it is suspended)"},
		{query: Query{Namespace: "shop", Args: []string{"cj/yearly"}}, want: "cronjob/yearly has no pods (no job of it runs)"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			s := aShop(t)
			selection, err := Resolve(t.Context(), s.getter(t), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			_, err = selection.Start(t.Context(), s.client(t))
			var none *NoPodsError
			if !errors.As(err, &none) {
				t.Fatalf("got %v, want a *NoPodsError", err)
			}
			if err.Error() != tt.want || none.Listing != tt.listing || none.Finished != tt.finished {
				t.Errorf("got %q %+v", err, *none)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	meshed := func(p *corev1.Pod) bool { return strings.HasPrefix(p.Name, "server-") }
	never := func(*corev1.Pod) bool { return false }
	all := "agent-x by-hand-abc canary-a db-0 games-a import-abc nightly-1-abc nightly-29412345-abc old-1 server-1-a server-2-b"
	for _, tt := range []struct {
		name     string
		query    Query
		want     string
		unmeshed int
	}{
		{"the meshed pods", Query{Namespace: "shop", Meshed: meshed}, "server-1-a server-2-b", 9},
		{"all when none is meshed", Query{Namespace: "shop", Meshed: never}, all, 0},
		{"all when nobody tells", Query{Namespace: "shop"}, all, 0},
		{"the type alone is no argument", Query{Namespace: "shop", Args: []string{"pods"}, Meshed: meshed}, "server-1-a server-2-b", 9},
		{"a label, meshed or not", Query{Namespace: "shop", LabelSelector: "app in (db,server)", Meshed: meshed}, "db-0 server-1-a server-2-b", 0},
		{"a field, meshed or not", Query{Namespace: "shop", FieldSelector: "metadata.name=db-0", Meshed: meshed}, "db-0", 0},
		{"both", Query{Namespace: "shop", LabelSelector: "app=server", FieldSelector: "metadata.name!=server-2-b"}, "server-1-a", 0},
		{"everywhere", Query{AllNamespaces: true, Namespace: "shop", LabelSelector: "app=server"}, "server-1-a server-1-a server-2-b", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := aShop(t)
			selection, err := Resolve(t.Context(), s.getter(t), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			w := start(t, s, selection)
			if got := names(w.Pods()); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if w.Unmeshed() != tt.unmeshed {
				t.Errorf("%d left out as unmeshed, want %d", w.Unmeshed(), tt.unmeshed)
			}
		})
	}
}

// Without arguments nothing is asked before the list: no discovery, and no
// permission but list and watch on pods.
func TestListingAsksForPodsOnly(t *testing.T) {
	s := aShop(t)
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	start(t, s, selection)
	for _, request := range s.asked() {
		if !strings.HasPrefix(request, "list pods") && !strings.HasPrefix(request, "watch pods") {
			t.Errorf("asked for %q", request)
		}
		if strings.HasPrefix(request, "list pods") && strings.Contains(request, "resourceVersion=0") {
			t.Errorf("%q may be answered from a cache that is behind", request)
		}
	}
}

// Bare names are not taken for a type first: not finding one would ask for all
// types of the cluster again, though an earlier run had left them on disk.
func TestBareNamesAskForTypesOnce(t *testing.T) {
	s, dir := aShop(t), t.TempDir()
	for range 2 {
		if _, err := Resolve(t.Context(), flagsIn(t, dir, s.URL), Query{Namespace: "shop", Args: []string{"db-0", "agent-x"}}); err != nil {
			t.Fatal(err)
		}
	}
	asked := slices.DeleteFunc(s.asked(), func(r string) bool { return r != "discovery" })
	if len(asked) != 1 {
		t.Errorf("the types were asked for %d times", len(asked))
	}
}

// A pod asked for by name is watched alone, and a few of them each alone; many
// share one watch.
func TestNamesAreWatchedAlone(t *testing.T) {
	lists := func(n int) []string {
		s := newAPIServer(t)
		var args []string
		for i := range n {
			args = append(args, fmt.Sprintf("pod-%02d", i))
			s.put(t, pod(args[i], ""))
		}
		s.put(t, pod("pod-xx", ""))
		selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		w := start(t, s, selection)
		if got := names(w.Pods()); got != strings.Join(args, " ") {
			t.Errorf("pods: %q", got)
		}
		return slices.DeleteFunc(s.asked(), func(r string) bool { return !strings.HasPrefix(r, "list pods") })
	}
	if got := lists(2); len(got) != 2 || !strings.Contains(got[0], "fieldSelector=metadata.name%3Dpod-0") {
		t.Errorf("two names: %q", got)
	}
	if got := lists(11); len(got) != 1 || strings.Contains(got[0], "fieldSelector") {
		t.Errorf("eleven names: %q", got)
	}
}
