package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// previewer gathers the lines of a preview.
type previewer struct {
	*app
	width, label int
	lines        []string
}

// put appends a labelled text, at most so many lines of it.
func (p *previewer) put(label, text string, style lipgloss.Style, most int) {
	room := max(1, p.width-p.label)
	lines := wrap(render.Clean(text), room)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = ansi.Truncate(lines[most-1], room-1, "") + "…"
	}
	for i, l := range lines {
		head := orElse(i == 0, label, "")
		p.lines = append(p.lines, p.styles.bold.Render(cell(head, p.label, false))+style.Render(l))
	}
}

// sentence appends what is wrong, over the whole width.
func (p *previewer) sentence(text string, style lipgloss.Style) {
	for _, l := range wrap(render.Clean(text), p.width) {
		p.lines = append(p.lines, style.Render(l))
	}
}

// preview tells of the selected line what is wrong, on what evidence, what helps
// and what does not.
func (a *app) preview(width, height int) []string {
	l := a.at(a.index())
	if l == nil {
		return nil
	}
	p := &previewer{app: a, width: width, label: 10}
	if width >= 100 {
		p.label = 17
	}
	p.lines = append(p.lines, a.rule(a.previewTitle(l), width))
	if l.row.state == model.StateGone {
		p.gone(l.row)
	} else {
		p.pod(l.row, height)
	}
	return p.lines[:min(len(p.lines), max(1, height))]
}

// previewTitle names the selected line and its verdict.
func (a *app) previewTitle(l *line) string {
	r := l.row
	word, _ := a.stateWord(r, maxName)
	title := a.podName(*r.pod)
	if r.has {
		title += " · " + render.Listener(r.listener)
	}
	title += " · " + word
	if v := r.verdict; v != nil && v.Severity != model.SeverityInfo && !a.isOld(r.pod) {
		title += ", " + render.Clean(string(v.Severity))
	}
	switch l.kind {
	case groupLine:
		if l.group.alike != "" {
			return l.group.name + " · all alike, the first: " + title
		}
		return l.group.name + " · its first: " + title
	case restLine:
		return l.group.name + " · " + l.word + ", in the middle: " + title
	}
	return title
}

// gone says what is left of a pod that was deleted or has finished.
func (p *previewer) gone(r *row) {
	text := orElse(r.pod.Collection.Message != "", r.pod.Collection.Message, "gone")
	if at := r.pod.Sample.Arrived; !at.IsZero() {
		text += "; last seen at " + at.UTC().Format("15:04:05Z")
	}
	p.sentence(text, p.styles.plain)
	if n, ok := r.pod.Counters.ListenOverflows.Get(); ok && !r.pod.HostNetwork {
		p.put("refused", fmt.Sprintf("%d packets since its network namespace began; kept until the screen is left", n), orStyle(n > 0, p.styles.warn, p.styles.plain), 1)
	}
}

// pod says it of one pod. Remedies are shown whole before evidence is.
func (p *previewer) pod(r *row, height int) {
	st, pod := p.styles, r.pod
	v := r.verdict
	if v == nil {
		if text := p.stageText(r); text != "" {
			p.sentence(text, st.plain)
		} else if why := p.whyWord(r); why != "" {
			p.sentence(why, st.plain)
		}
		p.facts(r)
		return
	}
	p.sentence(v.Sentence, st.severity(*v))
	if pod.Collection.Via == model.ViaMetrics && pod.Collection.Stage == model.StageFailed {
		p.put("no probe", pod.Collection.Message+"; the proxy's metrics are all there is", st.warn, 2)
	}
	head := p.lines
	p.lines = nil
	for _, part := range []struct {
		label   string
		actions []model.Action
	}{{"NOW", v.Now}, {"FIX", v.Fix}, {"NOT", v.Not}} {
		if len(part.actions) == 0 {
			continue
		}
		a := part.actions[0]
		p.put(part.label, a.Text, st.plain, 2)
		if a.Command != "" {
			p.put("", a.Command, st.bold, 1)
		} else if a.Values != "" {
			p.put("", orElse(a.Place != "", a.Place, "values for the manifest: Enter shows them"), st.dim, 1)
		}
	}
	if len(v.Unknown) > 0 {
		p.put("?", "unknown: "+strings.Join(v.Unknown, "; "), st.dim, 1)
	}
	tail := p.lines
	p.lines = head
	for _, e := range v.Evidence[:min(len(v.Evidence), max(0, height-len(head)-len(tail)))] {
		p.put(ansi.Truncate(render.Clean(e.Name), p.label-1, "…"), e.Text+"  ("+e.Source+")", st.plain, 1)
	}
	p.lines = append(p.lines, tail...)
	if len(tail) == 0 {
		p.facts(r)
	}
}

// facts are the pod's queues, what is not as asked, and what else was noted.
func (p *previewer) facts(r *row) {
	st := p.styles
	if queues := queuesWord(r.pod); queues != "" {
		p.put("queues", queues, st.plain, 2)
	}
	if c := render.Config(*r.pod); strings.Contains(c, "≠") {
		p.put("config", c, st.warn, 1)
	}
	for i, n := range r.pod.Notes[:min(len(r.pod.Notes), 3)] {
		p.put(orElse(i == 0, "note", ""), n, st.dim, 2)
	}
}

// queuesWord names the pod's queues with their depths, the worst first.
func queuesWord(p *model.Pod) string {
	if p.HostNetwork {
		return ""
	}
	var queues []string
	for _, l := range render.ByUrgency(*p) {
		queues = append(queues, render.Listener(l)+" "+render.Queue(l.Worst()))
	}
	return strings.Join(queues[:min(len(queues), 12)], " · ")
}

// previewShort is the same in three lines.
func (a *app) previewShort(height int) []string {
	l := a.at(a.index())
	if l == nil {
		return nil
	}
	r, st := l.row, a.styles
	word, _ := a.stateWord(r, maxName)
	title := a.lineName(l) + " " + word
	if l.kind == groupLine {
		title = l.group.name + " · its first: " + l.group.short(r.pod) + " " + word
	}
	sentence, does := a.whyWord(r), []string(nil)
	if v := r.verdict; v != nil {
		sentence = render.Clean(v.Sentence)
		for _, part := range []struct {
			label   string
			actions []model.Action
		}{{"NOW", v.Now}, {"FIX", v.Fix}, {"NOT", v.Not}} {
			if len(part.actions) > 0 && len(does) < 2 {
				does = append(does, part.label+" "+strings.TrimSuffix(render.Clean(part.actions[0].Text), "."))
			}
		}
	} else if text := a.stageText(r); text != "" {
		sentence = text
	}
	if sentence == "" {
		sentence = queuesWord(r.pod)
	}
	lines := []string{a.rule(title, a.width), ansi.Truncate(sentence, a.width, "…")}
	if len(does) == 2 && ansi.StringWidth(does[0]+does[1])+3 <= a.width {
		does[0] += "   " + does[1]
	}
	if len(does) > 0 {
		lines = append(lines, st.bold.Render(ansi.Truncate(does[0], a.width, "…")))
	}
	return lines[:min(len(lines), height)]
}
