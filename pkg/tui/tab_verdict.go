package tui

import (
	"fmt"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// verdictPage is what is wrong, on what evidence, what helps and what does not; where
// nothing was judged, why.
func (d *detail) verdictPage() {
	p := d.pod
	if len(p.Verdicts) == 0 {
		d.add("")
		why := d.whyWord(d.row)
		if text := d.stageText(d.row); text != "" {
			why = text
		}
		for _, l := range wrap(orElse(why != "", why, "nothing was judged yet: a verdict needs some seconds"), d.width-2) {
			d.add("  " + l)
		}
	}
	for i := range p.Verdicts {
		d.verdict(p.Verdicts[i])
	}
	d.notes()
}

func (d *detail) verdict(v model.Verdict) {
	title := strings.ToUpper(string(v.Severity)) + "  " + string(v.Class)
	if v.Port != 0 {
		title += "  " + render.Listener(model.Listener{Role: v.Role, Port: v.Port})
	}
	if v.Held.IsKnown() && v.Class != model.ClassTooEarly {
		title += "  " + orElse(v.Over, "over, lasted ", "held ") + orElse(v.Longer, ">", "") + render.Seconds(v.Held)
	}
	d.add("", d.styles.severity(v).Bold(true).Render(render.Clean(title)))
	for _, l := range wrap(render.Clean(v.Sentence), d.width) {
		d.add(l)
	}
	if len(v.Candidates) > 0 {
		var names []string
		for _, c := range v.Candidates {
			names = append(names, render.Clean(string(c)))
		}
		d.add("It may " + orElse(v.Class == model.ClassUndecided, "", "also ") + "be: " + strings.Join(names, ", "))
	}
	d.evidence(v)
	d.remedies(v)
	for i, u := range v.Unknown {
		d.field(orElse(i == 0, "UNKNOWN", ""), u, d.styles.dim)
	}
}

// evidence is a table: what was measured, the figure, and where it comes from.
func (d *detail) evidence(v model.Verdict) {
	if len(v.Evidence) == 0 {
		return
	}
	title := "EVIDENCE"
	if v.Window.IsKnown() {
		title += "  last " + render.Seconds(v.Window)
	}
	d.add("", d.styles.bold.Render(title))
	source := min(18, d.width/5)
	for _, e := range v.Evidence {
		room := max(10, d.width-labelWidth-3-source-1)
		lines := wrap(render.Clean(e.Text), room)
		for i, l := range lines {
			head, from := "", ""
			if i == 0 {
				head, from = render.Clean(e.Name), render.Clean(e.Source)
			}
			d.add("  " + d.styles.dim.Render(cell(head, labelWidth, false)) + cell(l, room, false) + " " + d.styles.dim.Render(cell(from, source, false)))
		}
	}
}

// remedies are what helps now, what lasts, and what would not help. The key that
// copies a command stands beside it.
func (d *detail) remedies(v model.Verdict) {
	for _, part := range []struct {
		name, key, about string
		actions          []model.Action
	}{{"NOW", "c", "no restart, can be undone", v.Now}, {"FIX", "C", "lasts", v.Fix}, {"NOT", "", "would not help", v.Not}} {
		if len(part.actions) == 0 {
			continue
		}
		d.add("", d.styles.bold.Render(part.name)+"  "+d.styles.dim.Render(part.about))
		for _, a := range part.actions {
			text := a.Text
			if to, ok := a.To.Get(); ok && a.Knob != "" {
				text += fmt.Sprintf(" [%s: %s -> %d]", a.Knob, render.Count(a.From), to)
			}
			d.text("  ", text)
			if a.Command != "" {
				d.command(orElse(part.key != "", "["+part.key+"] ", ""), a.Command)
			}
			if a.Values != "" {
				d.text("    ", orElse(a.Place != "", a.Place, "values")+":")
				for _, l := range strings.Split(a.Values, "\n") {
					d.command("    ", l)
				}
			}
			if a.Undo != "" {
				d.command("undo ", a.Undo)
			}
			for _, n := range a.Notes {
				d.text("    ", "("+n+")")
			}
		}
	}
}

// text appends an indented text.
func (d *detail) text(indent, text string) {
	for _, l := range wrap(render.Clean(text), d.width-len(indent)) {
		d.add(indent + l)
	}
}

// command appends a line for a shell, broken where it must be: what is copied is not.
func (d *detail) command(head, text string) {
	const indent = 4
	room := max(10, d.width-indent-5)
	text = render.Clean(text)
	for i := 0; text != "" || i == 0; i++ {
		at := min(len(text), room)
		for at < len(text) && at > 0 && !startsRune(text[at]) {
			at--
		}
		first := strings.Repeat(" ", 5)
		if i == 0 {
			first = cell(head, 5, false)
		}
		d.add(strings.Repeat(" ", indent-4) + d.styles.dim.Render(first) + d.styles.bold.Render(text[:at]))
		text = text[at:]
	}
}

func startsRune(b byte) bool { return b&0xc0 != 0x80 }
