package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

const (
	// maxCallers and maxThreadRows bound what one page shows.
	maxCallers    = 8
	maxThreadRows = 24
	// stuckSeconds is when a queue that nothing leaves is worth a red line: even a
	// slow program accepts something in that time.
	stuckSeconds = 10
)

// waiting tells who stands in the queues that are not empty.
func (d *detail) waiting() {
	begun := false
	for _, l := range render.ByUrgency(d.pod) {
		w := l.Waiting
		if w == nil || w.Total() == 0 {
			continue
		}
		if !begun {
			d.section("Waiting", "connections that the program has not accepted yet")
			begun = true
		}
		style := d.styles.warn
		if w.StandsStill().Or(0) >= stuckSeconds {
			style = d.styles.bad
		}
		text := render.Waiting(*w)
		if still := render.Standstill(*w); still != "" {
			text += "; " + still
		}
		if age := d.pod.Sample.Uptime.Or(0) - w.Uptime.Or(0); age >= 1 {
			text += fmt.Sprintf(" (asked %s ago)", render.Seconds(model.Known(age)))
		}
		d.field(render.Listener(l), text, style)
		d.plain("", render.Callers(*w, maxCallers))
	}
}

// threads tells what the target's threads do, the busiest first.
func (d *detail) threads() {
	p := d.pod.Process
	if p.PID == 0 && len(p.Threads) == 0 {
		if why := p.CPU.Reason(); why != "" {
			d.section("Threads", "")
			for _, l := range wrap(render.Clean(why), d.width-2) {
				d.add("  " + d.styles.dim.Render(l))
			}
		}
		return
	}
	about := fmt.Sprintf("of %s, process %d", render.Clean(p.Name), p.PID)
	if p.Container != "" {
		about += " of container " + p.Container
	}
	if s, ok := p.Seconds.Get(); ok {
		about += fmt.Sprintf(", over %.1fs", s)
	}
	d.section("Threads", about)
	d.plain("CPU", fmt.Sprintf("%s cores, waits %ss a second to get one; may run on %s CPUs", render.Share(p.CPU), render.Share(p.Wait), render.Count(p.CPUsAllowed)))
	d.plain("descriptors", render.Count(p.OpenFDs)+" of "+render.Count(p.MaxFDs))
	var why []string
	because := func(reason string) {
		if reason != "" && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	for _, reason := range []string{p.CPU.Reason(), p.Wait.Reason(), p.CPUsAllowed.Reason(), p.OpenFDs.Reason(), p.MaxFDs.Reason()} {
		because(reason)
	}
	list := slices.Clone(p.Threads)
	slices.SortStableFunc(list, func(a, b model.Thread) int {
		return cmp.Compare(b.CPU.Or(0)+b.Wait.Or(0), a.CPU.Or(0)+a.Wait.Or(0))
	})
	table := [][]string{{"THREAD", "NAME", "STATE", "CPU", "WAIT", "SLEEPS IN"}}
	for _, t := range list[:min(len(list), maxThreadRows)] {
		wchan := render.Unknown
		if name, ok := t.Wchan.Get(); ok {
			wchan = render.Clean(name)
		}
		if t.State == "R" && !t.Wchan.IsKnown() {
			wchan = "" // whoever runs sleeps nowhere
		} else {
			because(t.Wchan.Reason())
		}
		because(t.CPU.Reason())
		because(t.Wait.Reason())
		table = append(table, []string{
			strconv.Itoa(t.TID), render.Clean(t.Name), render.ThreadState(t.State), render.Share(t.CPU), render.Share(t.Wait), wchan,
		})
	}
	for i, l := range alignTable(table, []bool{true, false, false, true, true, false}) {
		d.add("  " + orStyle(i == 0, d.styles.dim, d.styles.plain).Render(l))
	}
	if n := len(list) - maxThreadRows; n > 0 {
		d.add("  " + d.styles.dim.Render(fmt.Sprintf("and %d more that did less", n)))
	}
	if n := p.OmittedThreads; n > 0 {
		d.add("  " + d.styles.dim.Render(fmt.Sprintf("and %d more that were not looked at", n)))
	}
	for _, reason := range why {
		d.field(render.Unknown, reason, d.styles.dim)
	}
}
