package tui

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// mark is a moment since which everything is counted.
type mark struct {
	at   time.Time // zero when there is none
	pods map[string]marked
}

// marked is what a pod's counters said at the mark.
type marked struct {
	sandbox  string
	counters model.Counters
}

// setMark counts from the moment that is shown on.
func (a *app) setMark() {
	a.mark = mark{at: a.shown.Time, pods: make(map[string]marked, len(a.shown.Pods))}
	for _, p := range a.shown.Pods {
		if p.Sample.Uptime.IsKnown() && !p.HostNetwork {
			a.mark.pods[p.Key()] = marked{p.Sample.Sandbox, p.Counters}
		}
	}
	a.say("counting from " + a.mark.at.UTC().Format("15:04:05Z") + "; M ends it")
}

// sinceMark is by how much a counter of the pod grew since the mark. A pod that came
// later has it all since then; one whose counters began afresh cannot tell.
func (a *app) sinceMark(p model.Pod, counter func(model.Counters) model.Value[int64]) model.Value[int64] {
	now := counter(p.Counters)
	if p.HostNetwork {
		return model.Unknown[int64](model.ReasonHostNetwork)
	}
	before, ok := a.mark.pods[p.Key()]
	switch {
	case ok && before.sandbox == p.Sample.Sandbox:
		return model.Growth(counter(before.counters), now)
	case !ok && p.Meta.Created.After(a.mark.at):
		return now
	case !now.IsKnown():
		return now
	}
	return model.Unknown[int64]("the pod was not looked at when the mark was set, or its counters began afresh")
}

func overflowsOf(c model.Counters) model.Value[int64] { return c.ListenOverflows }

// markWord tells in the header what was refused since the mark, in all pods.
func (a *app) markWord() string {
	if a.mark.at.IsZero() {
		return ""
	}
	when := a.mark.at.UTC().Format("15:04:05Z")
	if a.shown.Time.Before(a.mark.at) {
		return "mark " + when + " is later"
	}
	var sum int64
	known := false
	for _, p := range a.shown.Pods {
		if n, ok := a.sinceMark(p, overflowsOf).Get(); ok {
			sum, known = sum+n, true
		}
	}
	if !known {
		return "? since mark " + when
	}
	return "+" + render.Short(model.Known(sum)) + " since mark " + when
}
