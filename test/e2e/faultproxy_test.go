package e2e

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// wire stands between the program and the API server and can be broken as a
// network can: it passes bytes on without looking into them.
type wire struct {
	*testing.T
	address, upstream string

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	gate     chan struct{}
	conns    map[*wireConn]bool
	running  sync.WaitGroup
}

// wireConn is one connection through a wire. Its gate is closed while bytes pass.
type wireConn struct {
	gate <-chan struct{} // guarded by wire.mu
	end  chan struct{}

	mu    sync.Mutex
	ended bool
	ends  []net.Conn
}

// add takes an end of the connection, which is closed with it.
func (c *wireConn) add(end net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		end.Close()
	}
	c.ends = append(c.ends, end)
}

func (c *wireConn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.end)
	for _, end := range c.ends {
		end.Close()
	}
}

// newWire opens a wire to the API server, which goes with the test.
func newWire(t *testing.T) *wire { t.Helper(); return wireTo(t, apiServer(t).Host) }

func apiServer(t *testing.T) *url.URL {
	t.Helper()
	server, err := url.Parse(cluster.config.Host)
	if err != nil {
		t.Fatalf("reading the API server's address: %v", err)
	}
	return server
}

func wireTo(t *testing.T, upstream string) *wire {
	t.Helper()
	open := make(chan struct{})
	close(open)
	w := &wire{T: t, upstream: upstream, gate: open, conns: map[*wireConn]bool{}}
	w.listen("127.0.0.1:0")
	t.Cleanup(func() {
		w.refuse()
		w.cut()
		w.running.Wait()
	})
	return w
}

// url is what the program is given as --server.
func (w *wire) url() string { return "https://" + w.address }

func (w *wire) listen(address string) {
	w.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		w.Fatalf("listening on %s: %v", address, err)
	}
	w.address = l.Addr().String()
	w.mu.Lock()
	w.listener = l
	w.mu.Unlock()
	w.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.running.Go(func() { w.carry(c) })
		}
	})
}

// carry dials the API server once bytes may pass, as if it had been asked only then.
func (w *wire) carry(client net.Conn) {
	c := &wireConn{end: make(chan struct{})}
	c.add(client)
	w.mu.Lock()
	c.gate = w.gate
	w.conns[c] = true
	w.mu.Unlock()
	defer func() {
		c.close()
		w.mu.Lock()
		delete(w.conns, c)
		w.mu.Unlock()
	}()
	if !w.wait(c) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", w.upstream)
	if err != nil {
		return
	}
	c.add(server)
	var both sync.WaitGroup
	both.Go(func() { w.pump(c, server, client) })
	both.Go(func() { w.pump(c, client, server) })
	both.Wait()
}

func (w *wire) pump(c *wireConn, to io.Writer, from io.Reader) {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !w.wait(c) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			w.wait(c) // the other side does not learn of it before bytes pass again
			return
		}
	}
}

// wait blocks while the wire is a black hole; it is false when c was cut.
func (w *wire) wait(c *wireConn) bool {
	w.mu.Lock()
	gate := c.gate
	w.mu.Unlock()
	select {
	case <-gate:
		return true
	case <-c.end:
		return false
	}
}

// cut ends all connections now.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.close()
	}
}

// refuse lets no new connection in.
func (w *wire) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil {
		w.listener.Close()
		w.listener = nil
	}
}

// accept lets connections in again, at the same address.
func (w *wire) accept() { w.Helper(); w.listen(w.address) }

// swallow makes the wire a black hole: connections stand, new ones are taken,
// and no byte passes.
func (w *wire) swallow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gate = make(chan struct{})
	for c := range w.conns {
		c.gate = w.gate
	}
}

// pass ends the black hole. What was under way arrives late, as after packets
// that were sent again; with forget the connections of before stay dead, as those
// that a firewall has forgotten.
func (w *wire) pass(forget bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if forget {
		never := make(chan struct{})
		for c := range w.conns {
			c.gate = never
		}
	}
	close(w.gate)
}

// apiProxy is an HTTP proxy in front of the API server, with the test's own
// credentials towards it. It can answer in its stead, and end an answer early.
type apiProxy struct {
	// wire is in front of it, so that its connections can be cut too.
	*wire

	mu     sync.Mutex
	answer func(http.ResponseWriter, *http.Request) bool
	limit  func(*http.Request) int64
}

func newAPIProxy(t *testing.T) *apiProxy {
	t.Helper()
	config := rest.CopyConfig(cluster.config)
	config.NextProtos = []string{"http/1.1"} // what is upgraded cannot be HTTP/2
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatalf("connecting to the API server: %v", err)
	}
	server := apiServer(t)
	g := &apiProxy{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(r *http.Response) error {
			if n := g.limitOf(r.Request); n >= 0 {
				r.Body = &cutBody{ReadCloser: r.Body, left: n}
			}
			return nil
		},
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	s := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // of connections that were cut
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.mu.Lock()
			answer := g.answer
			g.mu.Unlock()
			if answer != nil && answer(w, r) {
				return
			}
			proxy.ServeHTTP(w, r)
		}),
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	g.wire = wireTo(t, l.Addr().String())
	return g
}

// url is what the program is given as --server.
func (g *apiProxy) url() string { return "http://" + g.address }

// answers has f answer requests instead of the API server, where it is true; nil
// is the API server again.
func (g *apiProxy) answers(f func(http.ResponseWriter, *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = f
}

// cuts ends an answer after as many bytes as f says; less than 0 leaves it whole.
func (g *apiProxy) cuts(f func(*http.Request) int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = f
}

func (g *apiProxy) limitOf(r *http.Request) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit == nil {
		return -1
	}
	return g.limit(r)
}

var errCut = errors.New("cut by the test")

type cutBody struct {
	io.ReadCloser
	left int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errCut
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
