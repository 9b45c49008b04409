package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// planned is a plan for a saturated workload on two kinds of nodes, with all that a
// plan can have.
func planned() plan.Plan {
	p := with("server-1", func(p *model.Pod) {
		p.Workload = model.Workload{Kind: "Deployment", Name: "server"}
		p.Manifest = model.Manifest{Strategy: "RollingUpdate", Replicas: known(3)}
		p.Runtime.Window.Busy, p.Runtime.Window.CPU = model.Known(0.99), model.Known(0.98)
		p.Listeners[0].Window.Overflows, p.Window.Overflows = known(43), known(43)
		p.Knobs[0].Remedy = model.Remedy{Name: "config.linkerd.io/proxy-cpu-limit", Unit: "cpus"}
	})
	made := plan.Of(plan.Input{
		Pods: []model.Pod{p}, Wanted: plan.Wanted{Workers: known(4), Backlog: known(8192)},
		Rule: model.WorkerRule{Min: known(1)}, Limit: model.Unknown[int64]("no limit"), HasRule: true,
		Nodes: []plan.Node{{Name: "node-a", CPUs: known(16)}, {Name: "node-b", CPUs: known(2)}, {Name: "node-c", CPUs: known(16)}},
	})
	made.Apply = []model.Action{{
		Text: "Annotations of the pod template.", Command: "kubectl --context prod-eu1 -n shop patch deployment/server -p '{}'",
		Undo: "kubectl --context prod-eu1 -n shop rollout undo deployment/server", Notes: []string{"keeps what else is in the list (1)"},
	}}
	made.Checked = "the API server takes it; nothing was changed"
	return made
}

func planText(t *testing.T, p plan.Plan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := PrintPlan(&b, p, PageOptions{Now: noon, Context: "prod-eu1"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPlan(t *testing.T) {
	golden(t, "plan.txt", planText(t, planned()))
	unknown := with("server-1", func(p *model.Pod) {
		unread(p, "the probe was refused")
		p.Workload = model.Workload{Kind: "Deployment", Name: "server"}
	})
	golden(t, "plan-unknown.txt", planText(t, plan.Of(plan.Input{Pods: []model.Pod{unknown}, NodesReason: "may not be listed"})))
	object, err := PlanObject(planned())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.yaml", print(t, object, "yaml"))
}

func TestPlanIsClean(t *testing.T) {
	p := planned()
	const hostile = "x\x1b[31m\nnext"
	p.Workload.Name, p.Findings, p.Unknown, p.Assumptions = hostile, []string{hostile}, []string{hostile}, []string{hostile}
	p.Workers[0].Names, p.Demand.Pod, p.Checked, p.Apply[0].Command = []string{hostile}, hostile, hostile, hostile
	text := string(planText(t, p))
	if strings.Contains(text, "\x1b") {
		t.Errorf("an escape sequence reaches the terminal:\n%q", text)
	}
}
