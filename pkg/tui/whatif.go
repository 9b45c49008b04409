package tui

import (
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// ifs are workers and backlog that somebody asks about; unknown is as it is now.
type ifs struct {
	on      bool
	workers model.Value[int64]
	backlog model.Value[int64]
}

// Bounds of what can be asked.
const (
	mostIfWorkers = 256
	mostIfBacklog = 1 << 20
)

func (a *app) toggleIfs(p *podPage) {
	p.ifs = ifs{on: !p.ifs.on}
	if p.ifs.on {
		p.offset[p.tab] = 0
		a.scroll.SetYOffset(0)
	}
}

// burstsOf are the largest of the pod that the screen remembers, up to the moment that
// is shown.
func (a *app) burstsOf(pod string) plan.Bursts {
	var b plan.Bursts
	now := a.viewNow()
	for _, q := range a.timeline.Track(pod).Queues() {
		for _, s := range q.Steps {
			if n, ok := s.Refused().Get(); ok && !s.Time().After(now) {
				b.Note(pod, q.Listener.Place(), int64(n))
			}
		}
	}
	return b
}

// pressIfs changes what is asked about.
func (a *app) pressIfs(msg tea.KeyMsg, f *ifs) bool {
	r, ok := a.rows[a.detail]
	if !ok {
		return false
	}
	change := func(v *model.Value[int64], now model.Value[int64], by func(int64) int64, most int64, what string) {
		from, ok := now.Get()
		if v.IsKnown() {
			from, ok = v.Or(0), true
		}
		if !ok {
			a.say("how many " + what + " there are is not known")
			return
		}
		n := min(max(1, by(from)), most)
		if *v = model.Known(n); now.IsKnown() && n == now.Or(0) {
			*v = model.Value[int64]{}
		}
	}
	workers, backlog := r.pod.Runtime.Workers, limitNow(r.pod)
	k := a.keys
	switch {
	case key.Matches(msg, k.lessWorkers):
		change(&f.workers, workers, func(n int64) int64 { return n - 1 }, mostIfWorkers, "workers")
	case key.Matches(msg, k.moreWorkers):
		change(&f.workers, workers, func(n int64) int64 { return n + 1 }, mostIfWorkers, "workers")
	case key.Matches(msg, k.lessBacklog):
		change(&f.backlog, backlog, func(n int64) int64 { return n / 2 }, mostIfBacklog, "places in the queue")
	case key.Matches(msg, k.moreBacklog):
		change(&f.backlog, backlog, func(n int64) int64 { return n * 2 }, mostIfBacklog, "places in the queue")
	default:
		return false
	}
	return true
}

// limitNow is the backlog in force of the listener that a plan would change.
func limitNow(p *model.Pod) model.Value[int64] {
	for _, l := range p.Listeners {
		if l.Role == model.RoleInbound {
			return l.Worst().Limit
		}
	}
	if list := render.ByUrgency(*p); len(list) > 0 {
		return list[0].Worst().Limit
	}
	return model.Unknown[int64]("nothing listens")
}

// whatIf tells what would follow, beside what is. It is a prediction and says so.
func (d *detail) whatIf(f *ifs) {
	p := d.pod
	wanted := plan.Wanted{Workers: f.workers, Backlog: f.backlog}
	in := plan.Input{Pods: []model.Pod{p}, Bursts: d.burstsOf(p.Key()), Wanted: wanted}
	if n, ok := p.Runtime.Workers.Get(); ok {
		in.Rule, in.HasRule = model.WorkerRule{Max: model.Known(n)}, true
	}
	out := plan.Of(in)
	d.section("What if", "a prediction, from what the screen remembers; x closes")
	side := func(now, then model.Value[int64]) string {
		if !then.IsKnown() {
			return render.Count(now) + "  (as it is)"
		}
		return render.Count(now) + " -> " + render.Count(then)
	}
	d.field("workers  < >", side(p.Runtime.Workers, f.workers), d.styles.bold)
	d.field("backlog  - =", side(limitNow(&p), f.backlog), d.styles.bold)
	d.plain("busy now", render.Busy(p))
	if f.workers.IsKnown() {
		text := render.Unknown
		for _, w := range out.Workers {
			text = "about " + render.Ratio(w.Busy)
			if low := render.Ratio(w.BusyAtLeast); low != render.Ratio(w.Busy) || out.Demand.AtLeast {
				text = "at least " + low + ", about " + render.Ratio(w.Busy)
			}
		}
		d.plain("busy then", text)
	}
	for _, q := range out.Queues {
		if q.Role != model.RoleInbound && q.Role != model.RoleApp {
			continue
		}
		text := fmt.Sprintf("refused %s in the window, at most %s at once; a backlog of %s would have held that",
			render.Count(q.Refused), render.Count(q.Biggest), render.Count(q.Needed))
		if q.Planned.IsKnown() {
			text += "; planned " + render.Count(q.Planned) + ", in force then " + render.Count(q.InForce)
		}
		d.plain(render.Listener(model.Listener{Role: q.Role, Port: q.Port}), text)
	}
	if n, ok := out.Needed.Workers.Get(); ok {
		d.plain("would be needed", render.Plural(int(n), "worker"))
	}
	for i, text := range out.Findings {
		d.field(orElse(i == 0, "but", ""), text, d.styles.warn)
	}
	for i, text := range out.Assumptions {
		d.field(orElse(i == 0, "assumed", ""), text, d.styles.dim)
	}
	for i, text := range out.Unknown {
		d.field(orElse(i == 0, "unknown", ""), text, d.styles.dim)
	}
}
