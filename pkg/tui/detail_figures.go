package tui

import (
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

func (d *detail) counters() {
	p, c, w := d.pod, d.pod.Counters, d.pod.Window
	about := "packets since the namespace began, retransmits included"
	if p.HostNetwork {
		about = "the node's, not the pod's"
	}
	d.section("Network namespace", about)
	window := "IN THE WINDOW"
	if s, ok := w.Seconds.Get(); ok {
		window = fmt.Sprintf("IN %.1fs", s)
	}
	head := []string{"", "SINCE START", window, "PER SECOND"}
	marked := !d.mark.at.IsZero()
	if marked {
		head = append(head, "SINCE MARK")
	}
	table := [][]string{head}
	row := func(name string, of func(model.Counters) model.Value[int64], diff string, rate string) {
		cells := []string{name, render.Count(of(c)), diff, rate}
		if marked {
			cells = append(cells, signed(d.sinceMark(p, of)))
		}
		table = append(table, cells)
	}
	row("ListenOverflows", overflowsOf, signed(w.Overflows), render.Rate(w.PerSecond(w.Overflows)))
	row("ListenDrops", func(c model.Counters) model.Value[int64] { return c.ListenDrops }, signed(w.Drops), render.Rate(w.PerSecond(w.Drops)))
	row("PassiveOpens", func(c model.Counters) model.Value[int64] { return c.PassiveOpens }, "", "")
	accepted := []string{"accepted", "", signed(w.Accepted), render.Rate(w.PerSecond(w.Accepted))}
	if marked {
		accepted = append(accepted, "")
	}
	table = append(table, accepted)
	row("TCPReqQFullDoCookies", func(c model.Counters) model.Value[int64] { return c.ReqQFullDoCookies }, "", "")
	row("TCPReqQFullDrop", func(c model.Counters) model.Value[int64] { return c.ReqQFullDrop }, "", "")
	row("SyncookiesSent", func(c model.Counters) model.Value[int64] { return c.SyncookiesSent }, "", "")
	row("SyncookiesRecv", func(c model.Counters) model.Value[int64] { return c.SyncookiesRecv }, "", "")
	somaxconn := make([]string, len(head))
	somaxconn[0], somaxconn[1] = "net.core.somaxconn", render.Count(c.Somaxconn)
	table = append(table, somaxconn)
	for i, l := range alignTable(table, []bool{false, true, true, true, true}[:len(head)]) {
		d.add("  " + orStyle(i == 0, d.styles.dim, d.styles.plain).Render(l))
	}
	if reason := w.Seconds.Reason(); reason != "" {
		d.plain("no window yet", reason)
	}
	if n, ok := w.Unattributed.Get(); ok && n > 0 {
		d.field("unattributed", fmt.Sprintf("%d overflows that no listener's own drop count explains", n), d.styles.warn)
	}
}

func signed(v model.Value[int64]) string {
	n, ok := v.Get()
	if !ok {
		return render.Unknown
	}
	return fmt.Sprintf("+%d", n)
}

func (d *detail) workers() {
	p, r := d.pod, d.pod.Runtime
	if render.Workers(p) == render.NotApplicable {
		d.section("Workers", "")
		why := render.Clean(r.Workers.Reason())
		d.add("  " + d.styles.dim.Render(orElse(why != "", why, "no proxy that tells about its workers")))
		return
	}
	d.section("Workers", "of "+render.Proxy(p))
	if render.Workers(p) == render.Unknown && r.Workers.Reason() != "" {
		d.plain("unknown", r.Workers.Reason())
		return
	}
	d.plain("in force", render.Workers(p))
	busy, style := render.Busy(p), d.styles.level(r.Window.Busy.Or(0), 0.7, model.BusySaturated)
	switch s, ok := r.Window.Seconds.Get(); {
	case r.Window.Busy.IsKnown() && ok:
		busy = fmt.Sprintf("%s %s over %.1fs", busy, bar(r.Window.Busy.Or(0), 10), s)
		if r.Window.Clamped {
			busy += " (a long poll was booked at its end: cut to 1)"
		}
	case r.Window.Busy.Reason() != "":
		busy += "  " + r.Window.Busy.Reason()
	}
	d.field("busy", busy, style)
	d.plain("CPU", orElse(r.Window.CPU.IsKnown(), fmt.Sprintf("%.2f cores", r.Window.CPU.Or(0)), render.Unknown))
	d.plain("parks, polls", render.Count(r.Window.Parks)+", "+render.Count(r.Window.Polls)+" in that time")
	if s, ok := r.Window.Stalled.Get(); ok && s >= model.StallSeconds {
		d.field("stalled", fmt.Sprintf("the metrics have stood still for %.0fs while the clock moved", s), d.styles.bad)
	}
	d.plain("run queue", render.Count(r.LocalQueue)+" tasks wait; "+render.Count(r.Steals)+" stolen, "+render.Count(r.Spills)+" spilled since start")
	d.plain("descriptors", render.Count(r.OpenFDs)+" of "+render.Count(r.MaxFDs))
	if ready, ok := r.Ready.Get(); ok {
		d.plain("ready", orElse(ready, "yes", "no"))
	}
}
