package target

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const shopNamespace = `
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  annotations: {config.linkerd.io/proxy-cpu-limit: "2", secret.example.com/token: hush}
`

// deploymentOf is a Deployment at a revision, with one of our annotations and one that
// is nobody's business.
func deploymentOf(revision, limit, rest string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: server
  generation: 7
  annotations: {deployment.kubernetes.io/revision: %q}
%s
spec:
  replicas: 3
  selector: {matchLabels: {app: server}}
  strategy: {type: RollingUpdate}
  template:
    metadata:
      annotations: {config.linkerd.io/proxy-cpu-limit: %q, secret.example.com/token: hush, linkerd.io/inject: enabled}
status: {observedGeneration: 7}
`, revision, rest, limit)
}

func replicaSetOf(name, revision string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %s, annotations: {deployment.kubernetes.io/revision: %q}}
`, name, revision)
}

// ofDeployment is a pod of the ReplicaSet server-HASH.
func ofDeployment(hash string, annotations map[string]string) *corev1.Pod {
	p := ownedBy("ReplicaSet", "server-"+hash)
	p.Labels, p.Annotations = map[string]string{"pod-template-hash": hash}, annotations
	return p
}

func ownedBy(kind, name string) *corev1.Pod {
	yes := true
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "a", OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}},
	}}
}

func manifestsOf(t *testing.T, s *apiServer) (*Manifests, *clock) {
	t.Helper()
	at := &clock{now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	return NewManifests(ManifestsOptions{
		Client: s.client(t), Prefixes: []string{"config.linkerd.io/", "linkerd.io/inject"}, Now: at.Now,
	}), at
}

// gets counts the requests for a resource; no other verb than get is ever used.
func gets(t *testing.T, s *apiServer, resource string) int {
	t.Helper()
	n := 0
	for _, r := range s.asked() {
		verb, rest, _ := strings.Cut(r, " ")
		if verb != "get" {
			t.Errorf("asked to %s", r)
		}
		if strings.HasPrefix(rest, resource+" ") {
			n++
		}
	}
	return n
}

// What is read of a Deployment and a namespace: the annotations that an adapter
// named and no others, and how the workload replaces pods.
func TestManifestOfDeployment(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""), replicaSetOf("server-old", "4"), replicaSetOf("server-new", "5"))
	manifests, _ := manifestsOf(t, s)
	m := manifests.Of(t.Context(), ofDeployment("old", map[string]string{"config.linkerd.io/proxy-cpu-limit": "2"}))
	template, _ := m.Template.Get()
	if len(template) != 2 || template["config.linkerd.io/proxy-cpu-limit"] != "4" || template["linkerd.io/inject"] != "enabled" {
		t.Errorf("template %v", template)
	}
	if namespace, _ := m.Namespace.Get(); len(namespace) != 1 || namespace["config.linkerd.io/proxy-cpu-limit"] != "2" {
		t.Errorf("namespace %v", namespace)
	}
	if m.Strategy != "RollingUpdate" || m.Replicas.Or(0) != 3 || m.Selector["app"] != "server" || m.Paused || m.Manager != (model.Manager{}) {
		t.Errorf("manifest %+v", m)
	}
	if !m.Outdated.Or(false) {
		t.Errorf("a pod of revision 4 under a Deployment at 5 is not outdated: %+v", m.Outdated)
	}
	m = manifests.Of(t.Context(), ofDeployment("new", nil))
	if m.Outdated.Or(true) {
		t.Errorf("a pod of the newest revision is outdated: %+v", m.Outdated)
	}
	// Where the pod carries what the template has, its revision decides nothing.
	before := gets(t, s, "replicasets")
	m = manifests.Of(t.Context(), ofDeployment("other", map[string]string{"config.linkerd.io/proxy-cpu-limit": "4", "linkerd.io/inject": "enabled"}))
	if m.Outdated.IsKnown() || gets(t, s, "replicasets") != before {
		t.Errorf("outdated %+v after %d requests", m.Outdated, gets(t, s, "replicasets")-before)
	}
}

