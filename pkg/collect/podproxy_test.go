package collect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// proxied is an API server that allows neither or one of the ways to a pod.
type proxied struct {
	*kubelet
	page http.HandlerFunc // behind the pod proxy

	mu    sync.Mutex
	asked []string // "proxy" or "tunnel"
}

func (p *proxied) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const proxy = "/api/v1/namespaces/shop/pods/a:4191/proxy"
	path, isProxy := strings.CutPrefix(r.URL.Path, proxy)
	p.mu.Lock()
	if isProxy {
		p.asked = append(p.asked, "proxy")
	} else if !strings.Contains(strings.ToLower(r.Header.Get("Upgrade")), "spdy") {
		p.asked = append(p.asked, "tunnel")
	}
	page := p.page
	p.mu.Unlock()
	if !isProxy {
		p.kubelet.ServeHTTP(w, r)
		return
	}
	r.URL.Path = path
	page(w, r)
}

// took gives what was asked for since the last call.
func (p *proxied) took() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.Join(p.asked, " ")
	p.asked = nil
	return text
}

const (
	noTunnel = `pods "a" is forbidden: User "eve" cannot create resource "pods/portforward" in API group "" in the namespace "shop"`
	noProxy  = `pods "a:4191" is forbidden: User "eve" cannot get resource "pods/proxy" in API group "" in the namespace "shop"`
)

// serveProxy gives a FallbackGetter whose clock stands still.
func serveProxy(t *testing.T) (*proxied, *FallbackGetter, *time.Time) {
	t.Helper()
	s, k := serveForward(t)
	p := &proxied{kubelet: k, page: hello}
	s.extra = p
	_, g := getter(t, s, 4191)
	proxy, err := NewPodProxy(s.config, s.client.CoreV1().RESTClient())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.http.CloseIdleConnections)
	clock := time.Unix(1000, 0)
	return p, &FallbackGetter{Getter: g, Proxy: proxy, Now: func() time.Time { return clock }}, &clock
}

// A port-forward that is not allowed, or that something on the way does not
// know, is not asked for with every page; after a minute it is.
func TestFallbackAsksAgainAfterAMinute(t *testing.T) {
	for name, no := range map[string]func(http.ResponseWriter){
		"forbidden":  forbid(noTunnel),
		"no upgrade": func(w http.ResponseWriter) { http.Error(w, "<html>what is an upgrade?</html>", http.StatusBadRequest) },
		"a webhook":  forbid(`admission webhook "x" denied the request: no`),
	} {
		t.Run(name, func(t *testing.T) {
			p, g, clock := serveProxy(t)
			p.refuseWebSocket, p.refuseSPDY = no, no
			for range 3 {
				resp, err := g.Get(t.Context(), "/metrics?a=b%20c")
				if err != nil {
					t.Fatal(err)
				}
				if string(resp.Body) != "hello /metrics?a=b%20c" || resp.Status != http.StatusOK {
					t.Errorf("%d %q", resp.Status, resp.Body)
				}
			}
			if got := p.took(); got != "tunnel proxy proxy proxy" {
				t.Errorf("asked %s", got)
			}
			if g.Proxied() == nil {
				t.Error("says that pages come through a port-forward")
			}
			*clock = clock.Add(time.Minute)
			if _, err := g.Get(t.Context(), "/"); err != nil || p.took() != "tunnel proxy" {
				t.Errorf("after a minute: %v", err)
			}
			// Allowed at last: no page comes through the proxy any more.
			*clock = clock.Add(time.Minute)
			p.refuseWebSocket, p.refuseSPDY = nil, nil
			_, err := g.Get(t.Context(), "/")
			var nobody *RefusedConnectionError // nothing listens on 4191 here
			if !errors.As(err, &nobody) || g.Proxied() != nil || p.took() != "tunnel" {
				t.Errorf("when it is allowed: %v, %v", err, g.Proxied())
			}
		})
	}
}

