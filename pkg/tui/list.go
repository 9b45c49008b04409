package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// staleAfter is the age from which figures count as old on the screen.
const staleAfter = 3 * time.Second

// ageWord is empty while a pod's figures are current, otherwise their age.
func (a *app) ageWord(p model.Pod) string {
	switch p.Collection.Stage {
	case model.StageOK, model.StageStale, model.StageEnded:
	default:
		return ""
	}
	if p.Sample.Arrived.IsZero() {
		return ""
	}
	limit := staleAfter + max(0, a.poller.interval-time.Second)
	if p.Collection.Stage == model.StageOK && a.viewNow().Sub(p.Sample.Arrived) <= limit {
		return ""
	}
	return render.Age(a.viewNow(), p.Sample.Arrived)
}

// stateWord is the pod's verdict, or its state where there is none yet; old
// figures say how old they are instead.
func (a *app) stateWord(r *row, width int) (string, lipgloss.Style) {
	if age := a.ageWord(*r.pod); age != "" {
		if r.pod.Collection.Stage == model.StageEnded {
			return "ended " + age, a.styles.warn
		}
		return "stale " + age, a.styles.warn
	}
	if v, ok := judged(*r.pod); ok {
		return classWord(v.Class, width), a.styles.severity(v)
	}
	return string(r.state), a.styles.state(r.state)
}

// whyWord is what follows the state where there is room.
func (a *app) whyWord(r *row) string {
	why := render.Clean(r.why)
	if r.state == model.StateGone || r.state == model.StatePending || a.stageText(r) != "" {
		return "" // the row says it already
	}
	if v, ok := judged(*r.pod); ok && v.Class != model.ClassHealthy {
		why = render.Clean(v.Sentence)
	}
	if a.ageWord(*r.pod) != "" {
		why = strings.TrimSuffix("was "+string(r.state)+": "+why, ": ")
		if m := render.Clean(r.pod.Collection.Message); m != "" {
			why = m + "; " + why
		}
	}
	return why
}

// podName is the pod's name, with its namespace where there is more than one.
func (a *app) podName(p model.Pod) string {
	if a.spaces {
		return render.PodName(p)
	}
	return render.Clean(p.Meta.Name)
}

// listLines are the column titles and the rows.
func (a *app) listLines() []string {
	cols, name, end := a.place()
	lines := []string{a.titles(cols, name)}
	if len(a.visible) == 0 {
		return append(lines, "", a.emptyList())
	}
	last := min(len(a.visible), a.top+a.listHeight())
	for _, l := range a.visible[min(a.top, last):last] {
		lines = append(lines, a.rowLine(a.rows[l.key], cols, name, end))
	}
	return append(lines, a.preview(a.listHeight()-len(a.visible))...)
}

// previewHeight is the least room that a preview is worth.
const previewHeight = 9

// preview fills room that the list leaves empty with the selected pod's
// listeners and what is wrong with it.
func (a *app) preview(room int) []string {
	r, ok := a.rows[a.selected]
	if !ok || room < previewHeight {
		return nil
	}
	d := &detail{app: a, pod: *r.pod, row: r}
	d.headline()
	d.listeners()
	d.drift()
	d.notes()
	lines := append([]string{""}, a.styles.dim.Render(strings.Repeat("─", a.width)))
	lines = append(lines, d.lines[1:]...)
	return lines[:min(room, len(lines))]
}

func (a *app) emptyList() string {
	text := "waiting for the first look at the pods…"
	switch {
	case len(a.all) > 0:
		text = fmt.Sprintf("none of %s matches %q; esc clears the filter", render.Plural(len(a.all), "pod"), render.Clean(a.filter.Value()))
	case a.live.Seq > 0 || !a.live.Time.IsZero():
		text = "no pods match; new ones appear here by themselves"
	}
	return "  " + a.styles.dim.Render(text)
}

func (a *app) titles(cols []placed, name int) string {
	o := a.orders[a.orderAt]
	arrow := "▼"
	if a.reversed {
		arrow = "▲"
	}
	mark := func(title, sort string) string {
		if sort != "" && sort == o.name {
			return title + arrow
		}
		return title
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", markWidth) + cell(mark("POD", "name"), name, false))
	for _, c := range cols {
		b.WriteString(" " + cell(mark(c.title, c.sort), c.width, c.right))
	}
	return a.styles.dim.Render(b.String())
}

// rowLine draws one pod.
func (a *app) rowLine(r *row, cols []placed, name, end int) string {
	mark, base := "  ", a.styles.plain
	selected := r.key == a.selected
	if selected {
		mark = "> "
		base = a.styles.bold.Background(a.styles.selected)
	}
	old := a.ageWord(*r.pod) != "" || r.state == model.StateGone
	paint := func(text string, style lipgloss.Style) string {
		if selected {
			style = style.Background(a.styles.selected)
		}
		return style.Render(text)
	}
	var b strings.Builder
	b.WriteString(base.Render(mark + cell(middle(a.podName(*r.pod), name), name, false)))
	span := a.stageText(r)
	for i := 0; i < len(cols); i++ {
		c := cols[i]
		if span != "" && spanned(c, r) {
			// The words take the room of all figures that are not there.
			last := i
			for last+1 < len(cols) && spanned(cols[last+1], r) {
				last++
			}
			n := cols[last].at + cols[last].width - c.at
			b.WriteString(paint(" "+cell(span, n, false), a.styles.dim))
			span, i = "", last
			continue
		}
		text, style := c.text(a, r, c.width)
		if old && c.title != "VERDICT" {
			style = a.styles.dim
		}
		b.WriteString(paint(" "+cell(text, c.width, c.right), style))
	}
	if room := a.width - end; room >= 16 {
		b.WriteString(paint(" "+cell(a.whyWord(r), room-1, false), a.styles.dim))
	} else if selected {
		b.WriteString(paint(strings.Repeat(" ", max(0, a.width-end+1)), a.styles.plain))
	}
	return b.String()
}

// spanned says whether a stage's words take the column's room: the queue's
// figures, and the workers' too when there are none.
func spanned(c placed, r *row) bool {
	if c.title == "NODE" || c.title == "VERDICT" {
		return false
	}
	return c.queue || !r.pod.Runtime.Workers.IsKnown()
}

// stageText stands instead of figures while there are none: how far the probe
// has come, or what the kubelet says.
func (a *app) stageText(r *row) string {
	c := r.pod.Collection
	message := render.Clean(c.Message)
	with := func(text string) string {
		if message != "" {
			return text + ": " + message
		}
		return text
	}
	switch c.Stage {
	case model.StageAsking:
		return with("asking for a probe…")
	case model.StagePulling:
		return with("pulling the probe's image…")
	case model.StageStarting:
		return with("starting the probe…")
	case model.StageWaiting:
		return with("waiting for the first frame…")
	case model.StageFailed:
		if len(r.pod.Listeners) == 0 {
			return orElse(message != "", message, "the queue could not be read")
		}
	case model.StageGone:
		if len(r.pod.Listeners) == 0 {
			return orElse(message != "", message, "gone")
		}
	}
	if r.pod.HostNetwork {
		return "hostNetwork: the queues are the node's, none is attributed"
	}
	return ""
}

func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
