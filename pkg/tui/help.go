package tui

import (
	"github.com/charmbracelet/bubbles/key"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// helpLines explain the keys, the columns and the states.
func (a *app) helpLines() []string {
	st := a.styles
	var lines []string
	for _, g := range a.keys.groups() {
		lines = append(lines, "", st.title.Render(g.title))
		lines = append(lines, a.keyLines(g.keys)...)
	}
	lines = append(lines, "", st.title.Render("Lines"))
	lines = a.terms(lines, [][2]string{
		{"C  W", "critical, warning: the verdict of a pod. It stands in the counts too: C1 W2 ok39"},
		{"?", "the queue is not known, or not any more"},
		{"x", "the pod was deleted or has finished; what was seen of it is kept"},
		{"▾  ▸", "a workload with its pods; folded. Those that are all well, or all have the same warning, are folded by themselves"},
		{"▸ 39 …,med", "so many pods with the same verdict; the figures are those of the one in the middle, by what it accepts"},
	})
	lines = append(lines, "", st.title.Render("Columns"))
	lines = a.terms(lines, [][2]string{
		{columnNode, "the node, and how many CPUs the target may use there"},
		{"LISTENER", "the pod's worst listener: role and port, ×N for N sockets with SO_REUSEPORT, of which the fullest is shown"},
		{"PORT", "the same with little room: i is in, o out, a app, t tap, ad admin"},
		{"Q/LIMIT", "connections that wait to be accepted / the backlog in force, of the fullest socket; the kernel refuses at limit + 1"},
		{"PEAK", "highest depth seen in the window; samples miss bursts, so it is a lower bound"},
		{"OVF/s", "new overflows of this listener per second, over the window; * of the whole pod, since they cannot be told apart"},
		{"60s", "the pod's overflow rate in the last minute; a gap is unknown"},
		{"SINCE", "overflows of the pod since its network namespace began: history, no evidence by itself; with + since the mark (m)"},
		{"ACC/s", "connections accepted per second in the pod"},
		{"WAIT", "share of a second in which the target's threads wanted a CPU and got none; more than 100% when several wait"},
		{"WRK", "the proxy's workers in force; 1≠4 means that 4 were asked for"},
		{"BUSY", "share of the workers' time spent working"},
		{"CFG", "ok, or ≠ when a setting in force is not the one asked for: the detail page says which and why"},
		{columnVerdict, "what is wrong with the queue, or how old figures are that no longer arrive"},
		{columnFor, "how long the verdict has held; > when it held already before anything was seen"},
		{columnWhy, "the verdict in a sentence"},
		{"?  -", "could not be read; does not exist here. Neither is ever shown as 0"},
	})
	lines = append(lines, "", st.title.Render("States, worst first"))
	for _, t := range stateTerms() {
		lines = a.terms(lines, [][2]string{{string(t.state), t.means}})
	}
	return lines
}

// keyLines sets keys and what they do in as many columns as there is room for.
func (a *app) keyLines(keys []key.Binding) []string {
	const keyWidth, width = 9, 27
	n := max(1, (a.width-2)/width)
	rows := (len(keys) + n - 1) / n
	lines := make([]string, rows)
	for i, b := range keys {
		h := b.Help()
		lines[i%rows] += "  " + a.styles.bold.Render(cell(h.Key, keyWidth-1, false)) + " " + cell(h.Desc, width-keyWidth-2, false)
	}
	return lines
}

func (a *app) terms(lines []string, terms [][2]string) []string {
	const label = 12
	for _, t := range terms {
		for i, l := range wrap(t[1], a.width-label-3) {
			head := ""
			if i == 0 {
				head = t[0]
			}
			lines = append(lines, "  "+a.styles.bold.Render(cell(head, label, false))+l)
		}
	}
	return lines
}

type stateTerm struct {
	state model.State
	means string
}

func stateTerms() []stateTerm {
	return []stateTerm{
		{model.StateOverflowing, "connections were refused in the window: a queue was full"},
		{model.StateFull, "a queue is at its limit, nothing was refused in the window yet"},
		{model.StateStalled, "the runtime's metrics stand still while its clock moves"},
		{model.StateSaturated, "the workers are busy nearly all the time"},
		{model.StateDrift, "a setting in force is not the one asked for"},
		{model.StateUnknown, "the queue could not be read"},
		{model.StatePending, "the probe has not delivered yet"},
		{model.StateOK, "none of these"},
		{model.StateGone, "the pod was deleted or has finished"},
	}
}
