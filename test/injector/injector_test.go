package injector_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/linkerd"
	"github.com/kubectl-backlog/kubectl-backlog/test/injector"
)

type annotations = map[string]string

const (
	inject     = "linkerd.io/inject"
	limit      = "config.linkerd.io/proxy-cpu-limit"
	request    = "config.linkerd.io/proxy-cpu-request"
	ratio      = "config.linkerd.io/proxy-cpu-ratio-limit"
	additional = "config.linkerd.io/proxy-additional-env"
)

// review reads an admission review as an API server 1.37 sent it.
func review(t *testing.T, name string) *admissionv1.AdmissionReview {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r admissionv1.AdmissionReview
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("reading the recorded review %s: %v", name, err)
	}
	return &r
}

// edit changes the pod of a review.
func edit(t *testing.T, r *admissionv1.AdmissionReview, f func(*corev1.Pod)) *admissionv1.AdmissionReview {
	t.Helper()
	var pod corev1.Pod
	if err := json.Unmarshal(r.Request.Object.Raw, &pod); err != nil {
		t.Fatal(err)
	}
	f(&pod)
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	r.Request.Object.Raw = raw
	return r
}

// start runs an injector that ends with the test.
func start(t *testing.T, o injector.Options) *injector.Injector {
	t.Helper()
	inj, err := injector.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := inj.Close(); err != nil {
			t.Error(err)
		}
	})
	return inj
}

// namespace makes the option that gives a namespace's annotations.
func namespace(a annotations) func(context.Context, string) (map[string]string, error) {
	return func(_ context.Context, name string) (map[string]string, error) {
		if name != "shop" {
			return nil, errors.New("no such namespace: " + name)
		}
		return a, nil
	}
}

