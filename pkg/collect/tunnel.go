package collect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

// streamTimeout is how long the kubelet may take to answer a pair of streams on
// a link that stands, which it does in milliseconds. After it the link counts as
// dead: the time to make another must be left of dialTimeout.
const streamTimeout = 4 * time.Second

// tunnel is the one link to a pod. It is dialled when it is first needed, and
// again when it has broken.
type tunnel struct {
	forwarder *Forwarder
	namespace string
	url       *url.URL

	// turn holds one token: who has it may dial. A channel, since a caller whose
	// context ends must be able to leave the queue.
	turn chan struct{}

	mu      sync.Mutex
	closed  bool
	link    *link
	request int // number of the last pair of streams
}

func newTunnel(f *Forwarder, namespace string, to *url.URL) *tunnel {
	return &tunnel{forwarder: f, namespace: namespace, url: to, turn: make(chan struct{}, 1)}
}

// open gives a connection to a port, over a link that is open already if there
// is one.
func (t *tunnel) open(ctx context.Context, port uint16) (net.Conn, error) {
	l, err := t.dialled(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := t.connect(ctx, l, port)
	if err != nil {
		// The pair of streams is answered by the kubelet, whatever the pod does:
		// without an answer the link is dead.
		t.drop(l)
		return nil, err
	}
	return conn, nil
}

func (t *tunnel) dialled(ctx context.Context) (*link, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l := t.alive(); l != nil {
		return l, nil
	}
	l, err := t.forwarder.upgrade(ctx, t.namespace, t.url)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = l.Close()
		return nil, errClosed
	}
	t.link = l
	return l, nil
}

// alive is the link, if it has not been closed from the other side.
func (t *tunnel) alive() *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.link == nil {
		return nil
	}
	select {
	case <-t.link.CloseChan():
		_ = t.link.Close()
		t.link = nil
	default:
	}
	return t.link
}

// drop closes a link, so that the next open dials again.
func (t *tunnel) drop(l *link) {
	t.mu.Lock()
	if t.link == l {
		t.link = nil
	}
	t.mu.Unlock()
	_ = l.Close()
}

func (t *tunnel) close() {
	t.mu.Lock()
	l := t.link
	t.link, t.closed = nil, true
	t.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
}

func (t *tunnel) nextRequest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.request++
	return strconv.Itoa(t.request)
}

// connect makes the pair of streams of port-forward protocol v1: one for errors,
// which we only read, and one for data. Creating a stream takes no context; one
// that gets no answer is left to the library, which gives it up after 30 s.
func (t *tunnel) connect(ctx context.Context, l *link, port uint16) (net.Conn, error) {
	type pair struct {
		errors, data httpstream.Stream
		err          error
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	made := make(chan pair, 1)
	go func() {
		headers := http.Header{}
		headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
		headers.Set(corev1.PortForwardRequestIDHeader, t.nextRequest())
		headers.Set(corev1.StreamType, corev1.StreamTypeError)
		var p pair
		if p.errors, p.err = l.create(headers); p.err == nil {
			_ = p.errors.Close() // our half: we send no errors
			headers = headers.Clone()
			headers.Set(corev1.StreamType, corev1.StreamTypeData)
			p.data, p.err = l.create(headers)
		}
		made <- p
	}()
	select {
	case p := <-made:
		if p.err != nil {
			return nil, fmt.Errorf("opening a stream: %w", p.err)
		}
		c := &streamConn{data: p.data, errors: p.errors, port: port, done: make(chan struct{})}
		c.forget = func() { l.RemoveStreams(p.data, p.errors) }
		c.broken = func() { t.drop(l) }
		go c.readErrors()
		return c, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("opening a stream: %w", ctx.Err())
	}
}
