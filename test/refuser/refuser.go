// Package refuser is a validating admission webhook for tests: it stands in the
// way of probes as Kyverno, Gatekeeper or a company's own webhook does. It refuses
// every change of a pod's ephemeral containers with words of its own, or never
// answers.
package refuser

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/test/injector"
)

// Label selects the namespaces that a configuration applies to: those whose
// label has the configuration's name as its value.
const Label = "backlog.test/refuser"

// maxReview is above what an API server accepts as an object (1.5 MiB in etcd).
const maxReview = 4 << 20

// Options say how the webhook stands in the way.
type Options struct {
	// Message is what it refuses with.
	Message string
	// Silent makes it take reviews and never answer.
	Silent bool
	// ListenIP is where the API server reaches the webhook; 127.0.0.1 when nil.
	ListenIP net.IP
}

// Refuser is a running webhook.
type Refuser struct {
	options Options
	url     string
	bundle  []byte
	server  *http.Server
	done    chan struct{}
	closing chan struct{}
	reviews atomic.Int64
}

// Start serves the webhook until Close.
func Start(o Options) (*Refuser, error) {
	ip := o.ListenIP
	if ip == nil {
		ip = net.IPv4(127, 0, 0, 1)
	}
	certificate, bundle, err := injector.MakeCertificate(ip, time.Now())
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return nil, fmt.Errorf("listening for admission reviews: %w", err)
	}
	r := &Refuser{
		options: o, url: "https://" + listener.Addr().String() + "/refuse", bundle: bundle,
		done: make(chan struct{}), closing: make(chan struct{}),
	}
	r.server = &http.Server{
		Handler:           http.HandlerFunc(r.review),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(r.done)
		_ = r.server.ServeTLS(listener, "", "")
	}()
	return r, nil
}

// Reviews is how many reviews have come so far.
func (r *Refuser) Reviews() int64 { return r.reviews.Load() }

// Close ends the webhook, answered or not.
func (r *Refuser) Close() {
	close(r.closing)
	_ = r.server.Close()
	<-r.done
}

// Configuration makes an API server ask before it changes the ephemeral
// containers of a pod in a namespace labelled Label=name, and wait two seconds
// at most. What cannot be asked is refused.
func (r *Refuser) Configuration(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	var (
		fail    = admissionregistrationv1.Fail
		none    = admissionregistrationv1.SideEffectClassNone
		seconds = int32(2)
		url     = r.url
	)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "refuser.backlog.test",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: r.bundle},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{Label: name}},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/ephemeralcontainers"},
				},
			}},
		}},
	}
}

func (r *Refuser) review(w http.ResponseWriter, req *http.Request) {
	r.reviews.Add(1)
	var review admissionv1.AdmissionReview
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err == nil && review.Request == nil {
		err = errors.New("no request in it")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the admission review: %v", err), http.StatusBadRequest)
		return
	}
	if r.options.Silent {
		select {
		case <-req.Context().Done():
		case <-r.closing:
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta,
		Response: &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Result: &metav1.Status{Code: http.StatusForbidden, Message: r.options.Message},
		},
	})
}
