package plan_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// spec is a meshed pod that nobody configured, on a node with so many CPUs.
func spec(name string, cpus int64, change ...func(*plan.Spec)) plan.Spec {
	made := []model.Knob{
		{Name: "workers", Asked: known(1)},
		{Name: "inbound backlog", Asked: known(128), Chain: []model.Origin{{Where: "default", Value: "128"}}},
	}
	s := plan.Spec{
		Pod: model.Pod{
			Meta: model.Meta{Namespace: "shop", Name: name}, Workload: model.Workload{Kind: "Deployment", Name: "server"},
			Proxy: model.Proxy{Adapter: "linkerd", Image: "proxy:edge-26.8.3"},
		},
		Rule: model.WorkerRule{Min: known(1)}, HasRule: true, NodeCPUs: known(cpus), Limit: model.Unknown[int64]("none"),
		Made: made, Now: []model.Knob{{Name: "workers", Asked: known(1), InForce: known(1)}, {Name: "inbound backlog", Asked: known(128), InForce: known(128)}},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func chosen(s *plan.Spec) {
	s.Made[1] = model.Knob{Name: "inbound backlog", Asked: known(1024), Chain: []model.Origin{{Where: "env"}}}
}

func TestFindings(t *testing.T) {
	unmeshed := func(injects string, host bool) func(*plan.Spec) {
		return func(s *plan.Spec) {
			s.Pod.Proxy, s.Injects, s.Pod.HostNetwork = model.Proxy{}, injects, host
		}
	}
	knob := func(k model.Knob) func(*plan.Spec) { return func(s *plan.Spec) { s.Now = []model.Knob{k} } }
	const exits = "X=4k is no whole number: the proxy ends with exit code 64"
	for _, tt := range []struct {
		name     string
		spec     plan.Spec
		kinds    []plan.FindingKind
		severity model.Severity
	}{
		{"nobody configured it", spec("a", 8), []plan.FindingKind{plan.FindOneWorker, plan.FindDefaultBacklog}, model.SeverityWarning},
		{"a small node", spec("a", 2), []plan.FindingKind{plan.FindDefaultBacklog}, model.SeverityInfo},
		{"a chosen backlog", spec("a", 2, chosen), nil, ""},
		{"more workers", spec("a", 8, chosen, func(s *plan.Spec) { s.Rule.Max = known(2) }), nil, ""},
		{"more workers that the CPU limit takes away", spec("a", 8, chosen, func(s *plan.Spec) { s.Rule.Max, s.Limit = known(2), known(1) }), []plan.FindingKind{plan.FindOneWorker}, model.SeverityWarning},
		{"nodes unknown", spec("a", 8, chosen, func(s *plan.Spec) { s.NodeCPUs = model.Unknown[int64]("may not be read") }), nil, ""},
		{"waits for a restart", spec("a", 2, chosen, knob(model.Knob{Name: "workers", Asked: known(2), InForce: known(1), Why: "changed", Remedy: model.Remedy{Restart: true}})), []plan.FindingKind{plan.FindRestart}, model.SeverityWarning},
		{"in vain", spec("a", 2, chosen, knob(model.Knob{Name: "workers", Asked: known(2), InForce: known(1), Why: "dropped"})), []plan.FindingKind{plan.FindIgnored}, model.SeverityWarning},
		{"waits for its rollout", spec("a", 2, chosen, knob(model.Knob{Name: "workers", Asked: known(2), InForce: known(1), Why: "paused"}), func(s *plan.Spec) { s.Pod.Manifest.Paused = true }), []plan.FindingKind{plan.FindRestart}, model.SeverityWarning},
		{"ignored", spec("a", 2, chosen, knob(model.Knob{Name: "workers", Asked: known(1), InForce: known(1), Why: "CORES=1500m is ignored"})), []plan.FindingKind{plan.FindIgnored}, model.SeverityWarning},
		{"fatal", spec("a", 2, chosen, knob(model.Knob{Name: "inbound backlog", Asked: model.Unknown[int64](exits), Why: exits})), []plan.FindingKind{plan.FindFatal}, model.SeverityCritical},
		{"not even read", spec("a", 2, chosen, knob(model.Knob{Name: "inbound backlog", Asked: model.Unknown[int64](exits), Why: exits}), func(s *plan.Spec) { s.Ignored = []string{"too old"} }), []plan.FindingKind{plan.FindIgnored}, model.SeverityWarning},
		{"not injected", spec("a", 8, unmeshed("the namespace", false)), []plan.FindingKind{plan.FindNotInjected}, model.SeverityWarning},
		{"hostNetwork is never injected", spec("a", 8, unmeshed("the namespace", true)), []plan.FindingKind{plan.FindNotInjected}, model.SeverityInfo},
		{"nobody asks for a sidecar", spec("a", 8, unmeshed("", false)), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e plan.Exposures
			e.Add(tt.spec)
			all := e.List()
			if len(tt.kinds) == 0 {
				if len(all) != 0 {
					t.Errorf("found %+v, want nothing", all[0].Findings)
				}
				return
			}
			if len(all) != 1 {
				t.Fatalf("%d rows, want one", len(all))
			}
			var kinds []plan.FindingKind
			for _, f := range all[0].Findings {
				kinds = append(kinds, f.Kind)
			}
			if fmt.Sprint(kinds) != fmt.Sprint(tt.kinds) || all[0].Severity() != tt.severity {
				t.Errorf("found %v (%s), want %v (%s)", kinds, all[0].Severity(), tt.kinds, tt.severity)
			}
		})
	}
}

// Pods of a workload that are alike are one row, of which a few are named.
func TestGroups(t *testing.T) {
	var e plan.Exposures
	for i := range 100 {
		e.Add(spec(fmt.Sprintf("server-%d", i), 8))
	}
	e.Add(spec("server-big", 16)) // one worker leaves more of this node unused
	e.Add(spec("fine", 2, chosen))
	e.Add(spec("other-1", 8, func(s *plan.Spec) { s.Pod.Workload.Name = "other" }))
	for _, name := range []string{"bare-1", "bare-2"} { // of no workload: each is its own
		e.Add(spec(name, 8, func(s *plan.Spec) { s.Pod.Workload = model.Workload{} }))
	}
	var got []string
	for _, x := range e.List() {
		got = append(got, fmt.Sprintf("%s %d %d", x.Workload.Name, x.Pods, len(x.Names)))
	}
	want := "[ 1 1  1 1 other 1 1 server 1 1 server 100 3]"
	if fmt.Sprint(got) != want {
		t.Errorf("rows %q, want %s", got, want)
	}
	if e.Pods != 105 || e.Proxies != 105 {
		t.Errorf("looked at %d pods, %d proxies", e.Pods, e.Proxies)
	}
}
