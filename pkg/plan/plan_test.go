package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

func known(n int64) model.Value[int64] { return model.Known(n) }

// server is a meshed pod with one worker and an inbound backlog of 128, looked at
// for 10 s in which 100 connections a second were accepted.
func server(name string, change ...func(*model.Pod)) model.Pod {
	p := model.Pod{
		Meta: model.Meta{Namespace: "shop", Name: name, UID: "uid-" + name}, Node: "small",
		Workload: model.Workload{Kind: "Deployment", Name: "server"},
		Proxy:    model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true},
		Manifest: model.Manifest{Template: model.Known(map[string]string{}), Strategy: "RollingUpdate", Replicas: known(3)},
		Counters: model.Counters{Somaxconn: known(4096), ListenOverflows: known(0), PassiveOpens: known(0)},
		Window:   model.Window{Seconds: model.Known(10.0), Overflows: known(0), Accepted: known(1000)},
		Runtime: model.Runtime{
			Workers: known(1),
			Window:  model.RuntimeWindow{Seconds: model.Known(10.0), Busy: model.Known(0.5), CPU: model.Known(0.45)},
		},
		Listeners: []model.Listener{
			{Address: "0.0.0.0", Port: 4143, Role: model.RoleInbound, Sockets: []model.Socket{{Port: 4143, Depth: known(0), Limit: known(128)}}, Window: model.ListenerWindow{Overflows: known(0), Peak: known(3)}},
			{Address: "0.0.0.0", Port: 4191, Role: model.RoleAdmin, Sockets: []model.Socket{{Port: 4191, Depth: known(0), Limit: known(128)}}, Window: model.ListenerWindow{Overflows: known(0), Peak: known(1)}},
		},
		Knobs: []model.Knob{
			{Name: "workers", Asked: known(1), InForce: known(1), Available: known(2), Remedy: model.Remedy{Name: "config.linkerd.io/proxy-cpu-limit", Unit: "cpus"}},
			{Name: "inbound backlog", Asked: known(128), InForce: known(128)},
		},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func nodes(cpus ...int64) []plan.Node {
	var all []plan.Node
	for i, n := range cpus {
		all = append(all, plan.Node{Name: string(rune('a' + i)), CPUs: known(n)})
	}
	return all
}

func wantWorkers(n int64) plan.Wanted  { return plan.Wanted{Workers: known(n)} }
func wantRatio(r float64) plan.Wanted  { return plan.Wanted{Ratio: model.Known(r)} }
func wantBacklog(n int64) plan.Wanted  { return plan.Wanted{Backlog: known(n)} }
func has(list []string, s string) bool { return strings.Contains(strings.Join(list, "\n"), s) }
func near(a, b, within float64) bool   { return math.Abs(a-b) <= within }
func busy(r float64) func(p *model.Pod) {
	return func(p *model.Pod) { p.Runtime.Window.Busy = model.Known(r) }
}

// Workers follow from the proxy's formula and what each kind of node has.
func TestWorkersByNode(t *testing.T) {
	none, limited := model.Unknown[int64]("no limit"), known(2)
	ratioKnob := func(p *model.Pod) { p.Knobs[0].Remedy.Unit, p.Knobs[0].Available = "ratio", known(8) }
	plainKnob := func(p *model.Pod) { p.Knobs[0].Remedy.Unit = "" }
	for _, tt := range []struct {
		name         string
		wanted       plan.Wanted
		rule         model.WorkerRule
		limit        model.Value[int64]
		fixed        bool
		knob         func(*model.Pod)
		now, planned []int64 // on 2, 10 and 16 CPUs
		finding      string
	}{
		{"nothing wanted, one worker everywhere", plan.Wanted{}, model.WorkerRule{Min: known(1)}, none, false, nil, []int64{1, 1, 1}, []int64{1, 1, 1}, ""},
		{"four, which two CPUs cap", wantWorkers(4), model.WorkerRule{Min: known(1)}, none, false, nil, []int64{1, 1, 1}, []int64{2, 4, 4}, "nodes with 2 CPUs there would be 2 workers, not 4"},
		{"a limit that is there is replaced", wantWorkers(4), model.WorkerRule{Min: known(1), Max: known(2)}, limited, false, nil, []int64{2, 2, 2}, []int64{2, 4, 4}, ""},
		{"a ratio is rounded half away from zero", wantRatio(0.35), model.WorkerRule{Min: known(1)}, none, false, nil, []int64{1, 1, 1}, []int64{1, 4, 6}, ""},
		{"a ratio is of the CPU limit, where there is one", wantRatio(0.5), model.WorkerRule{Min: known(1)}, known(4), false, nil, []int64{1, 1, 1}, []int64{1, 2, 2}, ""},
		{"a maximum of the workload goes for a ratio", wantRatio(0.5), model.WorkerRule{Min: known(1), Max: known(2)}, limited, false, nil, []int64{2, 2, 2}, []int64{1, 5, 8}, ""},
		{"one from elsewhere beats it", wantRatio(0.5), model.WorkerRule{Min: known(1), Max: known(2)}, limited, true, nil, []int64{2, 2, 2}, []int64{2, 2, 2}, "it beats the ratio"},
		{"the minimum beats what is wanted", wantWorkers(2), model.WorkerRule{Min: known(3)}, none, false, nil, []int64{2, 3, 3}, []int64{2, 2, 2}, "it beats a maximum of 2"},
		{"three of eight CPUs as a ratio", wantWorkers(3), model.WorkerRule{Ratio: model.Known(0.5)}, none, false, ratioKnob, []int64{1, 5, 8}, []int64{1, 4, 6}, ""},
		{"a plain number is not capped", wantWorkers(4), model.WorkerRule{Ratio: model.Known(1.0)}, none, false, plainKnob, []int64{2, 10, 16}, []int64{4, 4, 4}, "nodes with 2 CPUs 4 workers share 2 CPUs"},
		{"no change", wantWorkers(1), model.WorkerRule{Min: known(1)}, none, false, nil, []int64{1, 1, 1}, []int64{1, 1, 1}, "nothing changes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := server("a")
			if tt.knob != nil {
				tt.knob(&p)
			}
			got := plan.Of(plan.Input{
				Pods: []model.Pod{p}, Wanted: tt.wanted, Rule: tt.rule, Limit: tt.limit, HasRule: true, FixedMax: tt.fixed, Nodes: nodes(16, 2, 10),
			})
			if len(got.Workers) != 3 {
				t.Fatalf("%d kinds of nodes, want 3: %+v", len(got.Workers), got.Workers)
			}
			for i, k := range got.Workers {
				if k.Now != known(tt.now[i]) || k.Planned != known(tt.planned[i]) {
					t.Errorf("on %v CPUs: now %v, planned %v; want %d and %d", k.CPUs, k.Now, k.Planned, tt.now[i], tt.planned[i])
				}
			}
			if tt.finding != "" && !has(got.Findings, tt.finding) {
				t.Errorf("no finding %q among %q", tt.finding, got.Findings)
			}
			if tt.finding == "" && len(got.Findings) > 0 && tt.wanted.Any() && !has(got.Findings, "not 4") && !has(got.Findings, "nothing changes") {
				t.Errorf("findings %q", got.Findings)
			}
		})
	}
}

