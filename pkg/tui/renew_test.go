package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// ended is a snapshot in which the probe of the first pod is over.
func ended(n int) model.Snapshot {
	s := many(2, n)
	s.Pods[0].Collection = model.Collection{Stage: model.StageEnded, Message: "the probe's time is over", Probe: "backlog-probe-1"}
	return s
}

// A probe that ended is renewed by nobody but the user, who is told what it adds.
func TestRenew(t *testing.T) {
	a := screen(t, 100, 24)
	asked := 0
	a.renew, a.renewFor = func() { asked++ }, time.Hour
	deliver(a, many(2, 1))
	press(a, "+")
	if a.asking {
		t.Error("it asks though no probe has ended")
	}
	deliver(a, ended(2))
	if view := a.View(); !strings.Contains(view, "the probe of 1 pod has ended: + adds a new one") {
		t.Errorf("the end is not told:\n%s", view)
	}
	press(a, "+")
	if view := a.View(); !strings.Contains(view, "add a new probe to 1 pod until") || !strings.Contains(view, "its entry stays") {
		t.Errorf("the question is missing:\n%s", view)
	}
	press(a, "q") // an answer, not the end of the screen
	if a.asking || asked != 0 {
		t.Errorf("q was taken for yes (%d)", asked)
	}
	press(a, "+")
	if answer := a.answerRenew(keyNamed("y")); answer != nil {
		answer()
	}
	if a.asking || asked != 1 {
		t.Errorf("after yes: asking %v, asked %d times", a.asking, asked)
	}
}

// Without a way to renew, nothing is offered.
func TestNoRenewal(t *testing.T) {
	a := screen(t, 100, 24)
	deliver(a, ended(1))
	press(a, "+")
	if view := a.View(); a.asking || strings.Contains(view, "adds") {
		t.Errorf("something is offered:\n%s", view)
	}
}
