package collect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// dialTimeout bounds opening a connection to the API server for a pod. It is
// longer than one try of a request: the dial goes on when the try is over, and
// the next try finds the connection ready.
const dialTimeout = 10 * time.Second

// Forwarder opens connections to ports of pods through the API server, as
// port-forward streams. It never opens a local port. All connections to one pod
// share one tunnel, which is kept open and dialled again when it has broken.
//
// It tries WebSocket first, and SPDY when that is refused, as kubectl does. Some
// proxies in front of API servers know only one of the two.
type Forwarder struct {
	// Config is how the API server is reached.
	Config *rest.Config
	// Client builds the URLs: clientset.CoreV1().RESTClient().
	Client rest.Interface

	mu      sync.Mutex
	closed  bool
	tunnels map[string]*tunnel
	// spdy is set once SPDY worked where WebSocket did not.
	spdy bool
}

// Transport gives an HTTP transport whose connections end in a port of the pod,
// whatever host a URL names. At most one connection is open, and it is kept: a
// stalled Linkerd proxy answers only connections that it already has.
func (f *Forwarder) Transport(namespace, pod string, port uint16) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return f.dial(bare{ctx}, namespace, pod, port)
		},
		MaxConnsPerHost:     1,
		MaxIdleConnsPerHost: 1,
	}
}

// bare is a context without values. A request's trace is among them, and the
// connection to the API server would otherwise be taken for the one to the pod.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// Dial opens a connection to a port of the pod.
func (f *Forwarder) Dial(ctx context.Context, namespace, pod string, port uint16) (net.Conn, error) {
	conn, err := f.dial(ctx, namespace, pod, port)
	if err != nil {
		return nil, fmt.Errorf("forwarding to port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return conn, nil
}

func (f *Forwarder) dial(ctx context.Context, namespace, pod string, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	t, err := f.tunnel(namespace, pod)
	if err != nil {
		return nil, err
	}
	return t.open(ctx, port)
}

// Release closes the tunnel of a pod, and with it every connection to it.
func (f *Forwarder) Release(namespace, pod string) {
	f.mu.Lock()
	t := f.tunnels[namespace+"/"+pod]
	delete(f.tunnels, namespace+"/"+pod)
	f.mu.Unlock()
	if t != nil {
		t.close()
	}
}

// Close closes all tunnels; the Forwarder cannot be used after it.
func (f *Forwarder) Close() error {
	f.mu.Lock()
	tunnels := f.tunnels
	f.tunnels, f.closed = nil, true
	f.mu.Unlock()
	for _, t := range tunnels {
		t.close()
	}
	return nil
}

var errClosed = errors.New("the forwarder is closed")

func (f *Forwarder) tunnel(namespace, pod string) (*tunnel, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	key := namespace + "/" + pod
	t := f.tunnels[key]
	if t == nil {
		t = newTunnel(f, namespace, f.url(namespace, pod))
		if f.tunnels == nil {
			f.tunnels = make(map[string]*tunnel)
		}
		f.tunnels[key] = t
	}
	return t, nil
}

func (f *Forwarder) url(namespace, pod string) *url.URL {
	return f.Client.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
}

func (f *Forwarder) prefersSPDY() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spdy
}

func (f *Forwarder) setSPDY(v bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spdy = v
}
