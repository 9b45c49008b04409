package linkerd

import (
	"strings"
	"testing"
)

// The recorded page is of a proxy that answered 3219 requests and was asked nine
// times for its metrics and environment.
func TestResponsesRecorded(t *testing.T) {
	got, _ := New().Runtime(readPage(t, "responses.metrics"))
	if n := got.Requests.Or(-1); n != 3219 {
		t.Errorf("requests %d (%s), want 3219", n, got.Requests.Reason())
	}
	if n := got.Failures.Or(-1); n != 0 {
		t.Errorf("failures %d (%s), want 0", n, got.Failures.Reason())
	}
}

// TestResponses adds up what is of inbound traffic, and nothing else.
func TestResponses(t *testing.T) {
	line := func(labels, value string) string { return "response_total{" + labels + "} " + value + "\n" }
	const (
		toApp = `direction="inbound",target_ip="10.0.0.7",target_port="8080"`
		good  = `,status_code="200",classification="success"`
		bad   = `,status_code="504",classification="failure"`
	)
	for _, tt := range []struct {
		name, page         string
		requests, failures int64 // -1: unknown
	}{
		{"both", line(toApp+good, "90") + line(toApp+bad, "10"), 100, 10},
		{
			"of several clients", line(toApp+`,client_id="a"`+good, "40") + line(toApp+`,client_id="b"`+good, "50") +
				line(toApp+`,client_id="a"`+bad, "3") + line(toApp+`,client_id="b"`+bad, "4"), 97, 7,
		},
		{"failures alone", line(toApp+bad, "10"), 10, 10},
		{"outbound is another matter", line(toApp+good, "90") + line(`direction="outbound",target_port="8080"`+bad, "10"), 90, 0},
		{"the admin port's own", line(toApp+good, "90") + line(`direction="inbound",target_ip="0.0.0.0",target_port="4191"`+good, "500"), 90, 0},
		{"the admin port's on loopback", line(toApp+good, "90") + line(`direction="inbound",target_ip="127.0.0.1",target_port="4191"`+good, "500"), 90, 0},
		{"the admin port's, moved", line(toApp+good, "90") + line(`direction="inbound",target_ip="0.0.0.0",target_port="9191"`+good, "500"), 90, 0},
		{"the admin port's, moved, on both families", line(toApp+good, "90") + line(`direction="inbound",target_ip="::",target_port="9191"`+bad, "500"), 90, 0},
		{"the admin port's alone", line(`direction="inbound",target_ip="0.0.0.0",target_port="4191"`+good, "500"), -1, -1},
		{"none yet", "tokio_rt_workers 1\n", -1, -1},
		{"impossible", line(toApp+good, "-5"), -1, -1},
		{"not whole", line(toApp+good, "1.5"), -1, -1},
		{"endless", line(toApp+good, "+Inf"), -1, -1},
		{"one of them is no number", line(toApp+good, "NaN") + line(toApp+bad, "3"), 3, 3},
	} {
		got, _ := New().Runtime(readText(t, tt.page))
		if n := got.Requests.Or(-1); n != tt.requests {
			t.Errorf("%s: requests %d (%s), want %d", tt.name, n, got.Requests.Reason(), tt.requests)
		}
		if n := got.Failures.Or(-1); n != tt.failures {
			t.Errorf("%s: failures %d (%s), want %d", tt.name, n, got.Failures.Reason(), tt.failures)
		}
		if tt.requests < 0 && !strings.Contains(got.Requests.Reason(), "no inbound HTTP response") {
			t.Errorf("%s: reason %q", tt.name, got.Requests.Reason())
		}
	}
}
