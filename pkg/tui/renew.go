package tui

import (
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// A probe whose time is over is never renewed by itself: an entry in the pod's
// list of containers stays until the pod goes. The screen says so and asks.

// renewable counts the pods that a new probe could be asked for.
func (a *app) renewable() int {
	if a.renew == nil {
		return 0
	}
	return a.tally.ended
}

// askRenew begins the question where there is something to ask.
func (a *app) askRenew() { a.asking = a.renewable() > 0 }

// answerRenew takes a key as the answer; anything but yes is no.
func (a *app) answerRenew(msg tea.KeyMsg) tea.Cmd {
	a.asking = false
	if !key.Matches(msg, a.keys.yes) {
		return nil
	}
	renew := a.renew
	return func() tea.Msg { renew(); return nil }
}

// renewQuestion stands in the last line while it waits for an answer.
func (a *app) renewQuestion() string {
	until := a.now.Add(a.renewFor).UTC().Format("15:04:05Z")
	return fmt.Sprintf("add a new probe to %s until %s? its entry stays in the pod's list  y yes  n no", render.Plural(a.renewable(), "pod"), until)
}

// renewHint tells that probes have ended and what can be done.
func (a *app) renewHint() string {
	n := a.renewable()
	if n == 0 {
		return ""
	}
	if n == 1 {
		return "the probe of 1 pod has ended: + adds a new one"
	}
	return fmt.Sprintf("the probes of %d pods have ended: + adds new ones", n)
}
