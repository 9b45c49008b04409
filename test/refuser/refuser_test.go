package refuser_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/test/refuser"
)

// post sends a review as an API server does, which trusts the configuration's
// bundle alone.
func post(ctx context.Context, t *testing.T, r *refuser.Refuser, body any) (*http.Response, error) {
	t.Helper()
	hook := r.Configuration("test").Webhooks[0]
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(hook.ClientConfig.CABundle) {
		t.Fatal("the caBundle holds no certificate")
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *hook.ClientConfig.URL, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return (&http.Client{Transport: transport}).Do(req)
}

func review() admissionv1.AdmissionReview {
	return admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "u1"},
	}
}

func TestRefuses(t *testing.T) {
	r, err := refuser.Start(refuser.Options{Message: "no debugging today"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	resp, err := post(t.Context(), t, r, review())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Response == nil {
		t.Fatalf("%v, %+v", err, answer)
	}
	if a := answer.Response; a.Allowed || a.UID != "u1" || a.Result.Message != "no debugging today" || answer.Kind != "AdmissionReview" {
		t.Errorf("%+v", a)
	}
	bad, err := post(t.Context(), t, r, map[string]string{})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Body.Close()
	if bad.StatusCode != http.StatusBadRequest || r.Reviews() != 2 {
		t.Errorf("status %d, %d reviews", bad.StatusCode, r.Reviews())
	}
}

// A silent one lets the caller wait, and ends none the less.
func TestSaysNothing(t *testing.T) {
	r, err := refuser.Start(refuser.Options{Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if resp, err := post(ctx, t, r, review()); err == nil {
		resp.Body.Close()
		t.Errorf("it answered %d", resp.StatusCode)
	}
	if r.Reviews() != 1 {
		t.Errorf("%d reviews", r.Reviews())
	}
	r.Close()
}
