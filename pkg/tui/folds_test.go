package tui

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestFoldsByDefault(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 31)
	wantTitles(
		t, a, "at first",
		"▾deploy/server", "6bf978ccb4-m2m2q", "▸ 39 healthy,med",
		"▾ds/web", "x7wqp", "b8k2n", "q44zd", "zz81s", "m6h8r", "▸ 3 healthy,med",
		"▾deploy/checkout", "79c4d5f6b8-hq2lw", "79c4d5f6b8-zk8fm", "79c4d5f6b8-w9xbd", "58d7f9c6d4-p5jgr", "▸ 8 healthy,med",
		"▸deploy/search", "▸deploy/cart", "▸sts/redis",
	)
	if r := a.chosen(); r == nil || r.pod.Meta.Name != "server-6bf978ccb4-m2m2q" {
		t.Errorf("the worst pod is not selected: %q", a.selected)
	}
}

// Of many pods with the same verdict three are shown, the others are one line.
func TestEqualVerdictsFold(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(10, 5)
	for i := range 9 {
		severity := model.SeverityWarning
		if i == 8 {
			severity = model.SeverityCritical
		}
		s.Pods[i].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: severity}}
	}
	deliver(a, s)
	wantTitles(t, a, "eight alike", "▾deploy/pod", "1008", "1000", "1001", "1002", "▸ 5 more burst-overflow,med", "1009")
	selectLine(t, a, "▸ 5 more burst-overflow,med")
	press(a, "enter")
	wantTitles(
		t, a, "unfolded", "▾deploy/pod", "1008", "1000", "1001", "1002",
		"▾ 5 more burst-overflow,med", "1003", "1004", "1005", "1006", "1007", "1009",
	)
}

func TestFoldKeys(t *testing.T) {
	a := screen(t, 120, 40)
	deliver(a, many(4, 5))
	for _, step := range []struct {
		key, selected string
		want          []string
	}{
		{"g", "deploy/pod", []string{"▸deploy/pod"}},
		{"right", "deploy/pod", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"right", "▸ 4 healthy,med", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"l", "▾ 4 healthy,med", []string{"▾deploy/pod", "▾ 4 healthy,med", "1000", "1001", "1002", "1003"}},
		{"G", "1003", []string{"▾deploy/pod", "▾ 4 healthy,med", "1000", "1001", "1002", "1003"}},
		{"left", "▸ 4 healthy,med", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"h", "deploy/pod", []string{"▸deploy/pod"}},
		{"h", "deploy/pod", []string{"▸deploy/pod"}},
		{"enter", "deploy/pod", []string{"▾deploy/pod", "▸ 4 healthy,med"}},
		{"enter", "deploy/pod", []string{"▸deploy/pod"}},
		{"w", "pod-1000", []string{"pod-1000", "pod-1001", "pod-1002", "pod-1003"}},
		{"left", "pod-1000", []string{"pod-1000", "pod-1001", "pod-1002", "pod-1003"}},
		{"w", "deploy/pod", []string{"▸deploy/pod"}},
	} {
		press(a, step.key)
		wantTitles(t, a, step.key, step.want...)
		l := a.at(a.index())
		if got := orElse(l.kind == groupLine, l.group.nameOr(), a.lineName(l)); got != step.selected {
			t.Errorf("after %s %q is selected, want %q", step.key, got, step.selected)
		}
	}
	press(a, "w", "right")
	if a.page != detailPage {
		t.Error("→ on a pod does not open its page")
	}
}

func (g *group) nameOr() string {
	if g == nil {
		return ""
	}
	return g.name
}

// The selection stays with its pod: a pod that becomes well, and a workload whose
// last ill pod does, are not folded away from under it.
func TestSelectionIsNotFoldedAway(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(4, 1)
	s.Pods[2].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
	deliver(a, s)
	wantTitles(t, a, "one is ill", "▾deploy/pod", "1002", "▸ 3 healthy,med")
	selectLine(t, a, "1002")
	deliver(a, many(4, 20))
	wantTitles(t, a, "it is well", "▾deploy/pod", "▸ 4 healthy,med", "1002")
	if a.selected != "uid-pod-1002" {
		t.Errorf("selected %q", a.selected)
	}
	press(a, "g")
	deliver(a, many(4, 40))
	wantTitles(t, a, "it is left", "▸deploy/pod")
}

// Between two sorts nothing moves: a pod that falls ill leaves its fold with the
// next one.
func TestFoldsKeepTheirPlaces(t *testing.T) {
	a := screen(t, 120, 40)
	deliver(a, many(4, 1))
	ill := func(n int) model.Snapshot {
		s := many(4, n)
		s.Pods[2].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
		return s
	}
	deliver(a, ill(4))
	wantTitles(t, a, "after 3 s", "▸deploy/pod")
	if v := a.View(); !strings.Contains(v, "4 pods: W1 ok3") {
		t.Errorf("the header does not count it at once:\n%s", v)
	}
	deliver(a, ill(7))
	wantTitles(t, a, "after 6 s", "▾deploy/pod", "1002", "▸ 3 healthy,med")
}
