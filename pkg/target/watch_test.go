package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func scale(selector string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Scale", "apiVersion": "autoscaling/v1", "status": map[string]any{"selector": selector},
	}}
}

// start starts the selection for as long as the test runs.
func start(t *testing.T, s *apiServer, selection *Selection) *Watch {
	t.Helper()
	w, err := selection.Start(t.Context(), s.client(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// watchAll watches namespace shop of a server with these pods.
func watchAll(t *testing.T, pods ...string) (*apiServer, *Watch) {
	t.Helper()
	s := newAPIServer(t, pods...)
	return s, watching(t, s, Query{Namespace: "shop", AllowEmpty: true})
}

func watching(t *testing.T, s *apiServer, q Query) *Watch {
	t.Helper()
	selection, err := Resolve(t.Context(), s.getter(t), q)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, s, selection)
}

func names(pods []*corev1.Pod) string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return strings.Join(all, " ")
}

// until waits for a condition, which only Changed may announce.
func until(t *testing.T, w *Watch, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute) // only a test that fails waits for it
	defer limit.Stop()
	for !holds() {
		select {
		case <-w.Changed():
		case <-limit.C:
			t.Fatalf("never seen: %s; pods %q, gone %q, error %v", what, names(w.Pods()), names(w.Gone()), w.Err())
		}
	}
}

func podsAre(w *Watch, want string) func() bool {
	return func() bool { return names(w.Pods()) == want }
}

func TestWatchFollows(t *testing.T) {
	s, w := watchAll(t, pod("a", ""), pod("b", ""))
	if got := names(w.Pods()); got != "a b" {
		t.Fatalf("at the start: %q", got)
	}
	s.put(t, pod("c", ""))
	until(t, w, "a pod that was made", podsAre(w, "a b c"))
	s.deletePod("shop", "b")
	until(t, w, "a pod that was deleted", podsAre(w, "a c"))
	if got := names(w.Gone()); got != "b" {
		t.Errorf("gone: %q", got)
	}
	s.put(t, strings.Replace(pod("a", ""), "Running", "Pending", 1))
	until(t, w, "a pod that changed", func() bool { return w.Pods()[0].Status.Phase == corev1.PodPending })
	if got := names(w.Gone()); got != "b" {
		t.Errorf("a change is no end, gone: %q", got)
	}
}

func TestFinishedPodIsGone(t *testing.T) {
	s, w := watchAll(t, pod("a", ""), pod("b", ""), podIn("shop", "before", "", "Failed"))
	s.put(t, podIn("shop", "b", "", "Succeeded"))
	until(t, w, "b has finished", podsAre(w, "a"))
	if gone := w.Gone(); names(gone) != "b" || gone[0].Status.Phase != corev1.PodSucceeded {
		t.Errorf("gone: %q; the last state is wanted, and not what had ended before", names(gone))
	}
	s.deletePod("shop", "b")
	s.deletePod("shop", "before")
	s.put(t, pod("c", ""))
	until(t, w, "c", podsAre(w, "a c"))
	if got := names(w.Gone()); got != "b" {
		t.Errorf("gone: %q, want b once", got)
	}
}

// A pod asked for by name is shown though it has finished, so that the caller
// can say so; one that finishes later is gone as any other.
func TestFinishedPodByName(t *testing.T) {
	s := newAPIServer(t, podIn("shop", "ended", "", "Succeeded"), pod("runs", ""))
	w := watching(t, s, Query{Namespace: "shop", Args: []string{"ended", "runs"}})
	if got := names(w.Pods()); got != "ended runs" {
		t.Fatalf("at the start: %q", got)
	}
	s.put(t, podIn("shop", "runs", "", "Failed"))
	until(t, w, "runs has failed", podsAre(w, "ended"))
	problems := w.Problems()
	if len(problems) != 1 || problems[0].Error() != "pod/runs has finished" {
		t.Errorf("problems: %v", problems)
	}
	s.deletePod("shop", "ended")
	until(t, w, "ended is deleted", podsAre(w, ""))
	if got := names(w.Gone()); got != "runs ended" {
		t.Errorf("gone: %q", got)
	}
}

// A StatefulSet makes its pods anew under the same name.
func TestSameNameAnotherPod(t *testing.T) {
	s, w := watchAll(t, pod("db-0", ""))
	s.deletePod("shop", "db-0")
	s.put(t, strings.Replace(pod("db-0", ""), "name: db-0", "name: db-0, uid: second", 1))
	until(t, w, "the second db-0", func() bool { return len(w.Pods()) == 1 && w.Pods()[0].UID == "second" })
	if gone := w.Gone(); len(gone) != 1 || gone[0].UID != "Pod-db-0" {
		t.Errorf("gone: %v", gone)
	}
}