// send does what an API server does with a configuration: it posts the review,
// trusting nothing but the bundle of the configuration.
func send(t *testing.T, inj *injector.Injector, r *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	t.Helper()
	webhook := inj.Configuration("test").Webhooks[0]
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(webhook.ClientConfig.CABundle) {
		t.Fatal("the caBundle holds no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Post(*webhook.ClientConfig.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", resp.StatusCode, err, text)
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.APIVersion != r.APIVersion || answer.Kind != r.Kind || answer.Response == nil || answer.Response.UID != r.Request.UID {
		t.Fatalf("an API server refuses this answer: %s", text)
	}
	return answer.Response
}

// patched is the pod that an API server makes of an answer.
func patched(t *testing.T, r *admissionv1.AdmissionReview, answer *admissionv1.AdmissionResponse) *corev1.Pod {
	t.Helper()
	if !answer.Allowed {
		t.Fatalf("refused: %v", answer.Result)
	}
	raw := r.Request.Object.Raw
	if answer.Patch != nil {
		if answer.PatchType == nil || *answer.PatchType != admissionv1.PatchTypeJSONPatch {
			t.Fatalf("patch type %v", answer.PatchType)
		}
		patch, err := jsonpatch.DecodePatch(answer.Patch)
		if err != nil {
			t.Fatalf("reading the patch: %v", err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			t.Fatalf("applying the patch %s: %v", answer.Patch, err)
		}
	}
	var pod corev1.Pod
	if err := json.Unmarshal(raw, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func proxy(t *testing.T, pod *corev1.Pod) *corev1.Container {
	t.Helper()
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == "linkerd-proxy" {
				return &list[i]
			}
		}
	}
	t.Fatal("no container linkerd-proxy")
	return nil
}

// env shows the variables whose names hold a word, in their order: "CORES_MIN=1".
func env(c *corev1.Container, word string) string {
	var lines []string
	for _, e := range c.Env {
		if name := strings.TrimPrefix(e.Name, "LINKERD2_PROXY_"); strings.Contains(name, word) {
			lines = append(lines, name+"="+e.Value)
		}
	}
	return strings.Join(lines, " ")
}

// TestRendered: what Linkerd's injector was seen to make of each combination.
// The same pods are read by plugins/linkerd, which must find that nothing drifted.
func TestRendered(t *testing.T) {
	for _, tt := range []struct {
		name           string
		pod, ns        annotations
		env            string
		limit, request string
		// workers of a proxy that starts so on a node of ten CPUs.
		workers int64
	}{
		{"none", nil, nil, "CORES=1 CORES_MIN=1", "", "", 1},
		{"limit 1500m", annotations{limit: "1500m"}, nil, "CORES=1 CORES_MIN=1 CORES_MAX=2", "1500m", "", 2},
		{
			"request 1500m and limit 4",
			annotations{request: "1500m", limit: "4"},
			nil,
			"CORES=2 CORES_MIN=2 CORES_MAX=4", "4", "1500m", 4,
		},
		{"request 100m", annotations{request: "100m"}, nil, "CORES=1 CORES_MIN=1", "", "100m", 1},
		{"request 1500m", annotations{request: "1500m"}, nil, "CORES=2 CORES_MIN=2", "", "1500m", 2},
		{"ratio 0.5", annotations{ratio: "0.5"}, nil, "CORES=1 CORES_MIN=1 CORES_MAX_RATIO=0.5", "", "", 5},
		{"ratio 0.35", annotations{ratio: "0.350"}, nil, "CORES=1 CORES_MIN=1 CORES_MAX_RATIO=0.35", "", "", 4},
		{
			"namespace limit 2 and pod limit 1",
			annotations{limit: "1"},
			annotations{limit: "2"},
			"CORES=1 CORES_MIN=1 CORES_MAX=1", "1", "", 1,
		},
		{"namespace limit 2", nil, annotations{limit: "2"}, "CORES=1 CORES_MIN=1 CORES_MAX=2", "2", "", 2},
		{"a namespace's ratio is not inherited", nil, annotations{ratio: "0.5"}, "CORES=1 CORES_MIN=1", "", "", 1},
		{
			"additional variables go last",
			annotations{limit: "2", additional: `[{"name":"LINKERD2_PROXY_CORES_MAX","value":"1"}]`},
			nil,
			"CORES=1 CORES_MIN=1 CORES_MAX=2 CORES_MAX=1", "2", "", 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, injector.Options{NamespaceAnnotations: namespace(tt.ns)})
			r := edit(t, review(t, "bare"), func(p *corev1.Pod) {
				p.Annotations = annotations{inject: "enabled"}
				for k, v := range tt.pod {
					p.Annotations[k] = v
				}
			})
			answer := send(t, inj, r)
			pod := patched(t, r, answer)
			c := proxy(t, pod)
			if got := env(c, "CORES"); got != tt.env {
				t.Errorf("environment %q, want %q", got, tt.env)
			}
			cpuLimit, cpuRequest := "", ""
			if q, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
				cpuLimit = q.String()
			}
			if q, ok := c.Resources.Requests[corev1.ResourceCPU]; ok {
				cpuRequest = q.String()
			}
			if cpuLimit != tt.limit || cpuRequest != tt.request {
				t.Errorf("CPU limit %q, request %q; want %q, %q", cpuLimit, cpuRequest, tt.limit, tt.request)
			}
			if len(answer.Warnings) > 0 {
				t.Errorf("warnings %q", answer.Warnings)
			}
			checkAdapter(t, pod, tt.workers)
		})
	}
}

// checkAdapter reads an injected pod as the product does.
func checkAdapter(t *testing.T, pod *corev1.Pod, workers int64) {
	t.Helper()
	adapter := linkerd.New()
	var live model.Pod
	live.Proxy.Version = model.Known("2.366.0")
	live.Runtime.Workers = model.Known(workers)
	for _, k := range adapter.Knobs(pod, model.Known[int64](10), live) {
		if k.Name != "workers" {
			continue
		}
		if got, ok := k.Asked.Get(); !ok || got != workers || k.Why != "" {
			t.Errorf("the adapter reads %d workers (known %v) from what was injected, want %d; why %q", got, ok, workers, k.Why)
		}
	}
	for port, role := range map[uint16]model.Role{4143: "inbound", 4140: "outbound", 4191: "admin"} {
		if got := adapter.Roles(pod)[port]; got != role {
			t.Errorf("the adapter reads port %d as %q, want %q", port, got, role)
		}
	}
}

