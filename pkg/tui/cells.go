package tui

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// compactQueue is depth/limit in so many columns: 129/128, 12.3k/65.5k, 12k/65k.
func compactQueue(s model.Socket, width int) string {
	q := render.Queue(s)
	if len(q) <= width {
		return q
	}
	if q = render.Short(s.Depth) + "/" + render.Short(s.Limit); len(q) <= width {
		return q
	}
	return thousands(s.Depth) + "/" + thousands(s.Limit)
}

// thousands is a number without its last digits: 65k, 4k.
func thousands(v model.Value[int64]) string {
	n, ok := v.Get()
	if !ok || n < 1000 {
		return render.Short(v)
	}
	if n < 1e6 {
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(min(n/1e6, 999), 10) + "M"
}

// listenerWord names the worst listener; where there is little room its role is a
// letter: i4143, o4140, a8080×4; of admin two, since a is the app.
func listenerWord(r *row, width int) string {
	if !r.has {
		return render.NoListener(*r.pod)
	}
	name := render.Listener(r.listener)
	role, port, ok := strings.Cut(name, ":")
	if !ok || width >= 8 && ansi.StringWidth(name) <= width {
		return name
	}
	if role == "admin" {
		return orElse(width >= 8 && len(port) <= 4, "adm:", "ad") + port
	}
	return ansi.Truncate(role, 1, "") + port
}

// overflowRate is the worst listener's; where overflows cannot be told apart it
// is the pod's, marked with a star that the help page explains.
func overflowRate(a *app, r *row) (string, lipgloss.Style) {
	if !r.has && !r.rate.IsKnown() {
		return render.NoListener(*r.pod), a.styles.plain
	}
	rate, mark := r.rate, "*"
	if own := r.pod.Window.PerSecond(r.listener.Window.Overflows); r.has && own.IsKnown() {
		rate, mark = own, ""
	}
	if rate.Or(0) > 0 {
		return render.Rate(rate) + mark, a.styles.bad
	}
	return render.Rate(rate), a.styles.plain
}

// waitWord is the share of a second that the target's threads together wanted a CPU
// and did not get one; more than one thread may wait at once.
func waitWord(p *model.Pod) string {
	w, ok := p.Process.Wait.Get()
	if !ok {
		return orElse(p.Collection.Stage == model.StageGone, render.NotApplicable, render.Unknown)
	}
	return strconv.Itoa(int(min(9.99, max(0, w))*100+0.5)) + "%"
}

// nodeWord is the node and the CPUs that the target may use there: 7-21/16c.
func (a *app) nodeWord(r *row) string {
	name := a.nodes[r.pod.Node]
	if n, ok := r.pod.Process.CPUsAllowed.Get(); ok {
		name += "/" + strconv.FormatInt(n, 10) + "c"
	}
	return name
}

// sinceWord is how many packets were refused since the pod's network namespace
// began, or, with a plus, since the mark.
func (a *app) sinceWord(r *row) (string, lipgloss.Style) {
	switch {
	case r.pod.HostNetwork:
		return render.Unknown, a.styles.plain
	case a.mark.at.IsZero():
		return render.Short(r.pod.Counters.ListenOverflows), a.styles.plain
	}
	since := a.sinceMark(*r.pod, overflowsOf)
	if !since.IsKnown() {
		return render.Unknown, a.styles.plain
	}
	text := "+" + render.Short(since)
	if len(text) > 5 {
		text = "+" + thousands(since)
	}
	return text, orStyle(since.Or(0) > 0, a.styles.bad, a.styles.dim)
}