func TestPodThatIsRelabelled(t *testing.T) {
	s := newAPIServer(t, pod("a", "app=x"), pod("b", "app=x"))
	w := watching(t, s, Query{Namespace: "shop", LabelSelector: "app=x"})
	s.put(t, pod("a", "app=quarantine"))
	until(t, w, "a left the selection", podsAre(w, "b"))
	if got := names(w.Gone()); got != "a" {
		t.Errorf("gone: %q", got)
	}
}

// While the API server is away pods end and others begin: what the new list
// lacks is gone, with its last known state.
func TestWatchThatExpired(t *testing.T) {
	quiet(t)
	s, w := watchAll(t, pod("a", ""), pod("b", ""))
	s.refuse("watch", "pods", 500)
	s.refuse("list", "pods", 500)
	s.cut()
	until(t, w, "an error", func() bool { return w.Err() != nil })
	if got := w.Err().Error(); got != "Internal error occurred: etcd is away" {
		t.Errorf("error: %q", got)
	}
	if got := names(w.Pods()); got != "a b" {
		t.Errorf("the pods last known stay, got %q", got)
	}
	s.deletePod("shop", "a")
	s.put(t, strings.Replace(pod("b", ""), "name: b", "name: b, uid: second", 1))
	s.put(t, pod("c", ""))
	s.cut()
	s.refuse("list", "pods", 0)
	s.refuse("watch", "pods", 0)
	until(t, w, "a new list", podsAre(w, "b c"))
	until(t, w, "no error", func() bool { return w.Err() == nil })
	for _, gone := range w.Gone() {
		if gone.Name == "c" || gone.UID == "second" {
			t.Errorf("gone: %s %s", gone.Name, gone.UID)
		}
	}
	if len(w.Gone()) != 2 {
		t.Errorf("gone: %q, want a and the first b", names(w.Gone()))
	}
}

// An API server that restarts is an error for as long as it is away; then the
// watch goes on where it stopped.
func TestServerRestarts(t *testing.T) {
	quiet(t)
	s, w := watchAll(t, pod("a", ""), pod("b", ""))
	address := s.Listener.Addr().String()
	_ = s.Config.Close() // listener first, or the watch would be back before it is closed
	s.Close()
	until(t, w, "an error", func() bool { return w.Err() != nil })
	if got, want := w.Err().Error(), "connecting to http://"+address+": connection refused"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	s.deletePod("shop", "a")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	again := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s}}
	again.Start()
	t.Cleanup(func() {
		again.CloseClientConnections()
		again.Close()
	})
	until(t, w, "what happened meanwhile", podsAre(w, "b"))
	until(t, w, "no error", func() bool { return w.Err() == nil })
	if got := names(w.Gone()); got != "a" {
		t.Errorf("gone: %q", got)
	}
}

// A user with list and without watch still gets pods, and Err says why they
// are not followed.
func TestListWithoutWatch(t *testing.T) {
	s := newAPIServer(t, pod("a", ""))
	s.refuse("watch", "pods", 403)
	w := watching(t, s, Query{Namespace: "shop"})
	until(t, w, "the refusal", func() bool { return w.Err() != nil })
	want := `pods is forbidden: User "dev" cannot watch resource "pods" in API group "" in the namespace "shop"`
	if got := w.Err().Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	s.put(t, pod("b", ""))
	until(t, w, "a later list", podsAre(w, "a b"))
	if w.Err() == nil {
		t.Error("a list that works does not make up for a watch that is refused")
	}
}

func TestStartFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		q    Query
		want string
	}{
		{"not allowed", 403, Query{Namespace: "shop"}, `pods is forbidden: User "dev" cannot list resource "pods" in API group "" in the namespace "shop"`},
		{"not logged in", 401, Query{Namespace: "shop"}, "You must be logged in to the server (Unauthorized): the credentials are missing or have expired; log in as for kubectl"},
		{"unknown field", 0, Query{Namespace: "shop", FieldSelector: "a=b"}, `field selector "a=b": field label not supported: a`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t, pod("a", ""))
			s.refuse("list", "pods", tt.code)
			selection, err := Resolve(t.Context(), s.getter(t), tt.q)
			if err != nil {
				t.Fatal(err)
			}
			_, err = selection.Start(t.Context(), s.client(t))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %v", err, tt.want)
			}
		})
	}
}

