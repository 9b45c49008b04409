package diagnose

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// The rules, in the order in which they are asked. There are three kinds:
// those that end the matter for the whole pod, those on one listener, of which
// the first that holds is its verdict, and those that add to what was found.

type firstRule struct {
	class model.Class
	judge func(*facts) (model.Verdict, bool)
}

type listenerRule struct {
	class model.Class
	judge func(*facts, *listener) (model.Verdict, bool)
}

type podRule struct {
	class model.Class
	judge func(*facts, []model.Verdict) (model.Verdict, bool)
}

// podFirst are the reasons to judge no queue at all.
func podFirst() []firstRule {
	return []firstRule{
		{model.ClassNotAttributable, hostNetwork},
		{model.ClassSaturated, workersAlone},
		{model.ClassTooEarly, tooEarly},
		{model.ClassStarting, starting},
	}
}

// listenerRules go from what is seen directly (nobody accepts, one of several
// is stuck) over the workers' state to the shape of the arrivals.
func listenerRules() []listenerRule {
	return []listenerRule{
		{model.ClassFDExhausted, fdExhausted},
		{model.ClassImbalance, imbalance},
		{model.ClassAcceptStalled, acceptStalled},
		{model.ClassAppBacklog, appBacklog},
		{model.ClassCPUStarved, cpuStarved},
		{model.ClassSaturated, saturated},
		{model.ClassTooEarly, justBegun},
		{model.ClassAcceptSlow, acceptSlow},
		{model.ClassUndecided, undecided},
		{model.ClassSomaxconnCap, somaxconnCap},
		{model.ClassFixedBacklog, fixedBacklog},
		{model.ClassBurst, burst},
	}
}

// podRules look at what the listeners gave.
func podRules() []podRule {
	return []podRule{
		{model.ClassNotAttributable, unattributed},
		{model.ClassSynQueue, synQueue},
		{model.ClassConfigDrift, configDrift},
		{model.ClassHistory, historyOnly},
		{model.ClassHealthy, healthy},
	}
}
