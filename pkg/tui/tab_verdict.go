package tui

import (
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// verdictTab is what is wrong with the pod, on what evidence, what helps and what
// does not.
func (d *detail) verdictTab() {
	d.headline()
	for _, v := range d.pod.Verdicts {
		d.verdict(v)
	}
}

func (d *detail) verdict(v model.Verdict) {
	title := string(v.Class)
	about := string(v.Severity)
	if v.Port != 0 {
		about += "  " + render.Listener(model.Listener{Role: v.Role, Port: v.Port})
	}
	if v.Held.IsKnown() && v.Class != model.ClassTooEarly {
		about += "  held " + orElse(v.Longer, ">", "") + render.Seconds(v.Held)
	}
	d.section("Verdict: "+render.Clean(title), about)
	d.field("", v.Sentence, d.styles.severity(v))
	for _, e := range v.Evidence {
		d.plain(render.Clean(e.Name), e.Text+"  ("+e.Source+")")
	}
	for _, part := range []struct {
		name    string
		actions []model.Action
	}{{"NOW", v.Now}, {"FIX", v.Fix}, {"NOT", v.Not}} {
		for i, a := range part.actions {
			d.plain(orElse(i == 0, part.name, ""), a.Text)
			for _, line := range []string{a.Command, a.Values} {
				if line != "" {
					d.field("", line, d.styles.bold)
				}
			}
			for _, n := range a.Notes {
				d.field("", "("+n+")", d.styles.dim)
			}
		}
	}
	for i, u := range v.Unknown {
		d.field(orElse(i == 0, "unknown", ""), u, d.styles.dim)
	}
}