// Where nodes may not be read, the CPUs that the pods know of stand for them; what
// needs more than that is unknown.
func TestNodesUnknown(t *testing.T) {
	p := server("a")
	in := plan.Input{Pods: []model.Pod{p}, Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Wanted: wantWorkers(2), NodesReason: "may not be read"}
	got := plan.Of(in)
	if len(got.Workers) != 1 || got.Workers[0].CPUs != known(2) || got.Workers[0].Planned != known(2) || !has(got.Unknown, "may not be read") {
		t.Errorf("workers %+v, unknown %q", got.Workers, got.Unknown)
	}
	in.Pods[0].Knobs[0].Available = model.Unknown[int64]("not read")
	in.Wanted = wantWorkers(1)
	if got = plan.Of(in); got.Workers[0].Planned != known(1) {
		t.Errorf("one worker is one on any node, not %+v", got.Workers[0].Planned)
	}
	in.Wanted = wantRatio(0.5)
	if got = plan.Of(in); got.Workers[0].Planned.IsKnown() || got.Workers[0].Busy.IsKnown() {
		t.Errorf("a ratio of unknown CPUs: %+v", got.Workers[0])
	}
}

// Three runs of linkerd2-proxy under one load (1200 clients, 2400 requests a second
// asked): what two workers would do, predicted from one that is saturated. Measured
// with two: busy 0.832.
func TestPredictsMeasuredRuns(t *testing.T) {
	for _, tt := range []struct {
		name                string
		accepted, overflows int64
		queued, run         int64
	}{
		{"backlog 128", 2206 * 27, 2245, 42, 571},
		{"backlog 1024", 2175 * 27, 0, 229, 594},
	} {
		p := server("a", busy(0.994), func(p *model.Pod) {
			p.Window = model.Window{Seconds: model.Known(27.0), Overflows: known(tt.overflows), Accepted: known(tt.accepted)}
			p.Listeners[0].Window.Overflows, p.Listeners[0].Sockets[0].Depth = known(tt.overflows), known(tt.queued)
			p.Runtime.LocalQueue, p.Runtime.Window.CPU = known(tt.run), model.Known(0.997)
		})
		got := plan.Of(plan.Input{Pods: []model.Pod{p}, Wanted: wantWorkers(2), Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Nodes: nodes(2)})
		k := got.Workers[0]
		if !near(k.Busy.Or(0), 0.832, 0.15) || !near(k.BusyAtLeast.Or(0), 0.497, 0.001) {
			t.Errorf("%s: predicted %.3f, at least %.3f; measured 0.832", tt.name, k.Busy.Or(0), k.BusyAtLeast.Or(0))
		}
		if !got.Demand.AtLeast || !has(got.Assumptions, "lower bound") || !has(got.Assumptions, "1.25") || !has(got.Assumptions, "once a second") {
			t.Errorf("%s: assumptions %q", tt.name, got.Assumptions)
		}
	}
}

