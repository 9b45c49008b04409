package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExplain(t *testing.T) {
	get := func(err error) error {
		return fmt.Errorf("couldn't get current server API group list: %w",
			&url.Error{Op: "Get", URL: "https://api.example.com:6443/api?timeout=32s", Err: err})
	}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{
			"refused", get(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
			"connecting to https://api.example.com:6443: connection refused",
		},
		{
			"no such host", get(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "api.example.com", Err: "no such host", Server: "10.0.0.1:53"}}),
			"connecting to https://api.example.com:6443: looking up api.example.com: no such host",
		},
		{"no answer", get(context.DeadlineExceeded), "connecting to https://api.example.com:6443: timed out"},
		{
			"certificate", get(errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")),
			"connecting to https://api.example.com:6443: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		},
		{
			"not allowed", apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "server",
				errors.New(`User "dev" cannot get resource "deployments" in API group "apps" in the namespace "shop"`)),
			`deployments.apps "server" is forbidden: User "dev" cannot get resource "deployments" in API group "apps" in the namespace "shop"`,
		},
		{"not logged in", apierrors.NewUnauthorized("Unauthorized"), "You must be logged in to the server (Unauthorized): the credentials are missing or have expired; log in as for kubectl"},
		{"many lines and a terminal escape", errors.New("line one\n\tline \x1b[31mtwo\x00"), "line one line [31mtwo"},
		{"endless", errors.New(strings.Repeat("x", 5000)), strings.Repeat("x", 1000) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Explain(tt.err)
			if got.Error() != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if !errors.Is(got, tt.err) {
				t.Error("the original error is not reachable any more")
			}
			if again := Explain(fmt.Errorf("%w", got)); again.Error() != tt.want {
				t.Errorf("explained twice: %q", again)
			}
		})
	}
}

func TestExplainLeavesAlone(t *testing.T) {
	if Explain(nil) != nil {
		t.Error("no error became one")
	}
	interrupted := fmt.Errorf("listing: %w", context.Canceled)
	if got := Explain(interrupted); got != interrupted {
		t.Errorf("an interrupt is for the caller to see, got %q", got)
	}
	var status apierrors.APIStatus
	if !errors.As(Explain(apierrors.NewUnauthorized("x")), &status) || status.Status().Reason != metav1.StatusReasonUnauthorized {
		t.Error("the API server's status is not reachable any more")
	}
}
