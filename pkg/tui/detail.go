package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// detailLines are the page of one pod: every figure with what it rests on.
func (a *app) detailLines() []string {
	r, ok := a.rows[a.detail]
	if !ok {
		return []string{"", "  " + a.styles.dim.Render("this pod is no longer among the watched ones; esc goes back")}
	}
	d := &detail{app: a, pod: r.pod, row: r}
	d.headline()
	d.listeners()
	d.counters()
	d.workers()
	d.knobs()
	d.notes()
	d.unknowns()
	d.collection()
	return d.lines
}

// detail gathers the page's lines.
type detail struct {
	*app
	pod   model.Pod
	row   row
	lines []string
}

func (d *detail) add(lines ...string) { d.lines = append(d.lines, lines...) }

func (d *detail) section(name, about string) {
	line := d.styles.title.Render(name)
	if about != "" {
		line += "  " + d.styles.dim.Render(render.Clean(about))
	}
	d.add("", line)
}

const labelWidth = 18

// field adds a labelled text, wrapped with a hanging indent.
func (d *detail) field(label, text string, style lipgloss.Style) {
	for i, l := range wrap(render.Clean(text), d.width-labelWidth-3) {
		head := ""
		if i == 0 {
			head = label
		}
		d.add("  " + d.styles.dim.Render(cell(head, labelWidth, false)) + style.Render(l))
	}
}

func (d *detail) plain(label, text string) { d.field(label, text, d.styles.plain) }

func (d *detail) headline() {
	p := d.pod
	word, style := d.stateWord(d.row)
	name := d.styles.bold.Render(render.Clean(p.Meta.Namespace) + "/" + render.Clean(p.Meta.Name))
	d.add("", name+"  "+style.Render(word))
	if why := d.whyWord(d.row); why != "" {
		for _, l := range wrap(why, d.width-2) {
			d.add("  " + l)
		}
	}
}

func (d *detail) listeners() {
	p := d.pod
	about := ""
	if p.HostNetwork {
		about = "of the node: " + model.ReasonHostNetwork
	}
	d.section("Listeners", about)
	if len(p.Listeners) == 0 {
		d.add("  " + d.styles.dim.Render(orElse(d.stageText(d.row) != "", d.stageText(d.row), "none")))
		return
	}
	head := []string{"LISTENER", "ADDRESS", "Q/LIMIT", "", "PEAK", "OVF", "OVF/s", "DROPS", "INODE"}
	table := [][]string{head}
	styles := []lipgloss.Style{d.styles.dim}
	for _, l := range render.ByUrgency(p) {
		s := l.Worst()
		fill, ok := render.Fill(s)
		style := d.styles.level(fill, 0.5, 1)
		if l.Window.Overflows.Or(0) > 0 {
			style = d.styles.bad
		}
		inode := render.Count(s.Inode)
		if len(l.Sockets) > 1 {
			inode = ""
		}
		table = append(table, []string{
			render.Listener(l), render.Clean(l.String()), render.Queue(s), orElse(ok, bar(fill, 8), ""),
			render.Short(l.Window.Peak), render.Short(l.Window.Overflows),
			render.Rate(p.Window.PerSecond(l.Window.Overflows)), render.Short(render.SocketDrops(l)), inode,
		})
		styles = append(styles, style)
		for i, s := range several(l.Sockets) {
			fill, ok := render.Fill(s)
			table = append(table, []string{
				fmt.Sprintf("  socket %d", i+1), owners(s), render.Queue(s), orElse(ok, bar(fill, 8), ""),
				"", "", "", render.Short(s.Drops), render.Count(s.Inode),
			})
			styles = append(styles, d.styles.level(fill, 0.5, 1))
		}
	}
	for i, l := range alignTable(table, []bool{false, false, true, false, true, true, true, true, true}) {
		d.add("  " + styles[i].Render(l))
	}
}

// several is the sockets of a listener that has more than one, bounded: a page
// of thousands helps nobody.
func several(sockets []model.Socket) []model.Socket {
	if len(sockets) < 2 {
		return nil
	}
	return sockets[:min(len(sockets), 64)]
}

func owners(s model.Socket) string {
	var names []string
	for _, o := range s.Owners[:min(3, len(s.Owners))] {
		names = append(names, fmt.Sprintf("%s/%d", render.Clean(o.Name), o.PID))
	}
	return strings.Join(names, " ")
}

// alignTable pads the cells of each column to its widest.
func alignTable(table [][]string, right []bool) []string {
	widths := make([]int, len(right))
	for _, row := range table {
		for i, c := range row {
			widths[i] = max(widths[i], min(40, lipgloss.Width(c)))
		}
	}
	lines := make([]string, len(table))
	for i, row := range table {
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = cell(c, widths[j], right[j])
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return lines
}

func (d *detail) counters() {
	p, c, w := d.pod, d.pod.Counters, d.pod.Window
	about := "packets since the namespace began, retransmits included"
	if p.HostNetwork {
		about = "the node's, not the pod's"
	}
	d.section("Network namespace", about)
	window := "in the window"
	if s, ok := w.Seconds.Get(); ok {
		window = fmt.Sprintf("in %.1fs", s)
	}
	table := [][]string{{"", "SINCE START", strings.ToUpper(window), "PER SECOND"}}
	row := func(name string, total, diff model.Value[int64], hasDiff bool) {
		cells := []string{name, render.Count(total), "", ""}
		if hasDiff {
			cells[2], cells[3] = signed(diff), render.Rate(w.PerSecond(diff))
		}
		table = append(table, cells)
	}
	row("ListenOverflows", c.ListenOverflows, w.Overflows, true)
	row("ListenDrops", c.ListenDrops, w.Drops, true)
	row("connections accepted", c.PassiveOpens, w.Accepted, true)
	row("TCPReqQFullDoCookies", c.ReqQFullDoCookies, model.Value[int64]{}, false)
	row("TCPReqQFullDrop", c.ReqQFullDrop, model.Value[int64]{}, false)
	row("SyncookiesSent", c.SyncookiesSent, model.Value[int64]{}, false)
	row("SyncookiesRecv", c.SyncookiesRecv, model.Value[int64]{}, false)
	row("net.core.somaxconn", c.Somaxconn, model.Value[int64]{}, false)
	for i, l := range alignTable(table, []bool{false, true, true, true}) {
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
	d.section("Workers", "of "+render.Proxy(p))
	if render.Workers(p) == render.NotApplicable {
		d.lines[len(d.lines)-1] = d.styles.title.Render("Workers")
		d.add("  " + d.styles.dim.Render("no proxy that tells about its workers"))
		return
	}
	if !r.Workers.IsKnown() && r.Workers.Reason() != "" {
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

func (d *detail) knobs() {
	if len(d.pod.Knobs) == 0 {
		return
	}
	d.section("Configuration", "asked for, and in force")
	for _, k := range d.pod.Knobs {
		d.knob(k)
	}
}

// drift is the settings that differ, alone.
func (d *detail) drift() {
	var differ []model.Knob
	for _, k := range d.pod.Knobs {
		if k.Differs() {
			differ = append(differ, k)
		}
	}
	if len(differ) == 0 {
		return
	}
	d.section("Configuration", "not as asked for")
	for _, k := range differ {
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
