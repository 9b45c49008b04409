package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The way to a proxy's metrics, and what may be at its end.

// gateway stands in front of the API server and speaks for the administrator.
// It refuses to upgrade to some protocols, as proxies in companies do.
type gateway struct {
	*httptest.Server

	mu       sync.Mutex
	upgrades []string // protocol and answer, "websocket 403"
}

func newGateway(t *testing.T, refused string, code int) *gateway {
	t.Helper()
	config := rest.CopyConfig(cluster.config)
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrades
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol := strings.ToLower(r.Header.Get("Upgrade"))
		if protocol != "" {
			g.note(protocol)
		}
		if protocol == refused {
			http.Error(w, "upgrades to "+protocol+" are not allowed here", code)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

func (g *gateway) note(protocol string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.upgrades = append(g.upgrades, protocol)
}

func (g *gateway) asked() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.upgrades)
}

// Where WebSocket is refused, metrics come over SPDY, and the other way round;
// what was refused once is not tried for each pod again.
func TestUpgradeRefused(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{"LINKERD2_PROXY_CORES": "2"}))
	e.running("a")
	for _, tt := range []struct {
		refused string
		code    int
		want    string // how the way was found
	}{
		{"websocket", http.StatusForbidden, "websocket spdy/3.1"},
		{"websocket", http.StatusBadRequest, "websocket spdy/3.1"},
		{"spdy/3.1", http.StatusForbidden, "websocket"},
	} {
		g := newGateway(t, tt.refused, tt.code)
		r := e.backlog("get", "a", "-o", "json", "--window", "1s", "--server", g.URL)
		p := e.parse(r.stdout)["a"]
		if r.code != 0 || p.Runtime.Workers != model.Known[int64](2) || !p.Runtime.Window.Busy.IsKnown() || p.Collection.Metrics != "" {
			t.Errorf("%s is refused with %d: code %d, workers %+v, busy %+v, %q", tt.refused, tt.code, r.code, p.Runtime.Workers, p.Runtime.Window.Busy, p.Collection.Metrics)
		}
		if got := strings.Join(g.asked(), " "); got != tt.want {
			t.Errorf("%s is refused with %d: it asked for %q, want %q", tt.refused, tt.code, got, tt.want)
		}
	}
}

// admin is a pod that passes for one of Linkerd's, of whose proxy there is only
// this script on the admin port.
func admin(name, script string) *corev1.Pod {
	return proxyPod(name, nil, func(p *corev1.Pod) {
		c := sleeper("linkerd-proxy", toolsImage)
		c.Command = []string{"sh", "-c", "trap 'exit 0' TERM; " + script + " & while :; do sleep 1; done"}
		p.Labels["test"] = "admin"
		p.Spec.Containers = []corev1.Container{c}
		p.Spec.ShareProcessNamespace = nil
	})
}

// Whatever answers on the admin port, the queues are shown, the reason stands
// with the workers, and the program stays small.
func TestAdminPortMisbehaves(t *testing.T) {
	e := newEnv(t, nil)
	// answering runs a script for each connection, after the request was read.
	answering := func(script string) string {
		return `printf '%s\n' '#!/bin/sh' 'cr=$(printf "\r")' 'while read -r l && [ "$l" != "$cr" ]; do :; done' '` + script +
			`' >/answer && chmod 755 /answer && nc -ll -p 4191 -e /answer`
	}
	const head = `printf "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"; `
	for name, script := range map[string]string{
		"closed": `sleep 1`,
		"slow":   answering(head + `while sleep 1; do printf "#"; done`),
		"silent": answering(`sleep 3600`),
		"html":   `mkdir /www && echo '<!DOCTYPE html><html><body>Sign in</body></html>' >/www/metrics && httpd -f -p 4191 -h /www`,
		"huge":   `mkdir /www && yes 'requests_total{path="/"} 1' | head -c 52428800 >/www/metrics && httpd -f -p 4191 -h /www`,
		"cut":    answering(head + `printf "tokio_rt_workers 2\ntokio_rt_wor"`),
	} {
		e.create(admin(name, script))
	}
	want := map[string]string{
		"closed": "nothing listens on 4191 in that pod",
		"slow":   "no answer on 4191 within 2s",
		"silent": "no answer on 4191 within 2s",
		"html":   "not a metrics page: starts with",
		"huge":   "larger than 32 MiB",
		"cut":    "unexpected EOF",
	}
	for name := range want {
		e.running(name)
	}
	e.eventually("the huge page to be written", func() error {
		if out := e.exec("huge", "linkerd-proxy", "sh", "-c", "wc -c </www/metrics"); strings.TrimSpace(out) != "52428800" {
			return errorf("%s", out)
		}
		return nil
	})
	p := e.start("get", "-l", "test=admin", "-o", "json", "--window", "0")
	code := p.wait()
	pods := e.parse(p.stdout())
	t.Log(p.stderr())
	for name, reason := range want {
		pod := pods[name]
		if pod.Collection.Stage != model.StageOK {
			t.Errorf("%s: the queues are not shown: %+v", name, pod.Collection)
		}
		if pod.Runtime.Workers.IsKnown() || pod.Runtime.Window.Busy.IsKnown() {
			t.Errorf("%s: workers %+v, busy %+v", name, pod.Runtime.Workers, pod.Runtime.Window.Busy)
		}
		if m := pod.Collection.Metrics; m == "" || !strings.Contains(m, reason) || !strings.Contains(p.stderr(), m) {
			t.Errorf("%s: %q, want %q, and on stderr", name, m, reason)
		}
		if why := pod.reason("runtime.workers"); why == "" {
			t.Errorf("%s: nothing says why the workers are unknown", name)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d: the queues were read", code)
	}
	if use, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && use.Maxrss > 250<<10 {
		t.Errorf("it took %d MiB of memory", use.Maxrss>>10)
	}
}
