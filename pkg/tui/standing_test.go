package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
)

// watchJudged is watch with a judge in between, as the commands have it.
func watchJudged(a *app, n int) {
	l := diagnose.NewLedger(diagnose.Options{})
	for i := 1; i <= n; i++ {
		s := everyKind(i)
		l.Judge(&s)
		for j := range s.Pods {
			remedy.Fill(&s.Pods[j], remedy.Options{Context: "prod-eu1"})
		}
		deliver(a, s)
	}
}

func TestViewVerdicts(t *testing.T) {
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%dx%d", s.width, s.height), func(t *testing.T) {
			a := screen(t, s.width, s.height)
			watchJudged(a, 31)
			goldenView(t, fmt.Sprintf("verdicts-%dx%d.txt", s.width, s.height), a)
		})
	}
}

// A critical verdict comes before a warning, and both before what only looks
// bad at this moment.
func TestVerdictsDecideTheOrder(t *testing.T) {
	a := flat(t, 120, 40)
	s := many(3, 1)
	for i := range s.Pods {
		s.Pods[i].Collection.Stage = model.StageOK
	}
	s.Pods[0].Window.Overflows = known(9) // looks bad, is not judged
	s.Pods[1].Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning}}
	s.Pods[2].Verdicts = []model.Verdict{{Class: model.ClassSaturated, Severity: model.SeverityCritical}}
	deliver(a, s)
	var got []string
	for _, l := range a.visible {
		got = append(got, l.row.pod.Meta.Name)
	}
	if want := s.Pods[2].Meta.Name + " " + s.Pods[1].Meta.Name + " " + s.Pods[0].Meta.Name; strings.Join(got, " ") != want {
		t.Errorf("order %v, want %s", got, want)
	}
}

// A verdict is found by its name.
func TestFilterByVerdict(t *testing.T) {
	a := screen(t, 120, 40)
	watchJudged(a, 31)
	press(a, "/")
	for _, r := range "config-drift" {
		press(a, string(r))
	}
	if got := names(a); got != "search" {
		t.Errorf("config-drift finds %q, want search", got)
	}
}
