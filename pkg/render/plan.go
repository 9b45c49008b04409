package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// PlanKind is the kind of the object that `plan -o json` prints.
const PlanKind = "Plan"

// PrintPlan writes a plan: what would follow on each kind of node and in each
// queue, what speaks against it, the commands, and what all of it rests on.
func PrintPlan(w io.Writer, p plan.Plan, o PageOptions) error {
	b := &page{o: o}
	b.field("Workload", p.Workload.Kind+"/"+p.Workload.Name)
	b.field("Namespace", p.Namespace)
	b.field("Context", o.Context)
	b.field("Looked at", lookedAt(p))
	b.field("Wanted", wanted(p.Wanted))
	b.planWorkers(p)
	b.planQueues(p)
	b.needed(p)
	b.list("BUT", p.Findings)
	b.apply(p)
	b.list("ASSUMPTIONS", p.Assumptions)
	b.list("UNKNOWN", p.Unknown)
	if _, err := w.Write(b.out.Bytes()); err != nil {
		return fmt.Errorf("printing the plan for %s: %w", Clean(p.Workload.Name), err)
	}
	return nil
}

func lookedAt(p plan.Plan) string {
	text := Plural(p.Pods, "pod")
	d := p.Demand
	if d.Busy.IsKnown() {
		text += fmt.Sprintf("; busiest %s: %s busy %s over %s", d.Pod, plural(d.Workers.Or(0), "worker"), Ratio(d.Busy), Seconds(d.Seconds))
	}
	return text
}

// Ratio is a busy ratio with two digits, or Unknown.
func Ratio(v model.Value[float64]) string {
	f, ok := v.Get()
	if !ok {
		return Unknown
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

func wanted(w plan.Wanted) string {
	var parts []string
	if n, ok := w.Workers.Get(); ok {
		parts = append(parts, plural(n, "worker"))
	}
	if r, ok := w.Ratio.Get(); ok {
		parts = append(parts, fmt.Sprintf("workers for %g of the CPUs", r))
	}
	if n, ok := w.Backlog.Get(); ok {
		parts = append(parts, fmt.Sprintf("backlog %d", n))
	}
	if len(parts) == 0 {
		return "nothing: what the present evidence would need"
	}
	return strings.Join(parts, ", ")
}

func (b *page) planWorkers(p plan.Plan) {
	if len(p.Workers) == 0 {
		return
	}
	b.heading("WORKERS")
	var rows [][]string
	for _, k := range p.Workers {
		names := strings.Join(k.Names, ", ")
		if more := k.Nodes - len(k.Names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		rows = append(rows, []string{
			Count(k.CPUs), strconv.Itoa(k.Nodes), strconv.Itoa(k.Pods), Count(k.Available), Count(k.Now), Count(k.Planned), predicted(p, k), names,
		})
	}
	b.table([]string{"NODE CPUS", "NODES", "PODS", "AVAILABLE", "WORKERS NOW", "PLANNED", "BUSY PREDICTED", "NAMES"}, rows)
}

// predicted is the busy ratio to expect; from its lower bound on where the workers
// hide what is asked of them.
func predicted(p plan.Plan, k plan.OnNodes) string {
	busy := Ratio(k.Busy)
	if low := Ratio(k.BusyAtLeast); k.Busy.IsKnown() && (p.Demand.AtLeast || low != busy) {
		if low == busy {
			return "at least " + low
		}
		return "at least " + low + ", about " + busy
	}
	return busy
}

func (b *page) planQueues(p plan.Plan) {
	if len(p.Queues) == 0 {
		return
	}
	b.heading("QUEUES")
	var rows [][]string
	for _, q := range p.Queues {
		planned := NotApplicable
		if q.Planned.IsKnown() {
			planned = Count(q.Planned)
		}
		rows = append(rows, []string{
			Listener(model.Listener{Role: q.Role, Port: q.Port}), Count(q.Limit), planPeak(q), Count(q.Refused), Count(q.Biggest), Count(q.Needed),
			planned, Count(q.Somaxconn), Count(q.InForce), bytesOf(q.Memory),
		})
	}
	b.table([]string{"LISTENER", "LIMIT", "PEAK", "REFUSED", "BIGGEST", "NEEDED", "PLANNED", "SOMAXCONN", "IN FORCE", "MEMORY WHEN FULL"}, rows)
}

// planPeak is the highest depth seen; of one that refused, at least the limit and one.
func planPeak(q plan.Queue) string {
	if limit, ok := q.Limit.Get(); ok && q.Refused.Or(0) > 0 && q.Peak.Or(0) <= limit {
		return fmt.Sprintf("≥%d", limit+1)
	}
	return Count(q.Peak)
}

// bytesOf is a size in the largest unit in which it is not below 1.
func bytesOf(v model.Value[int64]) string {
	n, ok := v.Get()
	switch {
	case !ok:
		return Unknown
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)/1024)
}

// needed is what the evidence asks for.
func (b *page) needed(p plan.Plan) {
	b.heading("NEEDED, by what was seen")
	say := func(what string, v model.Value[int64], now model.Value[int64]) {
		n, ok := v.Get()
		switch {
		case !ok:
			b.item("    ", what+": unknown: "+v.Reason())
		case now.Or(-1) >= n:
			b.item("    ", fmt.Sprintf("%s: %d, as it is", what, now.Or(n)))
		default:
			b.item("    ", fmt.Sprintf("%s: %d, now %s", what, n, Count(now)))
		}
	}
	say("workers", p.Needed.Workers, p.Demand.Workers)
	limit := model.Unknown[int64]("")
	for _, q := range p.Queues {
		if q.Needed == p.Needed.Backlog {
			limit = q.Limit
			break
		}
	}
	say("backlog", p.Needed.Backlog, limit)
}

func (b *page) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.heading(title)
	for _, l := range lines {
		b.item("    ", l)
	}
}

func (b *page) apply(p plan.Plan) {
	if len(p.Apply) == 0 && p.Restarts == "" && p.Checked == "" {
		return
	}
	b.heading("DO IT")
	for _, a := range p.Apply {
		b.item("    ", a.Text)
		b.block(a.Command)
		if a.Values != "" {
			b.item("      ", a.Place+":")
			b.block(a.Values)
		} else if a.Place != "" {
			b.item("      ", a.Place)
		}
		if a.Undo != "" {
			b.item("      ", "undo:")
			b.block(a.Undo)
		}
		for _, n := range a.Notes {
			b.item("      ", "("+n+")")
		}
	}
	if p.Restarts != "" {
		b.item("    ", "restarts "+p.Restarts)
	}
	if p.Checked != "" {
		b.item("    ", "server dry run: "+p.Checked)
	}
}

// PlanObject gives a plan as an object.
func PlanObject(p plan.Plan) (*unstructured.Unstructured, error) {
	fields, err := toMap("the plan", p)
	if err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = APIVersion, PlanKind
	fields["metadata"] = map[string]any{"name": p.Workload.Name, "namespace": p.Namespace}
	return &unstructured.Unstructured{Object: cleanTree(fields).(map[string]any)}, nil
}
