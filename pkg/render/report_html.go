package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

//go:embed report.html.tmpl
var reportTemplate string

// htmlReport is what the template is given: words alone, cleaned. The template escapes
// them for HTML.
type htmlReport struct {
	Title, Tool, Span, Generated string
	Summary, Notes               []string
	Rows                         []reportRow
	MoreRows, MorePods           int
	Healthy                      int // rows that are well and folded into one
	Events                       []htmlEvent
	MoreEvents                   int
	Pods                         []htmlPod
}

type htmlEvent struct{ Time, Name, Severity, Text string }

type htmlPod struct {
	Anchor, Name, About string
	Picture             template.HTML
	Verdicts            []htmlVerdict
	Knobs               []htmlKnob
	Unknown             []string
	Events              []htmlEvent
}

type htmlVerdict struct {
	Title, Severity, Sentence, Seen, Window string
	Evidence                                [][3]string
	Parts                                   []htmlPart
	Unknown                                 []string
}

type htmlPart struct {
	Name, About string
	Actions     []htmlAction
}

type htmlAction struct {
	Text, Command, Undo, Values, Place string
	Notes                              []string
}

type htmlKnob struct {
	Name, Asked, InForce, SeenBy, Why string
	Differs                           bool
	Chain                             []string
}

// WriteHTML writes a report as one file that needs nothing else.
func WriteHTML(w io.Writer, r Report) error {
	t, err := template.New("report").Parse(reportTemplate)
	if err == nil {
		err = t.Execute(w, r.html())
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (r Report) html() htmlReport {
	h := htmlReport{
		Title: Clean(r.Title), Tool: Clean(r.Tool), Span: r.span(), Generated: r.Generated.UTC().Format("2006-01-02 15:04:05Z"),
		Summary: cleaned(r.summary()), Notes: cleaned(r.Notes),
	}
	detailed := r.detailed()
	h.MorePods = max(0, len(detailed)-maxReportPods)
	for i := range detailed[:min(len(detailed), maxReportPods)] {
		h.Pods = append(h.Pods, detailed[i].html(anchorOf(i), r))
	}
	h.Rows, h.Healthy, h.MoreRows = r.rows()
	events, more := r.reportEvents()
	h.Events, h.MoreEvents = htmlEvents(events), more
	return h
}

// anchorOf is where the part of the i-th pod begins.
func anchorOf(i int) string { return fmt.Sprintf("pod-%d", i+1) }

func htmlEvents(events []timeline.Event) []htmlEvent {
	out := make([]htmlEvent, len(events))
	for i, e := range events {
		name := e.Name
		if e.Namespace != "" {
			name = e.Namespace + "/" + e.Name
		}
		severity := string(e.Severity)
		if e.Severity == model.SeverityInfo {
			severity = ""
		}
		out[i] = htmlEvent{clock(e.Time), Clean(name), severity, Clean(e.Text)}
	}
	return out
}

func (k *ReportPod) html(anchor string, r Report) htmlPod {
	p := k.Pod
	h := htmlPod{Anchor: anchor, Name: PodName(p), About: k.about(r.To)}
	if k.Track != nil && r.To.After(r.From) {
		// The picture is made of numbers; its few words are escaped there.
		h.Picture = template.HTML(picture(k.Track.Points(), r.From, r.To)) //nolint:gosec // see above
	}
	for _, v := range k.Worst {
		h.Verdicts = append(h.Verdicts, htmlVerdictOf(v))
	}
	for _, knob := range p.Knobs {
		h.Knobs = append(h.Knobs, htmlKnobOf(knob))
	}
	for _, m := range p.Unknowns()[:min(len(p.Unknowns()), 40)] {
		h.Unknown = append(h.Unknown, Clean(m.Field+": "+m.Reason))
	}
	return h
}

// about names the pod's place in the cluster.
func (k *ReportPod) about(now time.Time) string {
	p := k.Pod
	b := &page{p: p, o: PageOptions{Now: now}}
	text := b.collected()
	if p.Workload.Name != "" {
		text = p.Workload.Kind + "/" + p.Workload.Name + ", " + text
	}
	if p.Node != "" {
		text = "on " + p.Node + ", " + text
	}
	if p.Proxy.Adapter != "" {
		text = Proxy(p) + ", " + text
	}
	return Clean(text)
}

func htmlVerdictOf(v WorstVerdict) htmlVerdict {
	h := htmlVerdict{
		Title: Clean(verdictTitle(v.Verdict)), Severity: string(v.Severity), Sentence: Clean(v.Sentence), Unknown: cleaned(v.Unknown),
		Seen: "seen from " + clock(v.First) + " to " + clock(v.Last),
	}
	if v.Window.IsKnown() {
		h.Window = Seconds(v.Window)
	}
	for _, e := range v.Evidence {
		h.Evidence = append(h.Evidence, [3]string{Clean(e.Name), Clean(e.Text), Clean(e.Source)})
	}
	for _, part := range []struct {
		name, about string
		actions     []model.Action
	}{{"NOW", "no restart, can be undone", v.Now}, {"FIX", "lasts", v.Fix}, {"NOT", "would not help", v.Not}} {
		if len(part.actions) == 0 {
			continue
		}
		hp := htmlPart{Name: part.name, About: part.about}
		for _, a := range part.actions {
			hp.Actions = append(hp.Actions, htmlAction{
				Text: Clean(a.Text), Command: Clean(a.Command), Undo: Clean(a.Undo), Values: cleanData(a.Values), Place: Clean(a.Place), Notes: cleaned(a.Notes),
			})
		}
		h.Parts = append(h.Parts, hp)
	}
	return h
}

func htmlKnobOf(k model.Knob) htmlKnob {
	h := htmlKnob{Name: Clean(k.Name), Asked: Count(k.Asked), InForce: Count(k.InForce), SeenBy: Clean(k.SeenBy), Why: Clean(k.Why), Differs: k.Differs()}
	for _, o := range k.Chain {
		h.Chain = append(h.Chain, Clean(OriginWords(o)))
	}
	return h
}

// OriginWords is one link of a setting's chain in words.
func OriginWords(o model.Origin) string {
	text := o.Where
	if o.Name != "" {
		text += " " + o.Name
	}
	if o.Value != "" {
		text += " = " + o.Value
	}
	if o.Note != "" {
		text += " (" + o.Note + ")"
	}
	return text
}

func cleaned(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Clean(s)
	}
	return out
}

// clock is a time of day in UTC.
func clock(t time.Time) string { return t.UTC().Format("15:04:05Z") }
