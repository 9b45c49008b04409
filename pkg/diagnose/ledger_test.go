package diagnose_test

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// fed hands the samples of several made pods to a ledger, tick by tick, and
// gives the last snapshot.
func fed(t *testing.T, l *diagnose.Ledger, pods map[string]diagnose.History) model.Snapshot {
	t.Helper()
	var s model.Snapshot
	for tick := 0; ; tick++ {
		s = model.Snapshot{}
		for _, name := range []string{"a", "b", "c"} {
			if h, ok := pods[name]; ok && tick < len(h.Samples) {
				p := h.Samples[tick]
				p.Meta.Name, p.Meta.Namespace, p.Workload = name, "shop", model.Workload{Kind: "Deployment", Name: "server"}
				s.Pods = append(s.Pods, p)
			}
		}
		l.Judge(&s)
		if tick == len(pods["a"].Samples)-1 {
			return s
		}
	}
}

// What a ledger says of a pod is what Judge says of its whole history, and the
// others of the workload are evidence.
func TestLedgerJudgesEachPodAndItsSiblings(t *testing.T) {
	stuck := server(64).with(threads(0.001, 0, "S")).full(20, 0).history()
	s := fed(t, diagnose.NewLedger(diagnose.Options{}), map[string]diagnose.History{
		"a": stuck,
		"b": server(64).quiet(20).history(),
		"c": server(64).quiet(20).history(),
	})
	want := diagnose.Judge(stuck, diagnose.Options{})
	got := s.Pods[0].Verdicts
	if got[0].Class != want[0].Class || got[0].Sentence != want[0].Sentence {
		t.Errorf("the ledger says %q, Judge %q", got[0].Sentence, want[0].Sentence)
	}
	e := got[0].Evidence[len(got[0].Evidence)-1]
	if e.Name != "siblings" || e.Figure.Or(0) != 2 {
		t.Errorf("the last evidence is %+v, want 2 healthy siblings", e)
	}
	if v := s.Pods[1].Verdicts[0]; v.Class != model.ClassHealthy {
		t.Errorf("the second pod is %s: %s", v.Class, v.Sentence)
	}
}

// A tick without a new frame changes nothing: not the verdict, not the number
// of its evidence.
func TestLedgerTakesAFrameOnce(t *testing.T) {
	l := diagnose.NewLedger(diagnose.Options{})
	h := server(64).with(threads(0.001, 0, "S")).full(20, 0).history()
	s := fed(t, l, map[string]diagnose.History{"a": h, "b": server(64).quiet(20).history()})
	again := model.Snapshot{Pods: append([]model.Pod(nil), s.Pods...)}
	for range 3 {
		l.Judge(&again)
	}
	if a, b := s.Pods[0].Verdicts[0], again.Pods[0].Verdicts[0]; len(a.Evidence) != len(b.Evidence) || a.Held != b.Held {
		t.Errorf("after the same frame: %d evidence, held %v; before %d, %v", len(b.Evidence), b.Held, len(a.Evidence), a.Held)
	}
}

// A pod that is no longer shown is forgotten, and starts afresh when it comes back.
func TestLedgerForgets(t *testing.T) {
	l := diagnose.NewLedger(diagnose.Options{})
	h := server(64).with(threads(0.001, 0, "S")).full(20, 0).history()
	fed(t, l, map[string]diagnose.History{"a": h})
	l.Judge(&model.Snapshot{})
	s := model.Snapshot{Pods: []model.Pod{h.Samples[19]}}
	s.Pods[0].Meta.Name, s.Pods[0].Meta.Namespace = "a", "shop"
	l.Judge(&s)
	if v := s.Pods[0].Verdicts[0]; v.Class != model.ClassTooEarly {
		t.Errorf("with one sample of a pod that was forgotten: %s", v.Class)
	}
}

// Frames that came between two snapshots count as those in them do.
func TestLedgerTakesTheSamplesInBetween(t *testing.T) {
	h := server(64).with(threads(0.001, 0, "S")).full(20, 0).history()
	last := h.Samples[19]
	last.Meta.Name, last.Earlier = "a", h.Samples[:19]
	s := model.Snapshot{Pods: []model.Pod{last}}
	diagnose.NewLedger(diagnose.Options{}).Judge(&s)
	if v := s.Pods[0].Verdicts[0]; v.Class != model.ClassAcceptStalled || v.Window.Or(0) < 18 {
		t.Errorf("%s over %v s: %s", v.Class, v.Window, v.Sentence)
	}
}

// Where the queues could not be read, the proxy's own figures still tell whether
// its workers keep up, and nothing is said of the queues.
func TestWorkersAlone(t *testing.T) {
	for _, tt := range []struct {
		name string
		load func(int, *model.Runtime)
		want model.Class
	}{
		{"saturated", busy(0.99, 0.98), model.ClassSaturated},
		{"starved", busy(0.99, 0.2), model.ClassCPUStarved},
		{"idle", busy(0.1, 0.1), model.ClassTooEarly},
	} {
		l := diagnose.NewLedger(diagnose.Options{})
		var s model.Snapshot
		for _, p := range server(64).proxy(tt.load).quiet(20).history().Samples {
			p.Meta.Name, p.Listeners, p.Sample = "a", nil, model.Sample{}
			p.Counters, p.Collection = model.Counters{}, model.Collection{Via: model.ViaMetrics, Stage: model.StageFailed, Message: "refused"}
			s = model.Snapshot{Pods: []model.Pod{p}}
			l.Judge(&s)
		}
		if v := s.Pods[0].Verdicts[0]; v.Class != tt.want {
			t.Errorf("%s: %s: %s", tt.name, v.Class, v.Sentence)
		}
	}
}

// What was refused before the samples that are kept is remembered.
func TestLedgerRemembersTheLastRefusal(t *testing.T) {
	m := server(16).with(threads(0.1, 0, "S")).bursts(10)
	s := fed(t, diagnose.NewLedger(diagnose.Options{}), map[string]diagnose.History{"a": m.quiet(90).history()})
	v := s.Pods[0].Verdicts[0]
	if v.Class != model.ClassHistory || !strings.Contains(v.Sentence, "the last refused packet was seen 1m3") {
		t.Errorf("%s: %s", v.Class, v.Sentence)
	}
}