// TestUntouched: pods that Linkerd would leave alone.
func TestUntouched(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ns      annotations
		edit    func(*corev1.Pod)
		warning string
	}{
		{"not enabled", nil, func(*corev1.Pod) {}, ""},
		{"disabled in an enabled namespace", annotations{inject: "enabled"}, func(p *corev1.Pod) { p.Annotations[inject] = "disabled" }, ""},
		{"another word", nil, func(p *corev1.Pod) { p.Annotations[inject] = "true" }, ""},
		{
			"on the host's network",
			annotations{inject: "enabled"},
			func(p *corev1.Pod) { p.Spec.HostNetwork = true },
			"not injected: the pod is on the host's network",
		},
		{
			"without the container",
			annotations{inject: "enabled"},
			func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
			"not injected: the pod has no container linkerd-proxy to inject into",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, injector.Options{NamespaceAnnotations: namespace(tt.ns)})
			answer := send(t, inj, edit(t, review(t, "bare"), tt.edit))
			if !answer.Allowed || answer.Patch != nil {
				t.Errorf("allowed %v, patch %s", answer.Allowed, answer.Patch)
			}
			if got := strings.Join(answer.Warnings, "\n"); got != tt.warning {
				t.Errorf("warnings %q, want %q", got, tt.warning)
			}
		})
	}
}

// TestInherited: the namespace's word makes the pod injected, and what it takes
// over from there can be read on it.
func TestInherited(t *testing.T) {
	inj := start(t, injector.Options{NamespaceAnnotations: namespace(annotations{
		inject: "enabled", request: "2", limit: "3", ratio: "0.5", "owner": "team-a",
	})})
	// The recorded pod has a limit of 1500m. Bounds that a test writes itself go.
	r := edit(t, review(t, "bare"), func(p *corev1.Pod) {
		c := proxy(t, p)
		c.Env = append(c.Env, corev1.EnvVar{Name: "LINKERD2_PROXY_CORES_MAX", Value: "7"})
	})
	pod := patched(t, r, send(t, inj, r))
	want := annotations{request: "2", limit: "1500m", "linkerd.io/proxy-version": "edge-26.8.3"}
	if !reflect.DeepEqual(pod.Annotations, want) {
		t.Errorf("annotations %v, want %v", pod.Annotations, want)
	}
	if pod.Labels["linkerd.io/control-plane-ns"] != "linkerd" {
		t.Errorf("labels %v", pod.Labels)
	}
	if got, want := env(proxy(t, pod), "CORES"), "CORES=2 CORES_MIN=2 CORES_MAX=2"; got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
	if got := env(proxy(t, pod), "TOKIOPROXY"); got != "TOKIOPROXY_BURN_US=200" {
		t.Errorf("the test's own variable became %q", got)
	}
}

