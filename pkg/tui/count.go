package tui

import (
	"fmt"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// summary is counts without colour.
func summary(s model.Snapshot) string {
	parts := []string{render.Plural(len(s.Pods), "pod")}
	for _, c := range count(s) {
		parts = append(parts, fmt.Sprintf("%d %s", c.n, c.state))
	}
	return strings.Join(parts, "  ")
}

type counted struct {
	state model.State
	n     int
}

// count tells how many pods there are of each state, worst first. Pods whose
// figures no longer arrive are counted as that, not as what they were.
func count(s model.Snapshot) []counted {
	n := map[model.State]int{}
	for _, p := range s.Pods {
		n[label(p)]++
	}
	var found []counted
	for _, state := range statesInOrder() {
		if n[state] > 0 {
			found = append(found, counted{state, n[state]})
		}
	}
	return found
}

// statesInOrder are all words that pods are counted under, worst first.
func statesInOrder() []model.State {
	var all []model.State
	for _, c := range []model.Class{
		model.ClassAcceptStalled, model.ClassFDExhausted, model.ClassCPUStarved, model.ClassSaturated, model.ClassAcceptSlow,
		model.ClassImbalance, model.ClassAppBacklog, model.ClassSomaxconnCap, model.ClassFixedBacklog, model.ClassBurst,
		model.ClassUndecided, model.ClassSynQueue, model.ClassConfigDrift,
	} {
		all = append(all, model.State(c))
	}
	all = append(all, model.StateOverflowing, model.StateFull, model.StateStalled, model.StateSaturated, model.StateDrift,
		model.State(model.ClassNotAttributable), model.StateUnknown, model.State(model.StageStale), model.State(model.StageEnded),
		model.StatePending, model.State(model.ClassStarting), model.State(model.ClassHistory), model.StateOK, model.StateGone)
	return all
}
