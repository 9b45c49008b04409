package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	portforwardconst "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
)

// link is an upgraded connection to the API server that carries streams.
type link struct{ httpstream.Connection }

// Close ends all streams and the connection. By itself a connection closes when
// all its streams have ended, which one that waits for a dead peer never does;
// an idle time-out ends those too.
func (l link) Close() error {
	l.SetIdleTimeout(time.Millisecond)
	return l.Connection.Close()
}

// create makes a stream. One that is made on a link whose other side has closed
// would never be let go by the library, nor would the connection.
func (l link) create(headers http.Header) (httpstream.Stream, error) {
	select {
	case <-l.CloseChan():
		return nil, errors.New("the connection to the API server was closed")
	default:
		return l.CreateStream(headers)
	}
}

// upgrade opens a link for port-forwarding. client-go's dialers for this take no
// context, and one that hangs could not be given up; what they are made of does.
//
// The API server asks for different rights: SPDY needs create on
// pods/portforward; WebSocket needs get and, since Kubernetes 1.35, create too.
func (f *Forwarder) upgrade(ctx context.Context, namespace string, to *url.URL) (*link, error) {
	first, second := overWebSocket, overSPDY
	if f.prefersSPDY() {
		first, second = second, first
	}
	l, err := first(ctx, f.Config, to)
	if err == nil {
		return l, nil
	}
	if !httpstream.IsUpgradeFailure(err) && !httpstream.IsHTTPSProxyError(err) {
		return nil, forbiddenForward(namespace, err, nil)
	}
	l, err2 := second(ctx, f.Config, to)
	if err2 != nil {
		return nil, forbiddenForward(namespace, err, err2)
	}
	f.setSPDY(!f.prefersSPDY())
	return l, nil
}

// forbiddenForward picks the error that tells most. The one of the second try
// explains itself better: of WebSocket the API server says only "forbidden: ".
func forbiddenForward(namespace string, first, second error) error {
	for _, err := range []error{second, first} {
		// The library's error does not unwrap.
		var refused *httpstream.UpgradeFailureError
		if !errors.As(err, &refused) {
			continue
		}
		err = refused.Cause
		if typed := asForbidden(err, "create", "pods/portforward", namespace); typed != nil {
			if f, ok := typed.(*ForbiddenError); ok {
				f.Verb = "get and create"
			}
			return typed
		}
	}
	if second != nil {
		return second
	}
	return first
}

// overWebSocket tunnels SPDY through a WebSocket, as kubectl does since 1.31.
func overWebSocket(ctx context.Context, config *rest.Config, to *url.URL) (*link, error) {
	transport, holder, err := websocket.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, err
	}
	ws, err := websocket.Negotiate(transport, holder, req, portforwardconst.WebsocketsSPDYTunnelingPortForwardV1)
	if err != nil {
		return nil, err
	}
	conn, err := streamspdy.NewClientConnectionWithPings(portforward.NewTunnelingConnection("client", ws), portforward.PingPeriod)
	if err != nil {
		return nil, err
	}
	return &link{conn}, nil
}

// overSPDY upgrades to SPDY, which API servers have spoken since the beginning.
func overSPDY(ctx context.Context, config *rest.Config, to *url.URL) (*link, error) {
	transport, upgrader, err := spdyTransport(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(httpstream.HeaderProtocolVersion, portforward.PortForwardProtocolV1Name)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, &httpstream.UpgradeFailureError{Cause: statusOf(resp)}
	}
	conn, err := upgrader.NewConnection(resp)
	if err != nil {
		return nil, err
	}
	return &link{conn}, nil
}

// spdyTransport gives what makes one upgraded connection.
func spdyTransport(config *rest.Config) (http.RoundTripper, httpstream.UpgradeRoundTripper, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, err
	}
	upgrader, err := streamspdy.NewRoundTripperWithConfig(streamspdy.RoundTripperConfig{
		TLS: tlsConfig, Proxier: config.Proxy, PingPeriod: portforward.PingPeriod,
	})
	if err != nil {
		return nil, nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, upgrader)
	return transport, upgrader, err
}

// statusOf reads the API server's own account of a refusal.
func statusOf(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s, and reading the answer: %w", resp.Status, err)
	}
	if status := decodeStatus(body); status != nil {
		return status
	}
	return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
}

// decodeStatus is the API server's Status object in an answer; nil when it is
// none.
func decodeStatus(body []byte) *apierrors.StatusError {
	decoder := serializer.NewCodecFactory(scheme.Scheme).UniversalDeserializer()
	if obj, _, err := decoder.Decode(body, nil, nil); err == nil {
		if status, ok := obj.(*metav1.Status); ok {
			return &apierrors.StatusError{ErrStatus: *status}
		}
	}
	return nil
}
