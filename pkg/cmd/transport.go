package cmd

import (
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// A connection to the API server on which nothing arrives for quietAfter must
// prove with a ping that it lives, and is given up without an answer. All
// requests share one connection, and the library's own 30 and 15 seconds would
// leave every row without figures for as long, after a firewall forgot it or a
// laptop woke up. While probes speak, once a second, no ping is ever sent.
const (
	quietAfter  = 3 * time.Second
	pingTimeout = 4 * time.Second
)

// noticeDeadConnections sets these times for all clients of a configuration.
func noticeDeadConnections(config *rest.Config) *rest.Config {
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		setPings(rt)
		return rt
	})
	return config
}

// setPings finds the transport below its wrappers. It has no connection yet: a
// client is being made, and all that share the transport are made this way.
func setPings(rt http.RoundTripper) {
	for {
		switch t := rt.(type) {
		case *http.Transport:
			if t.HTTP2 == nil && rt != http.DefaultTransport { // that one is everybody's
				t.HTTP2 = &http.HTTP2Config{SendPingTimeout: quietAfter, PingTimeout: pingTimeout}
			}
			return
		case utilnet.RoundTripperWrapper:
			rt = t.WrappedRoundTripper()
		default:
			return
		}
	}
}
