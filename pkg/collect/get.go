package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// getTimeout is how long one try of a request may take when nothing else is
// said. A metrics page takes milliseconds.
const getTimeout = 2 * time.Second

// maxBody bounds a page, after decompression. A large mesh's Envoy gives some
// megabytes.
const maxBody = 32 << 20

// Response is a page of a proxy's admin endpoint.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Getter asks one port of one pod for pages, over one connection that is kept.
// It is not for use by several goroutines at once.
type Getter struct {
	// Timeout is for each try; 2 s when 0.
	Timeout time.Duration

	namespace, pod string
	port           uint16
	transport      *http.Transport
	client         *http.Client
}

// Getter gives a Getter for a port of a pod. It opens nothing yet.
func (f *Forwarder) Getter(namespace, pod string, port uint16) *Getter {
	t := f.Transport(namespace, pod, port)
	return &Getter{
		namespace: namespace, pod: pod, port: port, transport: t,
		client: &http.Client{
			Transport: t,
			// What a pod redirects to is not in the pod.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Get asks for one page. Any status is an answer, not an error; a body larger
// than 32 MiB is an error. path may hold a query.
func (g *Getter) Get(ctx context.Context, path string) (Response, error) {
	limit := g.Timeout
	if limit <= 0 {
		limit = getTimeout
	}
	tryCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var connected atomic.Bool
	tryCtx = httptrace.WithClientTrace(tryCtx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	resp, err := g.get(tryCtx, path)
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return Response{}, ctx.Err()
	}
	// What net/http puts around these is of no use to anybody.
	var refused *RefusedConnectionError
	var forward *ForwardError
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		err = refused
	case errors.As(err, &forward):
		err = forward
	case errors.As(err, &timeout) && timeout.Timeout():
		err = &NoAnswerError{Port: g.port, After: limit}
		if !connected.Load() {
			// Not the pod's doing. The dial goes on, for the next try.
			err = fmt.Errorf("no connection through the API server within %s", limit)
		}
	}
	page, _, _ := strings.Cut(path, "?") // a query can be long, and says nothing to a reader
	return Response{}, fmt.Errorf("asking pod %s/%s for %s on port %d: %w", g.namespace, g.pod, page, g.port, err)
}

// NoAnswerError says that a pod gave no answer in time. From a proxy that
// answered before it is evidence by itself: its runtime may be stalled.
type NoAnswerError struct {
	Port  uint16
	After time.Duration
}

// Error names the port and the time.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no answer on %d within %s", e.Port, e.After)
}

func (g *Getter) get(ctx context.Context, path string) (Response, error) {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:"+strconv.Itoa(int(g.port))+path, nil)
	if err != nil {
		return Response{}, err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return Response{}, unwrapURL(err)
	}
	defer resp.Body.Close()
	return readResponse(resp)
}

// TooLargeError says that a page is larger than any proxy's.
type TooLargeError struct{}

// Error names the bound.
func (*TooLargeError) Error() string { return "the answer is larger than 32 MiB" }

// readResponse reads an answer whole, as far as that is reasonable.
func readResponse(resp *http.Response) (Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return Response{}, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxBody {
		return Response{}, &TooLargeError{}
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// unwrapURL takes off what http.Client puts around an error: the URL is one that
// nobody asked for.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Close closes the connection; the pod's tunnel stays for others.
func (g *Getter) Close() { g.transport.CloseIdleConnections() }