func TestBusyRatio(t *testing.T) {
	for _, tt := range []struct {
		name     string
		pods     []model.Pod
		workers  int64
		low, mid float64
		needed   int64
	}{
		{"half of one is a quarter of each of two, and what threads cost", []model.Pod{server("a")}, 2, 0.25, 0.28125, 1},
		{"the busiest pod counts", []model.Pod{server("a"), server("b", busy(0.8))}, 2, 0.4, 0.45, 2},
		{"from two to four", []model.Pod{server("a", busy(0.8), func(p *model.Pod) { p.Runtime.Workers = known(2) })}, 4, 0.4, 0.4, 3},
		{"another proxy's threads cost nothing that is known", []model.Pod{server("a", func(p *model.Pod) { p.Proxy.Adapter = "envoy" })}, 2, 0.25, 0.25, 1},
	} {
		got := plan.Of(plan.Input{Pods: tt.pods, Wanted: wantWorkers(tt.workers), Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Nodes: nodes(8)})
		k := got.Workers[0]
		if !near(k.BusyAtLeast.Or(-1), tt.low, 1e-9) || !near(k.Busy.Or(-1), tt.mid, 1e-9) || got.Needed.Workers != known(tt.needed) {
			t.Errorf("%s: busy %v, at least %v, needed %v; want %g, %g, %d", tt.name, k.Busy, k.BusyAtLeast, got.Needed.Workers, tt.mid, tt.low, tt.needed)
		}
	}
}

// Bursts that are refused while the workers have time call for a queue.
func TestBurstsNeedNoWorkers(t *testing.T) {
	p := server("a", busy(0.3), func(p *model.Pod) { p.Window.Overflows, p.Listeners[0].Window.Overflows = known(900), known(900) })
	got := plan.Of(plan.Input{Pods: []model.Pod{p}, Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Nodes: nodes(8)})
	if got.Needed.Workers != known(1) || got.Needed.Backlog != known(2048) {
		t.Errorf("needed %+v, want one worker and a backlog of 2048", got.Needed)
	}
}

