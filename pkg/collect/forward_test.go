package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// proxyPage is a proxy's admin endpoint, and counts its connections.
func proxyPage(t *testing.T, h http.HandlerFunc) (port uint16, connections *atomic.Int32) {
	t.Helper()
	connections = new(atomic.Int32)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return uint16(srv.Listener.Addr().(*net.TCPAddr).Port), connections
}

func getter(t *testing.T, s *apiServer, port uint16) (*Forwarder, *Getter) {
	t.Helper()
	f := &Forwarder{Config: s.config, Client: s.client.CoreV1().RESTClient()}
	g := f.Getter("shop", "a", port)
	g.Timeout = 20 * time.Second
	t.Cleanup(func() {
		g.Close()
		_ = f.Close()
	})
	return f, g
}

func hello(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.URL.String()) }

// One link and one connection in it serve all requests.
func TestGetKeepsOneConnection(t *testing.T) {
	for over, refuseWebSocket := range map[string]func(http.ResponseWriter){
		"websocket": nil,
		"spdy":      func(w http.ResponseWriter) { http.Error(w, "no upgrade here", http.StatusBadGateway) },
	} {
		t.Run(over, func(t *testing.T) {
			s, k := serveForward(t)
			k.refuseWebSocket = refuseWebSocket
			port, connections := proxyPage(t, hello)
			_, g := getter(t, s, port)
			for i := range 3 {
				resp, err := g.Get(t.Context(), fmt.Sprintf("/metrics?i=%d", i))
				if err != nil {
					t.Fatal(err)
				}
				if want := fmt.Sprintf("hello /metrics?i=%d", i); string(resp.Body) != want || resp.Status != http.StatusOK {
					t.Errorf("%d %q, want %q", resp.Status, resp.Body, want)
				}
			}
			if n := connections.Load(); n != 1 {
				t.Errorf("%d connections in the pod", n)
			}
			if got := k.upgrades(); !slices.Equal(got, []string{over}) {
				t.Errorf("links over %v", got)
			}
		})
	}
}

func TestGetDialsAgainWhenTheLinkBreaks(t *testing.T) {
	for _, over := range []string{"websocket", "spdy"} {
		t.Run(over, func(t *testing.T) {
			s, k := serveForward(t)
			if over == "spdy" {
				k.refuseWebSocket = func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) }
			}
			port, _ := proxyPage(t, hello)
			f, g := getter(t, s, port)
			for range 3 {
				if _, err := g.Get(t.Context(), "/"); err != nil {
					t.Fatal(err)
				}
				k.cut()
				<-f.tunnels["shop/a"].link.CloseChan()
			}
			if got := k.upgrades(); !slices.Equal(got, []string{over, over, over}) {
				t.Errorf("links over %v", got)
			}
			// What was refused once is not tried first again.
			asked := []string{over, over, over}
			if over == "spdy" {
				asked = append([]string{"websocket"}, asked...)
			}
			if !slices.Equal(k.asked, asked) {
				t.Errorf("asked for %v, want %v", k.asked, asked)
			}
		})
	}
}

// net/http puts words of its own around an error, depending on when it comes.
func TestGetTellsRefusalsInOurWords(t *testing.T) {
	for _, problem := range []error{&RefusedConnectionError{Port: 4191}, &ForwardError{Message: "sandbox not found"}} {
		g := &Getter{namespace: "shop", pod: "a", port: 4191, client: &http.Client{
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", problem)
			}),
		}}
		_, err := g.Get(t.Context(), "/metrics")
		if want := "asking pod shop/a for /metrics on port 4191: " + problem.Error(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestGetReadsGzip(t *testing.T) {
	s, _ := serveForward(t)
	page := strings.Repeat("tokio_rt_workers 1\n", 10000)
	port, _ := proxyPage(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Errorf("gzip was not asked for: %v", r.Header)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, page)
		_ = z.Close()
	})
	_, g := getter(t, s, port)
	resp, err := g.Get(t.Context(), "/metrics")
	if err != nil || string(resp.Body) != page {
		t.Errorf("%d bytes, %v", len(resp.Body), err)
	}
}

