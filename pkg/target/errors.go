package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// NoPodsError says that a query is in order and selects no pod.
type NoPodsError struct {
	// Query in words: "deployment/server", "pods in shop namespace".
	Query string
	// Listing is set when nothing was named: kubectl then ends with code 0.
	Listing bool
	// Finished is the number of pods that the query does select but that have
	// succeeded or failed: they have no queue any more.
	Finished int

	message string
}

// Error is one line, in kubectl's words for a listing.
func (e *NoPodsError) Error() string { return e.message }

// explained is an error with a shorter text; what it was stays reachable.
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// maxErrorRunes bounds a text that comes from the API server or from a webhook.
const maxErrorRunes = 1000

// Explain makes one clear line of an error of client-go: an API server that
// cannot be reached is named with the reason alone, a refusal keeps the
// server's own words (which name verb, resource and namespace), and control
// characters are taken out. errors.Is and errors.As still find the original.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	var done *explained
	var none *NoPodsError
	if errors.As(err, &done) || errors.As(err, &none) || errors.Is(err, context.Canceled) {
		return err
	}
	return &explained{text: oneLine(explanation(err)), cause: err}
}

func explanation(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		if server, perr := url.Parse(request.URL); perr == nil && server.Host != "" {
			return fmt.Sprintf("connecting to %s://%s: %s", server.Scheme, server.Host, connectionFault(request.Err))
		}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	if apierrors.IsUnauthorized(err) {
		return "You must be logged in to the server (Unauthorized): the credentials are missing or have expired; log in as for kubectl"
	}
	return status.Status().Message
}

// connectionFault is the innermost reason why a server could not be reached.
func connectionFault(err error) string {
	var lookup *net.DNSError
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &lookup):
		return fmt.Sprintf("looking up %s: %s", lookup.Name, lookup.Err)
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	}
	return err.Error()
}

// oneLine takes out line breaks and everything else that could move a
// terminal's cursor, and bounds the length.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	runes := 0
	var b strings.Builder
	for _, r := range text {
		if !unicode.IsPrint(r) {
			continue
		}
		if runes++; runes > maxErrorRunes {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// join makes one error, on one line, of several.
func join(errs []error) error {
	joined := errs[0]
	for _, err := range errs[1:] {
		joined = fmt.Errorf("%w; %w", joined, err)
	}
	return joined
}
