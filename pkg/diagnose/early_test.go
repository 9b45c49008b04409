package diagnose_test

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// What may be the first of some bursts is no reason to wake somebody; once it has gone
// on for some seconds it is.
func TestUndecidedIsAWarningFirst(t *testing.T) {
	l := diagnose.NewLedger(diagnose.Options{})
	severities := map[model.Severity]int{}
	for n := range 40 {
		refused := int64(max(0, n-10)) * 12
		depth := int64(0)
		if n > 10 {
			depth = 9
		}
		s := model.Snapshot{Pods: []model.Pod{{
			Meta: model.Meta{Name: "a", UID: "u"}, Phase: "Running", Ready: true,
			Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK},
			Sample:     model.Sample{Seq: uint64(n), Uptime: model.Known(1000 + float64(n)), Sandbox: "s"},
			Sockets:    model.Known[int64](1),
			Listeners: []model.Listener{{Address: "*", Port: 80, Role: model.RoleApp, Sockets: []model.Socket{{
				Inode: model.Known[uint64](1), Depth: model.Known(depth), Limit: model.Known[int64](16), Drops: model.Known(refused),
			}}}},
			Counters: model.Counters{ListenOverflows: model.Known(refused), PassiveOpens: model.Known(int64(50 * n)), Somaxconn: model.Known[int64](4096)},
			Runtime:  model.UnknownRuntime("not read"), Process: model.UnknownProcess("not read"),
		}}}
		l.Judge(&s)
		for _, v := range s.Pods[0].Verdicts {
			if v.Class != model.ClassUndecided {
				continue
			}
			severities[v.Severity]++
			if early := n < 15; early && v.Severity == model.SeverityCritical {
				t.Errorf("second %d: %s is critical", n, v.Class)
			}
		}
	}
	if severities[model.SeverityWarning] == 0 || severities[model.SeverityCritical] == 0 {
		t.Errorf("%v", severities)
	}
}
