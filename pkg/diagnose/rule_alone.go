package diagnose

import (
	"cmp"
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// workersAlone is for a pod whose proxy told of its workers while its queues could
// not be read: what saturates or starves the workers is known all the same.
func workersAlone(f *facts) (model.Verdict, bool) {
	if len(f.samples) < minSamples || len(f.last.Listeners) > 0 || f.last.HostNetwork || !f.last.Runtime.Workers.IsKnown() {
		return model.Verdict{}, false
	}
	w := &workers{
		busy: model.Unknown[float64]("not read"), cpu: model.Unknown[float64]("not read"),
		wait: model.Unknown[float64]("not read"), count: model.Unknown[int64]("not read"),
	}
	f.readRuntime(w, 0, len(f.samples)-1)
	w.conclude()
	if w.saturated != yes && w.starved != yes {
		return model.Verdict{}, false
	}
	why := cmp.Or(f.last.Collection.Message, f.last.Sockets.Reason(), "not asked for")
	v := model.Verdict{
		Class: model.ClassSaturated, Severity: model.SeverityWarning,
		Sentence: "The proxy's workers are busy all the time; whether anybody waits or is refused is unknown.",
		Evidence: w.words,
		Now:      []model.Action{do(model.ActScaleOut, "More replicas share the load.")},
		Fix:      []model.Action{do(model.ActAddWorkers, "More workers, and the CPU for them.")},
		Not:      []model.Action{do(model.ActRaiseBacklog, "Not the backlog: it serves nobody sooner.")},
		Unknown:  append([]string{"the queues: " + why}, w.unknown...),
	}
	v.Fix[0].Knob, v.Fix[0].From = "workers", w.count
	switch {
	case w.starved == yes:
		v.Class = model.ClassCPUStarved
		v.Sentence = fmt.Sprintf("The proxy's workers want CPU and do not get it: they used %s cores; whether anybody waits or is refused is unknown.", ratio(w.cpu.Or(0)))
		v.Fix = []model.Action{do(model.ActRaiseCPU, "A higher CPU limit where the limit binds, else a higher CPU request.")}
		v.Fix[0].Container = f.last.Proxy.Container
	case w.starved == open:
		v.Class, v.Candidates = model.ClassUndecided, []model.Class{model.ClassSaturated, model.ClassCPUStarved}
	}
	return v, true
}