// Workers that wait for a CPU are not helped by more of them.
func TestStarvedWorkers(t *testing.T) {
	p := server("a", busy(0.96), func(p *model.Pod) { p.Runtime.Window.CPU = model.Known(0.2) })
	got := plan.Of(plan.Input{Pods: []model.Pod{p}, Wanted: wantWorkers(2), Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Nodes: nodes(8)})
	if !has(got.Findings, "more workers do not help") {
		t.Errorf("findings %q", got.Findings)
	}
}

// What was not measured is unknown, in the plan too, and never zero.
func TestUnmeasured(t *testing.T) {
	const why = "the probe was refused"
	p := server("a", func(p *model.Pod) {
		*p = model.WithoutQueues(*p, why)
		p.Runtime = model.UnknownRuntime(why)
	})
	got := plan.Of(plan.Input{Pods: []model.Pod{p}, Wanted: wantWorkers(2), Rule: model.WorkerRule{Min: known(1)}, HasRule: true, Nodes: nodes(8)})
	k := got.Workers[0]
	if k.Planned != known(2) || k.Busy.IsKnown() || k.Busy.Reason() != why || got.Needed.Workers.IsKnown() || got.Needed.Backlog.IsKnown() {
		t.Errorf("workers %+v, needed %+v", k, got.Needed)
	}
	if !has(got.Unknown, why) || len(got.Queues) != 0 {
		t.Errorf("unknown %q, queues %+v", got.Unknown, got.Queues)
	}
	if empty := plan.Of(plan.Input{}); empty.Pods != 0 || len(empty.Workers) != 0 {
		t.Errorf("a plan of no pods: %+v", empty)
	}
}

func TestChangesAndRestarts(t *testing.T) {
	both := plan.Wanted{Workers: known(2), Backlog: known(512)}
	for _, tt := range []struct {
		name     string
		wanted   plan.Wanted
		change   func(*model.Pod)
		kinds    []model.ActionKind
		restarts string
	}{
		{"both", both, func(*model.Pod) {}, []model.ActionKind{model.ActAddWorkers, model.ActRaiseBacklog}, "3 pods of Deployment/server, one after another"},
		{"nothing", plan.Wanted{}, func(*model.Pod) {}, nil, ""},
		{"no proxy", both, func(p *model.Pod) { p.Knobs = nil }, nil, "3 pods"},
		{"OnDelete", both, func(p *model.Pod) { p.Manifest.Strategy = "OnDelete" }, []model.ActionKind{model.ActAddWorkers, model.ActRaiseBacklog}, "when somebody deletes it"},
		{"Recreate", both, func(p *model.Pod) { p.Manifest.Strategy = "Recreate" }, []model.ActionKind{model.ActAddWorkers, model.ActRaiseBacklog}, "all at once"},
		{"paused", both, func(p *model.Pod) { p.Manifest.Paused = true }, []model.ActionKind{model.ActAddWorkers, model.ActRaiseBacklog}, "paused"},
		{"bare pod", both, func(p *model.Pod) { p.Workload = model.Workload{} }, []model.ActionKind{model.ActAddWorkers, model.ActRaiseBacklog}, "nothing owns it"},
	} {
		got := plan.Of(plan.Input{Pods: []model.Pod{server("a", tt.change)}, Wanted: tt.wanted, HasRule: true, Nodes: nodes(8)})
		var kinds []model.ActionKind
		for _, c := range got.Changes {
			kinds = append(kinds, c.Kind)
		}
		if len(kinds) != len(tt.kinds) || len(kinds) > 0 && (kinds[0] != tt.kinds[0] || kinds[1] != tt.kinds[1]) || !strings.Contains(got.Restarts, tt.restarts) || tt.restarts == "" && got.Restarts != "" {
			t.Errorf("%s: changes %v, restarts %q", tt.name, kinds, got.Restarts)
		}
	}
}
