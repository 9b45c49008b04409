package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// table writes rows in columns, or as a table of Markdown. The last column is
// not padded.
func (b *page) table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	all := rows
	if head != nil {
		all = slices.Concat([][]string{head}, rows)
	}
	cells := make([][]string, len(all))
	widths := make([]int, len(all[0]))
	for i, r := range all {
		for j, c := range r {
			c = b.text(c)
			cells[i] = append(cells[i], c)
			widths[j] = max(widths[j], utf8.RuneCountInString(c))
		}
	}
	if b.o.Markdown {
		for i, r := range cells {
			b.line("| %s |", strings.Join(r, " | "))
			if i == 0 {
				b.line("|%s", strings.Repeat("---|", len(widths)))
			}
		}
		b.line("")
		return
	}
	for _, r := range cells {
		var l strings.Builder
		l.WriteString("    ")
		for j, c := range r {
			l.WriteString(c)
			if j < len(r)-1 {
				l.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(c)+2))
			}
		}
		b.line("%s", strings.TrimRight(l.String(), " "))
	}
}

func (b *page) queues() {
	p := b.p
	b.heading("QUEUES")
	if len(p.Listeners) == 0 || p.HostNetwork {
		b.item("    ", cmp.Or(orWord(p.HostNetwork, model.ReasonHostNetwork), p.Collection.Message, p.Sockets.Reason(), "nothing listens in this pod"))
		return
	}
	var rows [][]string
	for _, l := range ByUrgency(p) {
		rows = append(rows, []string{
			Listener(l), l.String(), Queue(l.Worst()), Peak(l), OverflowRate(p, l), Count(SocketDrops(l)), verdictOf(p, &l),
		})
	}
	b.table([]string{"LISTENER", "ADDRESS", "QUEUE", "PEAK", "OVF/S", "DROPS", "VERDICT"}, rows)
	for _, l := range ByUrgency(p) {
		if l.Waiting == nil || l.Waiting.Total() == 0 {
			continue
		}
		text := Listener(l) + ": " + Waiting(*l.Waiting)
		if s := Standstill(*l.Waiting); s != "" {
			text += ", " + s
		}
		if c := Callers(*l.Waiting, 3); c != "" {
			text += "; " + c
		}
		b.item("    ", text)
	}
	text := fmt.Sprintf("since the namespace began: %s overflows, %s drops; somaxconn %s",
		Count(p.Counters.ListenOverflows), Count(p.Counters.ListenDrops), Count(p.Counters.Somaxconn))
	if a := p.Window.PerSecond(p.Window.Accepted); a.IsKnown() {
		text += "; accepts " + Rate(a) + " per second"
	}
	b.item("    ", text)
}

func (b *page) workers() {
	p, r := b.p, b.p.Runtime
	b.heading("WORKERS")
	if r.Workers.IsKnown() {
		text := fmt.Sprintf("%s of %s: busy %s", plural(r.Workers.Or(0), "worker"), cmp.Or(Proxy(p), "the proxy"), Busy(p))
		if cpu, ok := r.Window.CPU.Get(); ok {
			text += fmt.Sprintf(", %.2f cores used", cpu)
		}
		text += ", CPU limit " + cores(p.Proxy.CPULimit)
		b.item("    ", text)
	} else if k := workersKnob(p); k.InForce.IsKnown() {
		text := fmt.Sprintf("%s, seen by %s", plural(k.InForce.Or(0), "worker"), Clean(k.SeenBy))
		if r.Window.Busy.IsKnown() {
			text += ": busy " + Busy(p)
		}
		b.item("    ", text)
	} else if reason := r.Workers.Reason(); reason != "" {
		b.item("    ", "unknown: "+reason)
	}
	if r.Requests.IsKnown() {
		b.item("    ", fmt.Sprintf("the proxy counted %s requests since it began, %s of them failed", Count(r.Requests), Count(r.Failures)))
	}
	q := p.Process
	if q.Name == "" {
		if reason := q.CPU.Reason(); reason != "" {
			b.item("    ", "threads: "+reason)
		}
		return
	}
	text := fmt.Sprintf("%s in container %s: %s", q.Name, q.Container, plural(int64(len(q.Threads)+q.OmittedThreads), "thread"))
	if cpu, ok := q.CPU.Get(); ok {
		text += fmt.Sprintf(", %.2f cores used", cpu)
	}
	if wait, ok := q.Wait.Get(); ok {
		text += fmt.Sprintf(", %.2f s per second waited for a CPU", wait)
	}
	text += ", CPU limit " + cores(q.CPULimit)
	if q.MaxFDs.IsKnown() {
		text += fmt.Sprintf(", descriptors %s of %s", Count(q.OpenFDs), Count(q.MaxFDs))
	}
	b.item("    ", text)
}

