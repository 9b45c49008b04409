package cmd

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

// A connection that nobody answers any more is noticed within seconds by every
// client, also by those that share their transport.
func TestDeadConnectionsAreNoticed(t *testing.T) {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	for range 2 {
		config := noticeDeadConnections(&rest.Config{Host: srv.URL, BearerToken: "x", TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		var base http.RoundTripper
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { base = rt; return rt })
		if _, err := rest.TransportFor(config); err != nil {
			t.Fatal(err)
		}
		wrapper, ok := base.(interface{ WrappedRoundTripper() http.RoundTripper })
		if !ok {
			t.Fatalf("the transport is a %T", base)
		}
		h2 := wrapper.WrappedRoundTripper().(*http.Transport).HTTP2
		if h2 == nil || h2.SendPingTimeout != quietAfter || h2.PingTimeout != pingTimeout {
			t.Errorf("pings: %+v", h2)
		}
	}
}

// The transport that all parts of a program share stays as it is.
func TestTheDefaultTransportIsLeftAlone(t *testing.T) {
	setPings(http.DefaultTransport)
	if http.DefaultTransport.(*http.Transport).HTTP2 != nil {
		t.Error("it was changed")
	}
}
