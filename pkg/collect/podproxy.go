package collect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
)

// PodProxy asks pods for pages through the API server, which makes the requests
// itself ("get" on pods/proxy). It needs no upgraded connection, which some
// proxies refuse, but the API server makes a new connection to the pod's own
// address whenever it likes: a page on loopback cannot be had, and a stalled
// proxy that answers only the connections it has does not answer.
type PodProxy struct {
	client rest.Interface
	http   *http.Client
}

// NewPodProxy reaches the API server as config says; client builds the URLs:
// clientset.CoreV1().RESTClient().
func NewPodProxy(config *rest.Config, client rest.Interface) (*PodProxy, error) {
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the way through the API server's pod proxy: %w", err)
	}
	own := *h // HTTPClientFor may give one that others use
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &PodProxy{client: client, http: &own}, nil
}

// Get asks a port of a pod for a page, within the limit. Any status of the
// pod's is an answer; what the API server says by itself is an error.
func (p *PodProxy) Get(ctx context.Context, namespace, pod string, port uint16, path string, limit time.Duration) (Response, error) {
	tryCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := p.get(tryCtx, namespace, pod, port, path)
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return Response{}, ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		err = &NoAnswerError{Port: port, After: limit}
	}
	return Response{}, fmt.Errorf("asking pod %s/%s for %s on port %d through the API server's pod proxy: %w", namespace, pod, path, port, err)
}

func (p *PodProxy) get(ctx context.Context, namespace, pod string, port uint16, path string) (Response, error) {
	page, err := url.Parse("/" + strings.TrimPrefix(path, "/"))
	if err != nil {
		return Response{}, err
	}
	to := p.client.Get().Namespace(namespace).Resource("pods").Name(pod + ":" + strconv.Itoa(int(port))).SubResource("proxy").URL().
		JoinPath(page.EscapedPath())
	to.RawQuery = page.RawQuery
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return Response{}, err
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return Response{}, unwrapURL(err)
	}
	defer resp.Body.Close()
	answer, err := readResponse(resp)
	if err != nil {
		return Response{}, err
	}
	if err := ownWords(answer, namespace, port); err != nil {
		return Response{}, err
	}
	return answer, nil
}

// ownWords tells what the API server says by itself from what a pod answers
// with the same status: only the API server's is a Status object.
func ownWords(r Response, namespace string, port uint16) error {
	if r.Status < http.StatusBadRequest || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	status := decodeStatus(r.Body)
	if status == nil {
		return nil
	}
	if typed := asForbidden(status, "get", "pods/proxy", namespace); typed != nil {
		return typed
	}
	if strings.Contains(status.Error(), "connection refused") {
		return &RefusedConnectionError{Port: port}
	}
	return status
}

// FallbackGetter asks for pages through a port-forward, and where that is not
// allowed through the API server's pod proxy. It never takes for granted that
// what was allowed still is; what was refused is not asked for again within a
// minute. It is not for use by several goroutines at once.
type FallbackGetter struct {
	*Getter
	Proxy *PodProxy
	// Now is the clock; time.Now when nil.
	Now func() time.Time

	tunnel, proxy refusal
}

// refusal is when and why a way was refused; zero when it was not.
type refusal struct {
	err error
	at  time.Time
}

// askAgain is how long a refusal is believed.
const askAgain = time.Minute

func (r refusal) holds(now time.Time) bool { return r.err != nil && now.Sub(r.at) < askAgain }

// Get asks for one page, as Getter.Get does. When both ways are refused the
// error tells of both, the port-forward's first.
func (g *FallbackGetter) Get(ctx context.Context, path string) (Response, error) {
	if !g.tunnel.holds(g.now()) {
		resp, err := g.Getter.Get(ctx, path)
		if !refusedWay(err) {
			g.tunnel = refusal{}
			return resp, err
		}
		g.tunnel = refusal{err, g.now()}
	}
	if !g.proxy.holds(g.now()) {
		limit := g.Timeout
		if limit <= 0 {
			limit = getTimeout
		}
		resp, err := g.Proxy.Get(ctx, g.namespace, g.pod, g.port, path, limit)
		if !refusedWay(err) {
			g.proxy = refusal{}
			return resp, err
		}
		g.proxy = refusal{err, g.now()}
	}
	return Response{}, fmt.Errorf("%w; %w", g.tunnel.err, g.proxy.err)
}

// Proxied says whether pages come through the pod proxy now, and why: what the
// port-forward was refused with.
func (g *FallbackGetter) Proxied() error { return g.tunnel.err }

func (g *FallbackGetter) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// refusedWay says whether an error means that this way to a pod is closed,
// rather than that the pod or the API server does not answer now.
func refusedWay(err error) bool {
	var forbidden *ForbiddenError
	var refused *RefusedError
	if errors.As(err, &forbidden) || errors.As(err, &refused) {
		return true
	}
	var upgrade *httpstream.UpgradeFailureError
	if !errors.As(err, &upgrade) {
		return false
	}
	// A Status is the API server's: the kubelet is away, the login has expired. A
	// proxy in front of it that knows no upgrades says anything else.
	var status apierrors.APIStatus
	return !errors.As(upgrade.Cause, &status) || status.Status().Code == http.StatusMethodNotAllowed
}