// TestManifestKinds goes through the other workloads.
func TestManifestKinds(t *testing.T) {
	template := `template: {metadata: {annotations: {config.linkerd.io/proxy-cpu-limit: "4"}}}`
	revised := func(p *corev1.Pod, label, value string) *corev1.Pod {
		p.Labels = map[string]string{label: value}
		return p
	}
	cron := ownedBy("Job", "nightly-29100000")
	cron.CreationTimestamp = metav1.NewTime(time.Unix(29100000*60, 0))
	for _, tt := range []struct {
		name, object string
		pod          *corev1.Pod
		strategy     string
		replicas     int64 // 0: unknown
		outdated     string
	}{
		{
			"StatefulSet", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, generation: 2}\nspec: {updateStrategy: {type: OnDelete}, " + template +
				"}\nstatus: {observedGeneration: 2, updateRevision: db-2}",
			revised(ownedBy("StatefulSet", "db"), "controller-revision-hash", "db-1"), "OnDelete", 1, "true",
		},
		{
			"StatefulSet whose change was not seen yet", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, generation: 3}\nspec: {replicas: 2, updateStrategy: {type: RollingUpdate}, " +
				template + "}\nstatus: {observedGeneration: 2, updateRevision: db-2}",
			revised(ownedBy("StatefulSet", "db"), "controller-revision-hash", "db-2"), "RollingUpdate", 2, "?",
		},
		{
			"DaemonSet", "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, annotations: {deprecated.daemonset.template.generation: \"2\"}}\nspec: {updateStrategy: {type: OnDelete}, " + template + "}",
			revised(ownedBy("DaemonSet", "agent"), "pod-template-generation", "2"), "OnDelete", 0, "false",
		},
		{
			"ReplicaSet", "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: bare}\nspec: {replicas: 4, " + template + "}",
			ownedBy("ReplicaSet", "bare"), "OnDelete", 4, "?",
		},
		{
			"Job", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {" + template + "}",
			ownedBy("Job", "once"), "", 0, "?",
		},
		{
			"CronJob", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {jobTemplate: {spec: {" + template + "}}}",
			cron, "", 0, "?",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t, shopNamespace, tt.object)
			manifests, _ := manifestsOf(t, s)
			m := manifests.Of(t.Context(), tt.pod)
			if template, ok := m.Template.Get(); !ok || template["config.linkerd.io/proxy-cpu-limit"] != "4" {
				t.Errorf("template %v, reason %q", template, m.Template.Reason())
			}
			if m.Strategy != tt.strategy || m.Replicas.Or(0) != tt.replicas {
				t.Errorf("strategy %q, replicas %d; want %q, %d", m.Strategy, m.Replicas.Or(0), tt.strategy, tt.replicas)
			}
			outdated := "?"
			if v, ok := m.Outdated.Get(); ok {
				outdated = fmt.Sprint(v)
			}
			if outdated != tt.outdated {
				t.Errorf("outdated %s, want %s", outdated, tt.outdated)
			}
		})
	}
}

// A Deployment that is paused has not made the revision of its template yet.
func TestManifestOfPausedDeployment(t *testing.T) {
	s := newAPIServer(t, shopNamespace, strings.Replace(deploymentOf("5", "4", ""), "spec:\n", "spec:\n  paused: true\n", 1), replicaSetOf("server-new", "5"))
	manifests, _ := manifestsOf(t, s)
	if m := manifests.Of(t.Context(), ofDeployment("new", nil)); !m.Paused || m.Outdated.IsKnown() {
		t.Errorf("paused %v, outdated %+v", m.Paused, m.Outdated)
	}
}

