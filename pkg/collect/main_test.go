package collect

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(settled{m},
		// A stream that a dead link never answered: the library waits 30 s for it,
		// whatever becomes of the link.
		goleak.IgnoreAnyFunction("k8s.io/streaming/pkg/httpstream/spdy.(*connection).CreateStream"),
		// The pulse of an exec that was given up ends with its next beat, 5 s later.
		goleak.IgnoreTopFunction("k8s.io/client-go/tools/remotecommand.(*heartbeat).start"))
}

// settled gives links that the other side closed first the second for which
// spdystream keeps their error.
type settled struct{ m *testing.M }

func (s settled) Run() int {
	code := s.m.Run()
	time.Sleep(1200 * time.Millisecond)
	return code
}