// TestDeploymentAndSidecar: pods without a name, and proxies among the init containers.
func TestDeploymentAndSidecar(t *testing.T) {
	inj := start(t, injector.Options{NamespaceAnnotations: namespace(annotations{inject: "enabled", limit: "2"})})
	r := review(t, "deployment")
	pod := patched(t, r, send(t, inj, r))
	if got, want := env(proxy(t, pod), "CORES"), "CORES=2 CORES_MIN=2 CORES_MAX=4"; got != want {
		t.Errorf("deployment: environment %q, want %q", got, want)
	}
	if pod.Labels["app"] != "server" || pod.Labels["pod-template-hash"] == "" {
		t.Errorf("deployment: labels %v", pod.Labels)
	}

	r = review(t, "sidecar")
	pod = patched(t, r, send(t, inj, r))
	c := proxy(t, pod)
	if got, want := env(c, "CORES"), "CORES=1 CORES_MIN=1 CORES_MAX=2"; got != want {
		t.Errorf("sidecar: environment %q, want %q", got, want)
	}
	if memory := c.Resources.Limits[corev1.ResourceMemory]; memory.String() != "64Mi" {
		t.Errorf("sidecar: the container's own memory limit became %v", memory.String())
	}
	if cpu := c.Resources.Limits[corev1.ResourceCPU]; cpu.String() != "2" {
		t.Errorf("sidecar: CPU limit %v", cpu.String())
	}
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    injector.Options
		edit func(*corev1.Pod)
		want string
	}{
		{
			"default",
			injector.Options{},
			func(*corev1.Pod) {},
			"CONTROL_LISTEN_ADDR=0.0.0.0:4190 ADMIN_LISTEN_ADDR=0.0.0.0:4191 OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140 INBOUND_LISTEN_ADDR=0.0.0.0:4143",
		},
		{
			"dual stack",
			injector.Options{IPv6: true},
			func(*corev1.Pod) {},
			"CONTROL_LISTEN_ADDR=[::]:4190 ADMIN_LISTEN_ADDR=[::]:4191 OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140,[::1]:4140 INBOUND_LISTEN_ADDR=[::]:4143",
		},
		{
			"annotations",
			injector.Options{},
			func(p *corev1.Pod) {
				for name, port := range (annotations{"inbound": "15143", "outbound": "15140", "admin": "15191", "control": "15190"}) {
					p.Annotations["config.linkerd.io/"+name+"-port"] = port
				}
			},
			"CONTROL_LISTEN_ADDR=0.0.0.0:15190 ADMIN_LISTEN_ADDR=0.0.0.0:15191 OUTBOUND_LISTEN_ADDR=127.0.0.1:15140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:15140 INBOUND_LISTEN_ADDR=0.0.0.0:15143",
		},
		{
			"the test's own address",
			injector.Options{},
			func(p *corev1.Pod) {
				p.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: "[::1]:4143"}}
			},
			"INBOUND_LISTEN_ADDR=[::1]:4143 CONTROL_LISTEN_ADDR=0.0.0.0:4190 ADMIN_LISTEN_ADDR=0.0.0.0:4191 " +
				"OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, tt.o)
			r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations[inject] = "enabled"; tt.edit(p) })
			if got := env(proxy(t, patched(t, r, send(t, inj, r))), "LISTEN_ADDR"); got != tt.want {
				t.Errorf("addresses\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestHelm: the values of the chart that act on workers and backlogs.
func TestHelm(t *testing.T) {
	backlog := func(n string) corev1.EnvVar {
		return corev1.EnvVar{Name: "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG", Value: n}
	}
	o := injector.Options{
		Cores: 3, Version: "edge-26.1.1", ControlPlane: "mesh",
		AdditionalEnv: []corev1.EnvVar{backlog("512"), {Name: "OTHER", Value: "1"}},
	}
	inj := start(t, o)
	r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations = annotations{inject: "enabled", limit: "2", request: "2"} })
	pod := patched(t, r, send(t, inj, r))
	if got, want := env(proxy(t, pod), "CORES"), "CORES=3 CORES_MIN=3"; got != want {
		t.Errorf("proxy.cores: environment %q, want %q", got, want)
	}
	if got, want := env(proxy(t, pod), "BACKLOG"), "INBOUND_TCP_LISTEN_BACKLOG=512"; got != want {
		t.Errorf("proxy.additionalEnv: %q, want %q", got, want)
	}
	if pod.Annotations["linkerd.io/proxy-version"] != "edge-26.1.1" || pod.Labels["linkerd.io/control-plane-ns"] != "mesh" {
		t.Errorf("annotations %v, labels %v", pod.Annotations, pod.Labels)
	}

	r = edit(t, r, func(p *corev1.Pod) {
		p.Annotations[additional] = `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"1024"}]`
	})
	c := proxy(t, patched(t, r, send(t, inj, r)))
	if got, want := env(c, "BACKLOG"), "INBOUND_TCP_LISTEN_BACKLOG=1024"; got != want {
		t.Errorf("annotation over Helm: %q, want %q", got, want)
	}
	if got, want := env(c, "OTHER"), "OTHER=1"; got != want {
		t.Errorf("Helm's other variables: %q, want %q", got, want)
	}
}

