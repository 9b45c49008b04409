package injector_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/linkerd"
	"github.com/kubectl-backlog/kubectl-backlog/test/injector"
)

// TestRendered: what each combination of annotations becomes. The same pods are
// read by plugins/linkerd, which must find that nothing drifted.
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
