package injector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespaceLabel selects the namespaces that a configuration applies to: those
// whose label has the configuration's name as its value.
const NamespaceLabel = "backlog.test/injector"

// path is where the webhook is served.
const path = "/inject"

// Options say what stands around the injector.
type Options struct {
	// NamespaceAnnotations gives the annotations of a namespace; none when nil.
	NamespaceAnnotations func(ctx context.Context, namespace string) (map[string]string, error)
	// ListenIP is where the API server reaches the webhook; 127.0.0.1 when nil.
	ListenIP net.IP
	// Version is the control plane's tag, written to linkerd.io/proxy-version;
	// "edge-26.8.3" when empty.
	Version string
	// ControlPlane is the control plane's namespace; "linkerd" when empty.
	ControlPlane string
	// Cores is Helm's proxy.cores: when above 0 it sets CORES and CORES_MIN, and
	// whatever annotations say of workers is dropped.
	Cores int
	// AdditionalEnv is Helm's proxy.additionalEnv. The annotation's entries of the
	// same names stand in its place.
	AdditionalEnv []corev1.EnvVar
	// IPv6 is the opposite of Helm's disableIPv6: the proxy listens on both families.
	IPv6 bool
	// Log gets the server's own troubles, such as failed handshakes; dropped when nil.
	Log *log.Logger
}

// Injector is a running webhook.
type Injector struct {
	url    string
	bundle []byte
	server *http.Server
	stop   func() bool
	done   chan struct{}
	once   sync.Once
	err    error
}

// Start serves the webhook until the context ends or Close is called.
func Start(ctx context.Context, o Options) (*Injector, error) {
	ip := o.ListenIP
	if ip == nil {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if o.Version == "" {
		o.Version = "edge-26.8.3"
	}
	if o.ControlPlane == "" {
		o.ControlPlane = "linkerd"
	}
	certificate, bundle, err := MakeCertificate(ip, time.Now())
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return nil, fmt.Errorf("listening for admission reviews: %w", err)
	}

	mux := http.NewServeMux()
	mux.Handle("POST "+path, handler{o})
	inj := &Injector{
		url:    "https://" + listener.Addr().String() + path,
		bundle: bundle,
		server: &http.Server{
			Handler:           mux,
			TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
			ReadHeaderTimeout: 10 * time.Second,
			ErrorLog:          o.Log,
			BaseContext:       func(net.Listener) context.Context { return ctx },
		},
		done: make(chan struct{}),
	}
	if inj.server.ErrorLog == nil {
		inj.server.ErrorLog = log.New(io.Discard, "", 0)
	}
	go func() {
		defer close(inj.done)
		if err := inj.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			inj.err = fmt.Errorf("serving admission reviews: %w", err)
		}
	}()
	inj.stop = context.AfterFunc(ctx, inj.shutdown)
	return inj, nil
}

// URL is where the API server sends its reviews.
func (inj *Injector) URL() string { return inj.url }

// Configuration is what makes an API server send the pods that are created in
// namespaces labelled NamespaceLabel=name. While it is in place and the injector
// is gone, no pod is created there: remove it before Close.
func (inj *Injector) Configuration(name string) *admissionregistrationv1.MutatingWebhookConfiguration {
	var (
		fail       = admissionregistrationv1.Fail
		none       = admissionregistrationv1.SideEffectClassNone
		namespaced = admissionregistrationv1.NamespacedScope
		seconds    = int32(10)
		url        = inj.url
	)
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(),
			Kind:       "MutatingWebhookConfiguration",
		},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "injector.backlog.test",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: inj.bundle},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{NamespaceLabel: name}},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			TimeoutSeconds:          &seconds,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &namespaced,
				},
			}},
		}},
	}
}

// Close stops serving, once reviews that are under way were answered. It may be
// called more than once.
func (inj *Injector) Close() error {
	inj.stop()
	inj.shutdown()
	<-inj.done
	return inj.err
}

func (inj *Injector) shutdown() {
	inj.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := inj.server.Shutdown(ctx); err != nil {
			_ = inj.server.Close()
		}
	})
}
