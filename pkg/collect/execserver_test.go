package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	gorilla "github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
)

// execCall is one exec as the kubelet sees it. A container's function runs it
// and returns its exit code, or the runtime's words when it could not start.
type execCall struct {
	ctx            context.Context
	container      string
	words          []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// execKubelet is the other side of an exec: it speaks version 5 of the protocol
// over WebSocket, and 4 over SPDY.
type execKubelet struct {
	t *testing.T
	// refuseWebSocket and refuseSPDY answer an upgrade with a refusal; nil: none.
	refuseWebSocket, refuseSPDY func(http.ResponseWriter)
	// containers run a command, by name.
	containers map[string]func(execCall) (int, error)

	mu    sync.Mutex
	asked []string // container and first word, of each exec that came through
	over  []string
	links []func()
	wg    sync.WaitGroup
}

// serveExec gives an API server and the kubelet behind it.
func serveExec(t *testing.T) (*apiServer, *execKubelet) {
	t.Helper()
	k := &execKubelet{t: t, containers: map[string]func(execCall) (int, error){}}
	s := newAPIServer(t)
	s.extra = k
	t.Cleanup(func() {
		k.cut()
		k.wg.Wait()
	})
	return s, k
}

// cut breaks all links.
func (k *execKubelet) cut() {
	k.mu.Lock()
	links := k.links
	k.links = nil
	k.mu.Unlock()
	for _, f := range links {
		f()
	}
}

func (k *execKubelet) calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.asked...)
}

func (k *execKubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/shop/pods/a/exec" {
		k.t.Errorf("asked for %s", r.URL.Path)
		return
	}
	q := r.URL.Query()
	call := execCall{container: q.Get("container"), words: q["command"]}
	over := "spdy"
	if gorilla.IsWebSocketUpgrade(r) {
		over = "websocket"
	}
	k.mu.Lock()
	k.over = append(k.over, over)
	k.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call.ctx = ctx
	k.wg.Add(1)
	defer k.wg.Done()
	switch {
	case over == "websocket" && k.refuseWebSocket != nil:
		k.refuseWebSocket(w)
	case over == "websocket":
		k.overWebSocket(w, r, call, cancel)
	case k.refuseSPDY != nil:
		k.refuseSPDY(w)
	default:
		k.overSPDY(w, r, call, cancel)
	}
}

// status runs the call and gives what is put on its error stream.
func (k *execKubelet) status(call execCall) metav1.Status {
	k.mu.Lock()
	k.asked = append(k.asked, call.container+" "+call.words[0])
	run := k.containers[call.container]
	k.mu.Unlock()
	if run == nil {
		return metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: fmt.Sprintf("container not found (%q)", call.container)}
	}
	code, err := run(call)
	switch {
	case err != nil:
		return metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: err.Error()}
	case code != 0:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	return metav1.Status{Status: metav1.StatusSuccess}
}

func (k *execKubelet) overWebSocket(w http.ResponseWriter, r *http.Request, call execCall, cancel func()) {
	up := gorilla.Upgrader{Subprotocols: []string{remotecommand.StreamProtocolV5Name}}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		k.t.Error(err)
		return
	}
	k.mu.Lock()
	k.links = append(k.links, func() { cancel(); _ = ws.Close() })
	k.mu.Unlock()
	defer ws.Close()
	var mu sync.Mutex
	send := func(id byte) io.Writer {
		return writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return len(p), ws.WriteMessage(gorilla.BinaryMessage, append([]byte{id}, p...))
		})
	}
	out, in := io.Pipe()
	call.stdin, call.stdout, call.stderr = out, send(remotecommand.StreamStdOut), send(remotecommand.StreamStdErr)
	k.wg.Add(1)
	go func() {
		defer k.wg.Done()
		defer cancel() // the client is gone
		defer in.Close()
		for {
			_, message, err := ws.ReadMessage()
			switch {
			case err != nil:
				return
			case len(message) == 2 && message[0] == remotecommand.StreamClose:
				_ = in.Close()
			case len(message) > 1 && message[0] == remotecommand.StreamStdIn:
				_, _ = in.Write(message[1:])
			}
		}
	}()
	status, _ := json.Marshal(k.status(call))
	_, _ = send(remotecommand.StreamErr).Write(status)
	_ = out.Close()
	mu.Lock()
	defer mu.Unlock()
	_ = ws.WriteMessage(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""))
}

func (k *execKubelet) overSPDY(w http.ResponseWriter, r *http.Request, call execCall, cancel func()) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		k.t.Error(err)
		return
	}
	made := make(chan httpstream.Stream, 4)
	link := streamspdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		made <- s
		return nil
	})
	k.mu.Lock()
	k.links = append(k.links, func() { cancel(); _ = link.Close() })
	k.mu.Unlock()
	q := r.URL.Query()
	streams := map[string]httpstream.Stream{}
	for n := 1 + len(q["stdin"]) + len(q["stdout"]) + len(q["stderr"]); len(streams) < n; {
		select {
		case s := <-made:
			streams[s.Headers().Get(corev1.StreamType)] = s
		case <-link.CloseChan():
			return
		}
	}
	k.wg.Add(1)
	go func() {
		defer k.wg.Done()
		<-link.CloseChan()
		cancel()
	}()
	if s := streams[corev1.StreamTypeStdin]; s != nil {
		call.stdin = s
	}
	if s := streams[corev1.StreamTypeStdout]; s != nil {
		call.stdout = s
	}
	if s := streams[corev1.StreamTypeStderr]; s != nil {
		call.stderr = s
	}
	status, _ := json.Marshal(k.status(call))
	_, _ = streams[corev1.StreamTypeError].Write(status)
	_ = link.Close()
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// thisMachine runs a command for real.
func thisMachine(call execCall) (int, error) {
	cmd := exec.CommandContext(call.ctx, call.words[0], call.words[1:]...)
	cmd.Stdout, cmd.Stderr = call.stdout, call.stderr
	// Wait must not wait for whoever writes to the standard input.
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		if call.stdin != nil {
			_, _ = io.Copy(in, call.stdin)
		}
		_ = in.Close()
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode() & 0xff, nil
	}
	return 0, err
}

// withoutPrograms is a container that has none of what is asked for.
func withoutPrograms(call execCall) (int, error) {
	return 0, fmt.Errorf("Internal error occurred: error executing command in container: failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: exec: %q: executable file not found in $PATH: unknown", "0c1f", call.words[0])
}
