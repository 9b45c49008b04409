package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// command is what is run in a container, and its streams; nil ones are not
// opened.
type command struct {
	namespace, pod, container string
	words                     []string
	stdin                     io.Reader
	stdout, stderr            io.Writer
}

// run runs a command in a container and returns when it has ended, or with the
// context. stdout and stderr are written by goroutines of their own, which may
// still write for a moment after the context has ended. stdin must give io.EOF
// then.
//
// It tries WebSocket first and SPDY when that is refused, as kubectl does. The
// API server asks for get on pods/exec for the one, and since Kubernetes 1.35
// for create too, and for create for the other.
func (e *Execer) run(ctx context.Context, c command) error {
	to := e.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(c.namespace).Name(c.pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: c.container, Command: c.words,
			Stdin: c.stdin != nil, Stdout: c.stdout != nil, Stderr: c.stderr != nil,
		}, scheme.ParameterCodec).URL()
	websocket, err := remotecommand.NewWebSocketExecutor(e.Config, http.MethodGet, to.String())
	if err != nil {
		return err
	}
	overSPDY, err := spdyExecutor(e, to)
	if err != nil {
		return err
	}
	var first error
	executor, err := remotecommand.NewFallbackExecutor(websocket, overSPDY, func(err error) bool {
		first = err
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	// client-go would log every stream that breaks to stderr, where the screen is.
	err = executor.StreamWithContext(klog.NewContext(ctx, klog.New(nil)), remotecommand.StreamOptions{
		Stdin: c.stdin, Stdout: c.stdout, Stderr: c.stderr,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return forbiddenExec(c.namespace, first, err)
}

func spdyExecutor(e *Execer, to *url.URL) (remotecommand.Executor, error) {
	transport, upgrader, err := spdyTransport(e.Config)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewSPDYExecutorForTransports(transport, spdy.NewUpgraderForStreaming(tellingUpgrader{upgrader}), http.MethodPost, to)
}

// tellingUpgrader keeps the API server's Status where the library makes a
// sentence of it.
type tellingUpgrader struct{ httpstream.UpgradeRoundTripper }

func (u tellingUpgrader) NewConnection(resp *http.Response) (httpstream.Connection, error) {
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, &httpstream.UpgradeFailureError{Cause: statusOf(resp)}
	}
	return u.UpgradeRoundTripper.NewConnection(resp)
}

// forbiddenExec names the right that is missing. Over WebSocket the API server
// says "cannot get" when that verb is missing, and only "forbidden: " when
// create is.
func forbiddenExec(namespace string, overWebSocket, err error) error {
	var refused *httpstream.UpgradeFailureError
	if !errors.As(err, &refused) {
		return err
	}
	// The library's error does not unwrap.
	typed := asForbidden(refused.Cause, "create", "pods/exec", namespace)
	if typed == nil {
		if status := statusError(refused.Cause); status != nil {
			return status
		}
		return err
	}
	var forbidden *ForbiddenError
	if errors.As(typed, &forbidden) && errors.As(overWebSocket, &refused) &&
		strings.Contains(refused.Cause.Error(), "cannot get resource") {
		forbidden.Verb = "get and create"
	}
	return typed
}

func statusError(err error) error {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	return nil
}

// exitCode is the code that a command ended with, if that is what the error
// says.
func exitCode(err error) (int, bool) {
	var exit exec.CodeExitError
	if errors.As(err, &exit) {
		return exit.Code, true
	}
	return 0, false
}

// answered says whether an error is a container's own answer to a command, which
// will be the same the next time: the program is not there, or does not run.
// Any other may be of the way to it, or of a container that restarts.
func answered(err error) bool {
	if code, ok := exitCode(err); ok {
		return code < 128 // more is a signal: the container ended
	}
	var status *apierrors.StatusError
	var upgrade *httpstream.UpgradeFailureError
	return err != nil && !final(err) && !passing(err) && !errors.As(err, &status) && !errors.As(err, &upgrade) && !notRunning.MatchString(err.Error())
}

// passing says whether an error is of the way to a pod: the API server or the
// kubelet is away, or busy.
func passing(err error) bool {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status.ErrStatus.Code >= 500 || status.ErrStatus.Code == http.StatusTooManyRequests
	}
	var network net.Error
	var errno syscall.Errno
	return errors.As(err, &network) || errors.As(err, &errno) || errors.Is(err, errNoFrame) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// notRunning matches what kubelets and runtimes say of a container that is
// between two lives.
var notRunning = regexp.MustCompile(`container not found|CONTAINER_EXITED|not running|not created or running|stopped container`)

// words keeps the end of what a command says. Streams are copied by goroutines
// of their own, which outlive a call that is given up.
type words struct {
	mu  sync.Mutex
	end tail
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end.Write(p)
}

// line is the last line.
func (w *words) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end.line()
}

// maxAnswer bounds what is quoted of a container's answer, in runes.
const maxAnswer = 160

// answer tells in one short line what a container said to a command.
func answer(err error, said string) string {
	var with *saidError
	if said == "" && errors.As(err, &with) {
		said = with.said
	}
	text := said
	switch code, ok := exitCode(err); {
	case ok && said != "":
		text = fmt.Sprintf("%s (exit code %d)", said, code)
	case ok:
		text = fmt.Sprintf("exit code %d", code)
	case err != nil:
		text = err.Error()
		// What the layers above the runtime put before it is long, and of no use.
		if i := strings.LastIndex(text, "exec failed: "); i >= 0 {
			text = text[i+len("exec failed: "):]
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxAnswer {
		text = string(r[:maxAnswer]) + "…"
	}
	return text
}