// What is refused both ways is told of both, and asked for once a minute.
func TestFallbackTellsBothReasons(t *testing.T) {
	p, g, clock := serveProxy(t)
	p.refuseWebSocket, p.refuseSPDY = forbid("forbidden: "), forbid(noTunnel)
	p.page = func(w http.ResponseWriter, _ *http.Request) { forbid(noProxy)(w) }
	for range 3 {
		_, err := g.Get(t.Context(), "/metrics")
		var forbidden *ForbiddenError
		if !errors.As(err, &forbidden) || forbidden.Resource != "pods/portforward" {
			t.Fatalf("got %v", err)
		}
		if !strings.Contains(err.Error(), noTunnel) || !strings.Contains(err.Error(), "not allowed to get pods/proxy in namespace shop") {
			t.Errorf("got %v", err)
		}
	}
	if got := p.took(); got != "tunnel proxy" {
		t.Errorf("asked %s", got)
	}
	*clock = clock.Add(time.Minute)
	_, _ = g.Get(t.Context(), "/metrics")
	if got := p.took(); got != "tunnel proxy" {
		t.Errorf("after a minute asked %s", got)
	}
}

// An answer of the pod, or none at all, and an API server in trouble are no
// refusals: the port-forward stays the way.
func TestFallbackKeepsToTheTunnel(t *testing.T) {
	away := func(w http.ResponseWriter) {
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "error dialing backend: connection refused")
	}
	for _, no := range []func(http.ResponseWriter){nil, away, func(w http.ResponseWriter) {
		refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
	}} {
		p, g, _ := serveProxy(t)
		p.refuseWebSocket, p.refuseSPDY = no, no
		if _, err := g.Get(t.Context(), "/"); err == nil {
			t.Error("no error")
		}
		if got := p.took(); got != "tunnel" {
			t.Errorf("asked %s", got)
		}
	}
}

// Whatever a pod answers is an answer, however it looks like the API server's;
// the API server's own words are errors in ours.
func TestPodProxyAnswers(t *testing.T) {
	var page atomic.Value // of http.HandlerFunc
	answers := func(h http.HandlerFunc) { page.Store(h) }
	s := newAPIServer(t)
	s.extra = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/shop/pods/a:4191/proxy/x/" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		page.Load().(http.HandlerFunc)(w, r)
	})
	proxy, err := NewPodProxy(s.config, s.client.CoreV1().RESTClient())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.http.CloseIdleConnections)
	get := func(limit time.Duration) (Response, error) {
		return proxy.Get(t.Context(), "shop", "a", 4191, "x/", limit)
	}

	for _, c := range []struct {
		code         int
		header, text string
	}{
		{503, "text/plain", "not ready"}, {403, "application/json", `{"error":"forbidden"}`}, {404, "application/json", "null"}, {200, "application/json", `{"kind":"Status"}`},
	} {
		answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.header)
			w.WriteHeader(c.code)
			_, _ = io.WriteString(w, c.text)
		})
		resp, err := get(time.Minute)
		if err != nil || resp.Status != c.code || string(resp.Body) != c.text {
			t.Errorf("%d %q: %d %q, %v", c.code, c.text, resp.Status, resp.Body, err)
		}
	}

	answers(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "error trying to reach service: dial tcp 10.0.0.7:4191: connect: connection refused")
	})
	var nobody *RefusedConnectionError
	if _, err := get(time.Minute); !errors.As(err, &nobody) || nobody.Port != 4191 {
		t.Errorf("got %v", err)
	}
	answers(func(w http.ResponseWriter, _ *http.Request) { forbid(noProxy)(w) })
	var forbidden *ForbiddenError
	if _, err := get(time.Minute); !errors.As(err, &forbidden) || forbidden.Verb+" "+forbidden.Resource != "get pods/proxy" {
		t.Errorf("got %v", err)
	}
	answers(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example.com/", http.StatusFound)
	})
	if resp, err := get(time.Minute); err != nil || resp.Status != http.StatusFound {
		t.Errorf("a redirect: %d, %v", resp.Status, err)
	}
	answers(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	var silent *NoAnswerError
	if _, err := get(10 * time.Millisecond); !errors.As(err, &silent) {
		t.Errorf("got %v", err)
	}
	answers(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if _, err := get(time.Minute); err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proxy.Get(ctx, "shop", "a", 4191, "x/", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