func TestManifestManager(t *testing.T) {
	for _, tt := range []struct {
		name, rest string
		want       model.Manager
	}{
		{"nobody", "", model.Manager{}},
		{
			"Helm", "  labels: {app.kubernetes.io/managed-by: Helm}\n", model.Manager{},
		},
		{"Argo CD by label", "  labels: {argocd.argoproj.io/instance: checkout}\n", model.Manager{Tool: "Argo CD", Name: "checkout"}},
		{"Flux's kustomization", "  labels: {kustomize.toolkit.fluxcd.io/name: apps}\n", model.Manager{Tool: "Flux", Name: "apps"}},
		{
			"Helm by Flux", "  labels: {app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: checkout}\n",
			model.Manager{Tool: "Flux", Name: "checkout"},
		},
	} {
		s := newAPIServer(t, shopNamespace, deploymentOf("1", "4", tt.rest))
		manifests, _ := manifestsOf(t, s)
		if m := manifests.Of(t.Context(), ofDeployment("a", nil)); m.Manager != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, m.Manager, tt.want)
		}
	}
	// Those that tell it by annotation.
	for _, tt := range []struct {
		name                string
		labels, annotations map[string]string
		want                model.Manager
	}{
		{
			"Helm",
			map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			map[string]string{"meta.helm.sh/release-name": "checkout"},
			model.Manager{Tool: "Helm", Name: "checkout"},
		},
		{
			"Argo CD by tracking", nil,
			map[string]string{"argocd.argoproj.io/tracking-id": "checkout:apps/Deployment:shop/server"},
			model.Manager{Tool: "Argo CD", Name: "checkout"},
		},
		{
			"a name without end", nil,
			map[string]string{"argocd.argoproj.io/tracking-id": strings.Repeat("x", 1000)},
			model.Manager{Tool: "Argo CD", Name: strings.Repeat("x", 253)},
		},
	} {
		if got := managerOf(metav1.ObjectMeta{Labels: tt.labels, Annotations: tt.annotations}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A hundred pods of one workload are one request, however many ask at once, and
// half a minute later there is one more.
func TestManifestIsReadOnce(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""), replicaSetOf("server-a", "5"))
	manifests, at := manifestsOf(t, s)
	all := func() {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { manifests.Of(t.Context(), ofDeployment("a", nil)) })
		}
		wg.Wait()
	}
	all()
	for _, resource := range []string{"deployments", "replicasets", "namespaces"} {
		if n := gets(t, s, resource); n != 1 {
			t.Errorf("%d requests for %s", n, resource)
		}
	}
	s.put(t, deploymentOf("6", "8", ""))
	at.pass(manifestKept - time.Second)
	all()
	if n := gets(t, s, "deployments"); n != 1 {
		t.Errorf("%d requests within half a minute", n)
	}
	at.pass(2 * time.Second)
	all()
	if n := gets(t, s, "deployments"); n != 2 {
		t.Errorf("%d requests after half a minute", n)
	}
	m := manifests.Of(t.Context(), ofDeployment("a", nil))
	if template, _ := m.Template.Get(); template["config.linkerd.io/proxy-cpu-limit"] != "8" {
		t.Errorf("the change is not seen: %v", template)
	}
}

// Whoever may not read gets the reason, and the API server is not asked again
// and again.
func TestManifestForbidden(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""))
	s.refuse("get", "deployments", 403)
	s.refuse("get", "namespaces", 403)
	manifests, at := manifestsOf(t, s)
	for range 5 {
		m := manifests.Of(t.Context(), ofDeployment("a", nil))
		if why := m.Template.Reason(); m.Template.IsKnown() || !strings.Contains(why, `cannot get resource "deployments" in API group "apps" in the namespace "shop"`) {
			t.Errorf("template: known %v, reason %q", m.Template.IsKnown(), why)
		}
		if why := m.Namespace.Reason(); m.Namespace.IsKnown() || !strings.Contains(why, `cannot get resource "namespaces"`) {
			t.Errorf("namespace: known %v, reason %q", m.Namespace.IsKnown(), why)
		}
		if m.Replicas.IsKnown() || m.Replicas.Reason() == "" || m.Outdated.IsKnown() || m.Strategy != "" {
			t.Errorf("manifest %+v", m)
		}
		at.pass(time.Minute)
	}
	if n := gets(t, s, "deployments"); n != 1 {
		t.Errorf("%d requests within five minutes of a refusal", n)
	}
	at.pass(refusalKept)
	s.refuse("get", "deployments", 0)
	if m := manifests.Of(t.Context(), ofDeployment("a", nil)); !m.Template.IsKnown() {
		t.Errorf("granted later, and not read: %s", m.Template.Reason())
	}
}