// TestNotTaken: what cannot be read has no effect, and the one who creates the
// pod is told.
func TestNotTaken(t *testing.T) {
	for _, tt := range []struct{ name, annotation, value, warning string }{
		{"limit", limit, "two", `annotation config.linkerd.io/proxy-cpu-limit="two" is not taken: it is no CPU quantity above 0`},
		{"no limit", limit, "0", `annotation config.linkerd.io/proxy-cpu-limit="0" is not taken: it is no CPU quantity above 0`},
		{"request", request, "-1", `annotation config.linkerd.io/proxy-cpu-request="-1" is not taken: it is no CPU quantity above 0`},
		{"ratio 1.0", ratio, "1.0", `annotation config.linkerd.io/proxy-cpu-ratio-limit="1.0" is not taken: it does not lie between 0 and 1`},
		{"ratio 0", ratio, "0", `annotation config.linkerd.io/proxy-cpu-ratio-limit="0" is not taken: it does not lie between 0 and 1`},
		{"list", additional, "A=1", `annotation config.linkerd.io/proxy-additional-env="A=1" is not taken: it is no JSON list of variables`},
		{"port", "config.linkerd.io/inbound-port", "99999", `annotation config.linkerd.io/inbound-port="99999" is not taken: it is no port`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, injector.Options{})
			r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations = annotations{inject: "enabled", tt.annotation: tt.value} })
			answer := send(t, inj, r)
			pod := patched(t, r, answer)
			if got, want := env(proxy(t, pod), "CORES"), "CORES=1 CORES_MIN=1"; got != want {
				t.Errorf("environment %q, want %q", got, want)
			}
			if got, want := env(proxy(t, pod), "INBOUND_LISTEN"), "INBOUND_LISTEN_ADDR=0.0.0.0:4143"; got != want {
				t.Errorf("address %q, want %q", got, want)
			}
			if len(answer.Warnings) != 1 || answer.Warnings[0] != tt.warning {
				t.Errorf("warnings %q, want %q", answer.Warnings, tt.warning)
			}
		})
	}
}

// TestRefused: the pod is not created, and the message says why.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    injector.Options
		want string
	}{
		{
			"additional variables on the namespace alone",
			injector.Options{NamespaceAnnotations: namespace(annotations{inject: "enabled", additional: "[]"})},
			"invalid JSON patch",
		},
		{
			"a namespace that cannot be read",
			injector.Options{NamespaceAnnotations: func(context.Context, string) (map[string]string, error) {
				return nil, errors.New("forbidden")
			}},
			"reading the annotations of namespace shop: forbidden",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := send(t, start(t, tt.o), review(t, "bare"))
			if answer.Allowed || answer.Result == nil || !strings.Contains(answer.Result.Message, tt.want) {
				t.Errorf("allowed %v, result %v; want %q", answer.Allowed, answer.Result, tt.want)
			}
		})
	}
}

func TestConfiguration(t *testing.T) {
	inj := start(t, injector.Options{})
	c := inj.Configuration("mine")
	if c.Name != "mine" || c.Kind != "MutatingWebhookConfiguration" || c.APIVersion != "admissionregistration.k8s.io/v1" {
		t.Errorf("%s %s %q", c.APIVersion, c.Kind, c.Name)
	}
	w := c.Webhooks[0]
	if got := w.NamespaceSelector.MatchLabels; !reflect.DeepEqual(got, map[string]string{injector.NamespaceLabel: "mine"}) {
		t.Errorf("namespace selector %v", got)
	}
	if *w.FailurePolicy != "Fail" || *w.SideEffects != "None" {
		t.Errorf("failure policy %s, side effects %s", *w.FailurePolicy, *w.SideEffects)
	}
	if url := *w.ClientConfig.URL; url != inj.URL() || !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Errorf("URL %s", url)
	}
	// Only pods at their creation: ephemeral containers and status must not pass here.
	if got := w.Rules[0].Resources; !reflect.DeepEqual(got, []string{"pods"}) || len(w.Rules[0].Operations) != 1 {
		t.Errorf("rules %v", w.Rules)
	}
}

// TestGarbage: an injector on a port that anything may reach answers anything.
func TestGarbage(t *testing.T) {
	inj := start(t, injector.Options{})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(inj.Configuration("x").Webhooks[0].ClientConfig.CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, body := range []string{"", "{}", "[", strings.Repeat("a", 5<<20)} {
		resp, err := client.Post(inj.URL(), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%d bytes of garbage: status %d", len(body), resp.StatusCode)
		}
	}
}

// TestEndsWithItsContext: after the context ends, or Close, nobody listens.
func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inj, err := injector.Start(ctx, injector.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := inj.Close(); err != nil { // waits; may be called again
		t.Fatal(err)
	}
	if err := inj.Close(); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(inj.URL()); err == nil {
		resp.Body.Close()
		t.Error("it still answers")
	}
}
