package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// forks makes a server of a process: its worker is a child.
func forks(second int, p *model.Pod) {
	p.Process.Children = []model.Child{{PID: 7, Parent: 1, Name: "nginx", Title: "nginx: worker"}}
	p.Process.OpenFDs, p.Process.MaxFDs = model.Known[int64](10), model.Known[int64](1024)
	p.Knobs = append(p.Knobs, model.Knob{Name: "workers", InForce: model.Known[int64](1), SeenBy: "threads", Asked: model.Unknown[int64]("not read")})
}

// A saturated server whose workers are processes: how many there are is known, and
// so is how many to ask for.
func TestWorkersThatAreProcesses(t *testing.T) {
	m := server(128).with(threads(0.97, 0.01, "R"))
	m.change = forks
	m.full(40, 200)
	verdicts := diagnose.Judge(m.history(), diagnose.Options{})
	i := slices.IndexFunc(verdicts, func(v model.Verdict) bool { return v.Class == model.ClassSaturated })
	if i < 0 {
		t.Fatalf("%+v", verdicts)
	}
	if a := verdicts[i].Fix[0]; a.From != model.Known[int64](1) || a.To.Or(0) != 2 {
		t.Errorf("%+v", a)
	}
	// The master's descriptors say nothing of its workers'.
	if !slices.ContainsFunc(verdicts[i].Unknown, func(u string) bool { return strings.Contains(u, "descriptors of the child processes") }) {
		t.Errorf("unknown %q", verdicts[i].Unknown)
	}
}