// One of the two may be readable. Which ReplicaSet it was may not be, and costs
// nothing else.
func TestManifestPartlyForbidden(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""))
	s.refuse("get", "replicasets", 403)
	manifests, _ := manifestsOf(t, s)
	m := manifests.Of(t.Context(), ofDeployment("a", nil))
	if !m.Template.IsKnown() || !m.Namespace.IsKnown() {
		t.Errorf("template: %q, namespace: %q", m.Template.Reason(), m.Namespace.Reason())
	}
	if m.Outdated.IsKnown() || !strings.Contains(m.Outdated.Reason(), "replicasets") {
		t.Errorf("outdated: %+v", m.Outdated)
	}
	s.refuse("get", "deployments", 403)
	manifests, _ = manifestsOf(t, s)
	if m = manifests.Of(t.Context(), ofDeployment("a", nil)); m.Template.IsKnown() || !m.Namespace.IsKnown() {
		t.Errorf("template known %v, namespace: %q", m.Template.IsKnown(), m.Namespace.Reason())
	}
}

// An API server that is away for a while is no news of a manifest.
func TestManifestStandsThroughAnOutage(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""))
	manifests, at := manifestsOf(t, s)
	read := func() model.Manifest { return manifests.Of(t.Context(), ofDeployment("a", nil)) }
	read()
	s.refuse("get", "deployments", 500)
	for range 9 {
		at.pass(manifestKept + time.Second)
		if m := read(); !m.Template.IsKnown() {
			t.Fatalf("forgotten within %s: %s", manifestStands, m.Template.Reason())
		}
	}
	at.pass(manifestKept + time.Second)
	if m := read(); m.Template.IsKnown() {
		t.Errorf("still known after more than %s", manifestStands)
	}
	// A workload that was deleted is news.
	s.refuse("get", "deployments", 0)
	at.pass(manifestKept + time.Second)
	if m := read(); !m.Template.IsKnown() {
		t.Errorf("not read again: %s", m.Template.Reason())
	}
	s.refuse("get", "deployments", 404)
	at.pass(manifestKept + time.Second)
	if m := read(); m.Template.IsKnown() || !strings.Contains(m.Template.Reason(), "not found") {
		t.Errorf("known %v, reason %q", m.Template.IsKnown(), m.Template.Reason())
	}
}

func TestManifestOfNobody(t *testing.T) {
	s := newAPIServer(t, shopNamespace)
	manifests, _ := manifestsOf(t, s)
	m := manifests.Of(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bare"}})
	if m.Template.Reason() != "no workload owns the pod" || !m.Namespace.IsKnown() {
		t.Errorf("template %q, namespace %q", m.Template.Reason(), m.Namespace.Reason())
	}
	m = manifests.Of(t.Context(), ownedBy("Fleet", "x"))
	if m.Template.Reason() != "the template of a Fleet is not read" {
		t.Errorf("template %q", m.Template.Reason())
	}
	if n := len(s.asked()); n != 1 {
		t.Errorf("%d requests, want that for the namespace alone: %q", n, s.asked())
	}
}

// A list of which a part was cut off must not pass for the whole.
func TestManifestBoundsAnnotations(t *testing.T) {
	manifests := NewManifests(ManifestsOptions{Prefixes: []string{"config."}})
	long := map[string]string{"config.a": strings.Repeat("x", maxAnnotations), "other": "y"}
	if v := manifests.annotations(long); v.IsKnown() || !strings.Contains(v.Reason(), "64 KiB") {
		t.Errorf("known %v, reason %q", v.IsKnown(), v.Reason())
	}
	long = map[string]string{"config.a": "x", "other": strings.Repeat("x", maxAnnotations)}
	if v, _ := manifests.annotations(long).Get(); len(v) != 1 {
		t.Errorf("annotations %v", v)
	}
}

// Whoever asked first may go before the answer comes; the others get theirs.
func TestManifestOutlivesWhoAsked(t *testing.T) {
	s := newAPIServer(t, shopNamespace, deploymentOf("5", "4", ""))
	manifests, _ := manifestsOf(t, s)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if m := manifests.Of(gone, ofDeployment("a", nil)); m.Template.IsKnown() {
		t.Error("an answer without asking")
	}
	if m := manifests.Of(t.Context(), ofDeployment("a", nil)); !m.Template.IsKnown() {
		t.Errorf("not read: %s", m.Template.Reason())
	}
}
