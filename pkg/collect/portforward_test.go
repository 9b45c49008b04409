package collect

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	gorilla "github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	portforwardconst "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
)

// kubelet is the other side of a port-forward: it speaks the protocol over
// WebSocket and SPDY and connects to ports of this machine.
type kubelet struct {
	t *testing.T
	// refuseWebSocket and refuseSPDY answer an upgrade with a refusal; nil: none.
	refuseWebSocket, refuseSPDY func(http.ResponseWriter)
	// say is put on the error stream instead of connecting; empty: connect.
	say string
	// mute, when set, is waited for before a stream is answered.
	mute chan struct{}

	mu      sync.Mutex
	links   []httpstream.Connection
	over    []string // "websocket" or "spdy", of each link
	asked   []string // the same of each request, refused ones too
	streams sync.WaitGroup
}

// serveForward gives an API server and the kubelet behind it.
func serveForward(t *testing.T) (*apiServer, *kubelet) {
	t.Helper()
	k := &kubelet{t: t}
	s := newAPIServer(t)
	s.extra = k
	t.Cleanup(func() {
		k.cut()
		k.streams.Wait()
	})
	return s, k
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/shop/pods/a/portforward" {
		k.t.Errorf("asked for %s", r.URL.Path)
		return
	}
	var link httpstream.Connection
	over := "spdy"
	if gorilla.IsWebSocketUpgrade(r) {
		over = "websocket"
	}
	k.mu.Lock()
	k.asked = append(k.asked, over)
	k.mu.Unlock()
	if over == "websocket" {
		if k.refuseWebSocket != nil {
			k.refuseWebSocket(w)
			return
		}
		up := gorilla.Upgrader{Subprotocols: []string{portforwardconst.WebsocketsSPDYTunnelingPortForwardV1}}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			k.t.Error(err)
			return
		}
		if link, err = streamspdy.NewServerConnection(portforward.NewTunnelingConnection("server", ws), k.handler()); err != nil {
			k.t.Error(err)
			return
		}
	} else {
		if k.refuseSPDY != nil {
			k.refuseSPDY(w)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			k.t.Error(err)
			return
		}
		link = streamspdy.NewResponseUpgrader().UpgradeResponse(w, r, k.handler())
	}
	k.mu.Lock()
	k.links = append(k.links, link)
	k.over = append(k.over, over)
	k.mu.Unlock()
	<-link.CloseChan()
}

// upgrades tells over what each link came.
func (k *kubelet) upgrades() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.over...)
}

// cut breaks all links.
func (k *kubelet) cut() {
	k.mu.Lock()
	links := k.links
	k.links = nil
	k.mu.Unlock()
	for _, l := range links {
		_ = l.Close()
	}
}

// handler pairs the streams of one link by their request ID.
func (k *kubelet) handler() httpstream.NewStreamHandler {
	var mu sync.Mutex
	errors := map[string]httpstream.Stream{}
	return func(s httpstream.Stream, replySent <-chan struct{}) error {
		if k.mute != nil {
			<-k.mute
		}
		h := s.Headers()
		id, port := h.Get(corev1.PortForwardRequestIDHeader), h.Get(corev1.PortHeader)
		mu.Lock()
		defer mu.Unlock()
		if h.Get(corev1.StreamType) == corev1.StreamTypeError {
			errors[id] = s
			return nil
		}
		es := errors[id]
		if es == nil || port == "" {
			return fmt.Errorf("data stream %q for port %q without an error stream", id, port)
		}
		delete(errors, id)
		k.streams.Add(1)
		go func() {
			defer k.streams.Done()
			<-replySent
			k.forward(s, es, port)
		}()
		return nil
	}
}

func (k *kubelet) forward(data, errors httpstream.Stream, port string) {
	defer func() { _ = data.Close(); _ = errors.Close() }()
	if k.say != "" {
		_, _ = io.WriteString(errors, k.say)
		return
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		// As containerd words it.
		_, _ = fmt.Fprintf(errors, "failed to execute portforward in network namespace %q: failed to connect to localhost:%s inside namespace: %v\n", "/var/run/netns/x", port, err)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(conn, data)
		_ = conn.Close()
	}()
	_, _ = io.Copy(data, conn)
	_ = conn.Close()
	_ = data.Reset()
	<-done
}

// forbid answers as the API server's authorizer does.
func forbid(message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, message)
	}
}