// A page of a hostile pod does not fill the memory, nor send us elsewhere.
func TestGetIsBounded(t *testing.T) {
	s, _ := serveForward(t)
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	_, _ = io.CopyN(z, zeroReader{}, maxBody+1)
	_ = z.Close()
	port, _ := proxyPage(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(zeros.Bytes())
	})
	_, g := getter(t, s, port)
	if _, err := g.Get(t.Context(), "/"); err == nil || !strings.HasSuffix(err.Error(), "the answer is larger than 32 MiB") {
		t.Errorf("err = %v", err)
	}
	if resp, err := g.Get(t.Context(), "/elsewhere"); err != nil || resp.Status != http.StatusFound {
		t.Errorf("%d, %v", resp.Status, err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestGetErrors(t *testing.T) {
	closed := func() uint16 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return uint16(l.Addr().(*net.TCPAddr).Port)
	}()
	verb := func(verb string) string {
		return `pods "a" is forbidden: User "jo" cannot ` + verb + ` resource "pods/portforward" in API group "" in the namespace "shop"`
	}
	prefix := fmt.Sprintf("asking pod shop/a for /metrics on port %d: ", closed)
	tests := map[string]struct {
		kubelet func(*kubelet)
		want    string
		is      func(error) bool
	}{
		"nothing listens": {
			want: prefix + fmt.Sprintf("nothing listens on %d in that pod", closed),
			is:   isA[*RefusedConnectionError],
		},
		"the kubelet's own words": {
			kubelet: func(k *kubelet) { k.say = "sandbox not found" },
			want:    prefix + "sandbox not found",
		},
		"WebSocket lacks create, so does SPDY": {
			kubelet: func(k *kubelet) { k.refuseWebSocket, k.refuseSPDY = forbid("forbidden: "), forbid(verb("create")) },
			want:    "not allowed to get and create pods/portforward in namespace shop: " + verb("create"),
			is:      isA[*ForbiddenError],
		},
		"both say nothing more than forbidden": {
			kubelet: func(k *kubelet) { k.refuseWebSocket, k.refuseSPDY = forbid("forbidden: "), forbid("forbidden: ") },
			want:    "not allowed to get and create pods/portforward in namespace shop",
			is:      isA[*ForbiddenError],
		},
		"forbidden over the one, no such thing over the other": {
			kubelet: func(k *kubelet) {
				k.refuseWebSocket = forbid(verb("get"))
				k.refuseSPDY = func(w http.ResponseWriter) { http.Error(w, "SPDY is dead", http.StatusBadRequest) }
			},
			want: "not allowed to get and create pods/portforward in namespace shop: " + verb("get"),
			is:   isA[*ForbiddenError],
		},
		"a webhook": {
			kubelet: func(k *kubelet) {
				k.refuseWebSocket = forbid(`admission webhook "w" denied the request: no forwards`)
				k.refuseSPDY = k.refuseWebSocket
			},
			want: `refused by the cluster: admission webhook "w" denied the request: no forwards`,
			is:   isA[*RefusedError],
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, k := serveForward(t)
			if tt.kubelet != nil {
				tt.kubelet(k)
			}
			_, g := getter(t, s, closed)
			_, err := g.Get(t.Context(), "/metrics")
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
			if tt.is != nil && !tt.is(err) {
				t.Errorf("it is a %T", err)
			}
		})
	}
}

// A refused connection costs no link: the next one is tried over the same.
func TestGetKeepsTheLinkWhenNothingListens(t *testing.T) {
	s, k := serveForward(t)
	port, _ := proxyPage(t, hello)
	f, g := getter(t, s, port)
	none := f.Getter("shop", "a", 1)
	for range 2 {
		if _, err := none.Get(t.Context(), "/"); !isA[*RefusedConnectionError](err) {
			t.Errorf("err = %v", err)
		}
		if _, err := g.Get(t.Context(), "/"); err != nil {
			t.Error(err)
		}
	}
	if got := k.upgrades(); len(got) != 1 {
		t.Errorf("links over %v", got)
	}
}

// A stalled proxy takes a connection and says nothing.
func TestGetTimesOut(t *testing.T) {
	s, _ := serveForward(t)
	port, _ := proxyPage(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			<-r.Context().Done()
		}
	})
	_, g := getter(t, s, port)
	if _, err := g.Get(t.Context(), "/ready"); err != nil {
		t.Fatal(err)
	}
	g.Timeout = 50 * time.Millisecond
	_, err := g.Get(t.Context(), "/metrics")
	if want := fmt.Sprintf("no answer on %d within 50ms", port); !isA[*NoAnswerError](err) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("err = %v", err)
	}
	// What the API server is slow to do is not blamed on the pod.
	silent := make(chan struct{})
	s2, k := serveForward(t)
	k.mute = silent
	defer close(silent)
	_, g2 := getter(t, s2, port)
	g2.Timeout = 50 * time.Millisecond
	_, err = g2.Get(t.Context(), "/metrics")
	if want := "no connection through the API server within 50ms"; isA[*NoAnswerError](err) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Get(ctx, "/metrics"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// A link that takes streams but never answers is dropped, and does not keep
// anything.
func TestDialGivesUpADeadLink(t *testing.T) {
	s, k := serveForward(t)
	silent := make(chan struct{})
	k.mute = silent
	f := &Forwarder{Config: s.config, Client: s.client.CoreV1().RESTClient()}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := f.Dial(ctx, "shop", "a", 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	close(silent)
	port, _ := proxyPage(t, hello)
	c, err := f.Dial(t.Context(), "shop", "a", port)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if got := k.upgrades(); len(got) != 2 {
		t.Errorf("links over %v", got)
	}
}

func TestStreamConnDeadline(t *testing.T) {
	s, _ := serveForward(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := &Forwarder{Config: s.config, Client: s.client.CoreV1().RESTClient()}
	defer f.Close()
	c, err := f.Dial(t.Context(), "shop", "a", uint16(l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestForwarderReleaseAndClose(t *testing.T) {
	s, k := serveForward(t)
	port, _ := proxyPage(t, hello)
	f, g := getter(t, s, port)
	for range 2 {
		if _, err := g.Get(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
		f.Release("shop", "a")
	}
	if got := k.upgrades(); len(got) != 2 {
		t.Errorf("links over %v", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Get(t.Context(), "/"); !errors.Is(err, errClosed) {
		t.Errorf("err = %v", err)
	}
}
