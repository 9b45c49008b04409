package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

func (d *detail) knobs() {
	if len(d.pod.Knobs) == 0 {
		return
	}
	d.section("Configuration", "asked for, and in force")
	for _, k := range d.pod.Knobs {
		d.knob(k)
	}
}

// knob is one setting with the chain that led to it.
func (d *detail) knob(k model.Knob) {
	text := "asked " + render.Count(k.Asked) + ", in force " + render.Count(k.InForce)
	style := d.styles.plain
	switch {
	case k.Differs():
		text, style = text+"  ≠", d.styles.warn
	case k.Asked.IsKnown() && k.InForce.IsKnown():
		text += "  ok"
	}
	if k.SeenBy != "" {
		text += "  (seen by " + k.SeenBy + ")"
	}
	d.field(render.Clean(k.Name), text, style)
	for _, v := range []model.Value[int64]{k.Asked, k.InForce} {
		if v.Reason() != "" {
			d.field("", "unknown: "+v.Reason(), d.styles.dim)
		}
	}
	for i, o := range k.Chain {
		from := orElse(i == 0, "from ", "then ")
		from += o.Where
		if o.Name != "" {
			from += " " + o.Name
		}
		if o.Value != "" {
			from += " = " + o.Value
		}
		if o.Note != "" {
			from += " (" + o.Note + ")"
		}
		d.field("", from, d.styles.dim)
	}
	if k.Why != "" {
		d.plain("", "why: "+k.Why)
	}
	if k.Differs() && k.Remedy != (model.Remedy{}) {
		d.plain("", strings.TrimSpace("set in: "+k.Remedy.Where+" "+k.Remedy.Name+" "+k.Remedy.Form))
	}
}

// limits sets somaxconn beside each queue's limit: it caps what a program asks for.
func (d *detail) limits() {
	p := d.pod
	if len(p.Listeners) == 0 {
		return
	}
	d.section("Limits", "somaxconn "+render.Count(p.Counters.Somaxconn)+" in this pod; it counts when listen() is called")
	for _, l := range render.ByUrgency(p) {
		s := l.Worst()
		text := "in force " + render.Count(s.Limit)
		if limit, ok := s.Limit.Get(); ok && p.Counters.Somaxconn.Or(-1) == limit {
			text += ": somaxconn itself"
		}
		if reason := s.Limit.Reason(); reason != "" {
			text += ": " + reason
		}
		d.plain(render.Listener(l), text)
	}
}

func (d *detail) notes() {
	if len(d.pod.Notes) == 0 {
		return
	}
	d.section("Notes", "")
	for _, n := range d.pod.Notes {
		for _, l := range wrap(render.Clean(n), d.width-4) {
			d.add("  " + l)
		}
	}
}

// unknowns lists what could not be measured, by reason.
func (d *detail) unknowns() {
	missing := d.pod.Unknowns()
	if len(missing) == 0 {
		return
	}
	d.section("Unknown", "and why")
	fields := map[string][]string{}
	var reasons []string
	for _, m := range missing {
		if fields[m.Reason] == nil {
			reasons = append(reasons, m.Reason)
		}
		fields[m.Reason] = append(fields[m.Reason], m.Field)
	}
	slices.SortStableFunc(reasons, func(x, y string) int { return cmp.Compare(len(fields[x]), len(fields[y])) })
	for _, reason := range reasons {
		for _, l := range wrap(render.Clean(reason), d.width-4) {
			d.add("  " + l)
		}
		names := fields[reason]
		text := strings.Join(names[:min(12, len(names))], ", ")
		if len(names) > 12 {
			text += fmt.Sprintf(" and %d more", len(names)-12)
		}
		for _, l := range wrap(render.Clean(text), d.width-6) {
			d.add("    " + d.styles.dim.Render(l))
		}
	}
}

func (d *detail) collection() {
	p, c := d.pod, d.pod.Collection
	d.section("Collection", "")
	via := string(c.Via)
	if c.Probe != "" {
		via += " " + c.Probe
	}
	d.plain("via", via)
	stage := string(c.Stage)
	if c.Message != "" {
		stage += ": " + c.Message
	}
	d.plain("stage", stage)
	if c.Metrics != "" {
		d.field("metrics", c.Metrics, d.styles.warn)
	}
	if !p.Sample.Arrived.IsZero() {
		d.plain("newest frame", fmt.Sprintf("number %d, %s old", p.Sample.Seq, render.Age(d.viewNow(), p.Sample.Arrived)))
	}
	d.plain("proxy", render.Proxy(p))
	if p.Proxy.Container != "" {
		d.plain("container", p.Proxy.Container)
	}
	pod := orElse(p.Ready, "ready", "not ready")
	if p.Phase != "" {
		pod = p.Phase + ", " + pod
	}
	if !p.Meta.Created.IsZero() {
		pod += ", created " + p.Meta.Created.UTC().Format("2006-01-02 15:04:05Z")
	}
	d.plain("pod", pod)
	if p.Workload.Name != "" {
		d.plain("workload", p.Workload.Kind+"/"+p.Workload.Name)
	}
	if p.Node != "" {
		d.plain("node", p.Node)
	}
}