func plural(n int64, what string) string { return Plural(int(min(max(n, 0), 1<<30)), what) }

func cores(v model.Value[float64]) string {
	if c, ok := v.Get(); ok {
		return fmt.Sprintf("%.2g", c)
	}
	if strings.Contains(v.Reason(), "has no CPU limit") {
		return "none"
	}
	return Unknown
}

func (b *page) configuration() {
	if len(b.p.Knobs) == 0 {
		return
	}
	b.heading("CONFIGURATION")
	var rows [][]string
	for _, k := range b.p.Knobs {
		mark := "ok"
		switch {
		case k.Differs():
			mark = "differs"
		case !k.Asked.IsKnown() || !k.InForce.IsKnown():
			mark = Unknown
		}
		rows = append(rows, []string{k.Name, Count(k.Asked), Count(k.InForce), cmp.Or(k.SeenBy, NotApplicable), mark})
	}
	b.table([]string{"KNOB", "ASKED", "IN FORCE", "SEEN BY", ""}, rows)
	for _, k := range b.p.Knobs {
		var links []string
		for _, o := range k.Chain {
			link := o.Where + " " + o.Name
			if o.Value != "" {
				link += "=" + o.Value
			}
			if o.Note != "" {
				link += " (" + o.Note + ")"
			}
			links = append(links, link)
		}
		if len(links) > 0 {
			b.item("    ", k.Name+": "+strings.Join(links, " -> "))
		}
		if k.Why != "" {
			b.item("    ", "  why: "+k.Why)
		}
		for _, reason := range []string{k.Asked.Reason(), k.InForce.Reason()} {
			if reason != "" {
				b.item("    ", "  unknown: "+reason)
			}
		}
		if set := strings.TrimSpace(k.Remedy.Where + " " + k.Remedy.Name); set != "" && k.Differs() {
			b.item("    ", "  set by: "+set)
		}
	}
}

// unknown lists what could not be measured: reasons alike stand once.
func (b *page) unknown() {
	type group struct {
		reason string
		fields []string
	}
	var groups []group
	for _, m := range b.p.Unknowns() {
		if strings.HasSuffix(m.Field, "cpuLimit") {
			continue // stands with the workers
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.reason == m.Reason })
		if i < 0 {
			groups, i = append(groups, group{reason: m.Reason}), len(groups)
		}
		groups[i].fields = append(groups[i].fields, m.Field)
	}
	if len(groups) == 0 && len(b.p.Notes) == 0 && b.p.Collection.Metrics == "" && b.p.Manifest.Template.Reason() == "" && b.p.Manifest.Namespace.Reason() == "" {
		return
	}
	b.heading("UNKNOWN AND NOTES")
	for _, g := range groups {
		fields := g.fields
		more := ""
		if len(fields) > 3 {
			more = fmt.Sprintf(" and %d more", len(fields)-3)
			fields = fields[:3]
		}
		b.item("    ", strings.Join(fields, ", ")+more+": "+g.reason)
	}
	for _, m := range []struct{ what, reason string }{
		{"pod template of the workload", b.p.Manifest.Template.Reason()},
		{"annotations of the namespace", b.p.Manifest.Namespace.Reason()},
	} {
		if m.reason != "" {
			b.item("    ", m.what+": "+m.reason)
		}
	}
	if m := b.p.Collection.Metrics; m != "" {
		b.item("    ", "metrics: "+m)
	}
	for _, n := range b.p.Notes {
		b.item("    ", n)
	}
}
