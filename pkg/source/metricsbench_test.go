package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/linkerd"
)

// busyPage is a page of a proxy in a large mesh: so many counters of outbound and
// inbound responses, as long as real ones.
func busyPage(outbound, inbound int) string {
	var b strings.Builder
	b.WriteString("proxy_build_info{version=\"2.366.0\"} 1\ntokio_rt_workers 1\nprocess_open_fds 30\n")
	labels := strings.Repeat(`srv_name="all-unauthenticated",`, 9)
	for i := range outbound {
		fmt.Fprintf(&b, "response_total{direction=\"outbound\",target_addr=\"10.0.%d.%d:8080\",%sstatus_code=\"200\",classification=\"success\"} 7\n", i/250, i%250, strings.ReplaceAll(labels, "srv_name", "dst_service"))
	}
	for i := range inbound {
		fmt.Fprintf(&b, "response_total{direction=\"inbound\",target_addr=\"10.0.0.7:8080\",target_ip=\"10.0.0.7\",target_port=\"8080\",client_id=\"c%d\",tls=\"true\",srv_group=\"\",srv_kind=\"default\","+
			"srv_name=\"all\",srv_port=\"8080\",route_group=\"\",route_kind=\"default\",route_name=\"default\",authz_name=\"all\",status_code=\"200\",classification=\"success\",grpc_status=\"\",error=\"\"} 7\n", i)
	}
	return b.String()
}

// Of a large mesh's page a few sums are kept, whatever the number of clients and
// destinations.
func TestResponsesAreSummedUp(t *testing.T) {
	page, err := parse.ReadMetricsFolded(strings.NewReader(busyPage(500, 200)), folds(), metricNames...)
	if err != nil {
		t.Fatal(err)
	}
	if page.Len() != 4 {
		t.Errorf("%d samples kept, want 3 and a sum", page.Len())
	}
	if r, _ := linkerd.New().Runtime(page); r.Requests.Or(0) != 1400 {
		t.Errorf("%d requests, want 1400", r.Requests.Or(0))
	}
}

// What a scrape a second costs: a page with five thousand outbound counters, and
// one with two thousand inbound ones, of as many clients.
func BenchmarkReadMetrics(b *testing.B) {
	for name, text := range map[string]string{"outbound=5000": busyPage(5000, 20), "inbound=2000": busyPage(0, 2000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := parse.ReadMetricsFolded(strings.NewReader(text), folds(), metricNames...)
				if err != nil {
					b.Fatal(err)
				}
				linkerd.New().Runtime(page)
			}
		})
	}
}
