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
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

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
