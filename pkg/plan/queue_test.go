package plan_test

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// sample is what one frame shows: so many overflows since the namespace began.
func sample(seq uint64, overflows int64) model.Pod {
	p := server("a")
	p.Sample = model.Sample{Seq: seq, Uptime: model.Known(float64(seq)), Sandbox: "s"}
	p.Counters.ListenOverflows = known(overflows)
	for i := range p.Listeners {
		p.Listeners[i].Sockets[0].Inode = model.Known(uint64(i + 1))
		p.Listeners[i].Sockets[0].Drops = known(0)
	}
	p.Listeners[0].Sockets[0].Drops = known(overflows)
	return p
}

func TestBursts(t *testing.T) {
	var b plan.Bursts
	at := model.Place{Address: "0.0.0.0", Port: 4143}
	if got := b.Biggest("uid-a", at); got.IsKnown() {
		t.Errorf("nothing was seen, and yet %v", got)
	}
	for seq, overflows := range []int64{700, 700, 900, 950, 950} {
		b.Add(sample(uint64(seq+1), overflows))
		b.Add(sample(uint64(seq+1), overflows)) // the same frame again
	}
	if got := b.Biggest("uid-a", at); got != known(200) {
		t.Errorf("biggest burst %v, want 200: what was there before is history", got)
	}
	if got := b.Biggest("uid-a", model.Place{Address: "0.0.0.0", Port: 4191}); got != known(0) {
		t.Errorf("another listener: %v, want 0", got)
	}
	// Another sandbox: counters start afresh.
	restarted := sample(6, 5000)
	restarted.Sample.Sandbox = "another"
	b.Add(restarted)
	if got := b.Biggest("uid-a", at); got != known(200) {
		t.Errorf("after a restart %v, want 200", got)
	}
}

func TestBacklog(t *testing.T) {
	refused := func(n int64) func(*model.Pod) {
		return func(p *model.Pod) { p.Listeners[0].Window.Overflows = known(n) }
	}
	somaxconn := func(v model.Value[int64]) func(*model.Pod) { return func(p *model.Pod) { p.Counters.Somaxconn = v } }
	for _, tt := range []struct {
		name            string
		wanted          plan.Wanted
		change          []func(*model.Pod)
		needed, inForce int64
		memory          int64
		finding         string
	}{
		{"nothing refused: as it is", plan.Wanted{}, nil, 128, 128, 129 * 4096, ""},
		{"limit and refusals, the next power of two", plan.Wanted{}, []func(*model.Pod){refused(172)}, 512, 512, 513 * 4096, ""},
		{"exactly a power of two", plan.Wanted{}, []func(*model.Pod){refused(128)}, 256, 256, 257 * 4096, ""},
		{"wanted is less than needed", wantBacklog(256), []func(*model.Pod){refused(172)}, 512, 256, 257 * 4096, "a backlog of 256 is less than the 512"},
		{"somaxconn cuts", wantBacklog(8192), nil, 128, 4096, 4097 * 4096, "net.core.somaxconn of the pods is 4096 and cuts"},
		{"cut to what there is", wantBacklog(1024), []func(*model.Pod){somaxconn(known(128))}, 128, 128, 129 * 4096, "nothing changes"},
		{"saturated", wantBacklog(1024), []func(*model.Pod){busy(0.99)}, 128, 1024, 1025 * 4096, "hides bursts"},
		{"somaxconn unknown", wantBacklog(1024), []func(*model.Pod){somaxconn(model.Unknown[int64]("not read"))}, 128, 1024, 1025 * 4096, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := plan.Of(plan.Input{Pods: []model.Pod{server("a", tt.change...)}, Wanted: tt.wanted})
			if len(got.Queues) != 1 {
				t.Fatalf("queues %+v, want the inbound one alone: the admin port refused nothing", got.Queues)
			}
			q := got.Queues[0]
			if q.Needed != known(tt.needed) || q.InForce != known(tt.inForce) || q.Memory != known(tt.memory) || got.Needed.Backlog != known(tt.needed) {
				t.Errorf("needed %v, in force %v, memory %v; want %d, %d, %d", q.Needed, q.InForce, q.Memory, tt.needed, tt.inForce, tt.memory)
			}
			if tt.finding != "" && !has(got.Findings, tt.finding) || tt.finding == "" && len(got.Findings) > 0 {
				t.Errorf("findings %q, want %q", got.Findings, tt.finding)
			}
			if !q.Somaxconn.IsKnown() && !has(got.Unknown, "somaxconn allows a backlog of 1024") {
				t.Errorf("unknown %q", got.Unknown)
			}
		})
	}
}

// The worst of all pods counts: the lowest limit, the biggest burst.
func TestQueueOfSeveralPods(t *testing.T) {
	b := server("b", func(p *model.Pod) {
		p.Listeners[0].Sockets[0].Limit, p.Listeners[0].Window = known(64), model.ListenerWindow{Overflows: known(10), Peak: known(65)}
	})
	host := server("c", func(p *model.Pod) { p.HostNetwork = true })
	q := plan.Of(plan.Input{Pods: []model.Pod{server("a"), b, host}}).Queues[0]
	if q.Limit != known(64) || q.Peak != known(65) || q.Refused != known(10) || q.Needed != known(128) {
		t.Errorf("%+v", q)
	}
}

// Without a proxy in front, the server's own listener is the one.
func TestServerWithoutProxy(t *testing.T) {
	p := server("a", func(p *model.Pod) {
		p.Proxy, p.Knobs = model.Proxy{}, nil
		p.Listeners = []model.Listener{{Address: "0.0.0.0", Port: 8080, Role: model.RoleApp, Sockets: []model.Socket{{Port: 8080, Limit: known(511)}}, Window: model.ListenerWindow{Overflows: known(100), Peak: known(512)}}}
	})
	got := plan.Of(plan.Input{Pods: []model.Pod{p}, Wanted: wantBacklog(2048)})
	if q := got.Queues[0]; q.Planned != known(2048) || q.Needed != known(1024) || len(got.Changes) != 0 || !has(got.Findings, "the program's own option") {
		t.Errorf("queue %+v, changes %+v, findings %q", q, got.Changes, got.Findings)
	}
}