func TestStartUnreachable(t *testing.T) {
	s := newAPIServer(t)
	client := s.client(t)
	s.Close()
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = selection.Start(t.Context(), client)
	if want := "connecting to " + s.URL + ": connection refused"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
}

func TestStartInterrupted(t *testing.T) {
	s := newAPIServer(t, pod("a", ""))
	selection, err := Resolve(t.Context(), s.getter(t), Query{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = selection.Start(ctx, s.client(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err = Resolve(ctx, s.getter(t), Query{Namespace: "shop", Args: []string{"a"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("resolving: got %v", err)
	}
}

// The meshed pods stay meant when the last of them restarts: to fall back to
// all pods would probe pods that nobody asked for.
func TestMeshedStays(t *testing.T) {
	s := newAPIServer(t, pod("proxied", ""), pod("plain", ""))
	w := watching(t, s, Query{Namespace: "shop", Meshed: func(p *corev1.Pod) bool { return p.Name == "proxied" }})
	s.deletePod("shop", "proxied")
	until(t, w, "no pod", podsAre(w, ""))
	s.put(t, pod("plain2", ""))
	until(t, w, "another unmeshed pod", func() bool { return w.Unmeshed() == 2 })
	if got := names(w.Pods()); got != "" {
		t.Errorf("pods: %q", got)
	}
}

func TestAllowEmptyWaits(t *testing.T) {
	s, w := watchAll(t)
	var none *NoPodsError
	if p := w.Problems(); len(p) != 1 || !errors.As(p[0], &none) {
		t.Errorf("problems: %v", p)
	}
	s.put(t, pod("a", ""))
	until(t, w, "the first pod", podsAre(w, "a"))
	if p := w.Problems(); len(p) != 0 {
		t.Errorf("problems: %v", p)
	}
}

func TestGoneIsBounded(t *testing.T) {
	s, w := watchAll(t)
	for i := range maxGone + 5 {
		name := fmt.Sprintf("pod-%03d", i)
		s.put(t, pod(name, ""))
		s.deletePod("shop", name)
	}
	until(t, w, "the newest", func() bool {
		gone := w.Gone()
		return len(gone) == maxGone && gone[0].Name == "pod-005" && gone[maxGone-1].Name == "pod-204"
	})
}

// Many changes without a receiver are one value, and never hold up the watch.
func TestChangedIsCoalesced(t *testing.T) {
	s, w := watchAll(t)
	for i := range 20 {
		s.put(t, pod(fmt.Sprintf("pod-%02d", i), ""))
	}
	until(t, w, "all pods", func() bool { return len(w.Pods()) == 20 })
	if n := len(w.Changed()); n > 1 {
		t.Errorf("%d values wait", n)
	}
}

func TestPodsAreStripped(t *testing.T) {
	document := `{kind: Pod, apiVersion: v1, metadata: {name: a, namespace: shop,
	  managedFields: [{manager: kubelet}],
	  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", config.linkerd.io/proxy-cpu-limit: "2"}},
	spec: {volumes: [{name: v, emptyDir: {}}], tolerations: [{key: k}],
	  initContainers: [{name: linkerd-proxy, restartPolicy: Always, volumeMounts: [{name: v, mountPath: /v}]}],
	  containers: [{name: app, env: [{name: A, value: b}], readinessProbe: {periodSeconds: 3}, volumeMounts: [{name: v, mountPath: /v}],
	    resources: {limits: {cpu: "1"}}, securityContext: {runAsUser: 5}}]},
	status: {phase: Running}}`
	s, w := watchAll(t, document)
	check := func(when string) {
		p := w.Pods()[0]
		app := p.Spec.Containers[0]
		if p.ManagedFields != nil || len(p.Annotations) != 1 || p.Spec.Volumes != nil || p.Spec.Tolerations != nil ||
			app.VolumeMounts != nil || app.ReadinessProbe != nil || p.Spec.InitContainers[0].VolumeMounts != nil {
			t.Errorf("%s: not stripped: %+v", when, p)
		}
		if app.Env[0].Value != "b" || app.Resources.Limits.Cpu().Value() != 1 || *app.SecurityContext.RunAsUser != 5 ||
			*p.Spec.InitContainers[0].RestartPolicy != corev1.ContainerRestartPolicyAlways {
			t.Errorf("%s: too much was taken: %+v", when, p)
		}
	}
	check("listed")
	s.put(t, strings.Replace(document, "Running", "Pending", 1))
	until(t, w, "the change", func() bool { return w.Pods()[0].Status.Phase == corev1.PodPending })
	check("watched")
}
