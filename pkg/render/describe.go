package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// PageOptions say how a pod's page is written.
type PageOptions struct {
	// Now is when it is written, for ages; Context names the cluster.
	Now     time.Time
	Context string
	// Markdown writes it for an incident channel: six lines that say it all first.
	Markdown bool
	// Alike names pods of the same workload that have the same verdict.
	Alike []string
}

// PrintPage writes the page of a pod: verdicts with their evidence and commands,
// queues, workers, configuration, and what is unknown.
func PrintPage(w io.Writer, p model.Pod, o PageOptions) error {
	b := &page{o: o, p: p}
	if o.Markdown {
		b.summary()
	} else {
		b.about()
	}
	for _, v := range p.Verdicts {
		b.verdict(v)
	}
	b.queues()
	b.workers()
	b.configuration()
	b.unknown()
	if _, err := w.Write(b.out.Bytes()); err != nil {
		return fmt.Errorf("printing the page of %s: %w", PodName(p), err)
	}
	return nil
}

// PrintSummary writes the six lines of Markdown that say it all, for an incident
// channel.
func PrintSummary(w io.Writer, p model.Pod, o PageOptions) error {
	o.Markdown = true
	b := &page{o: o, p: p}
	b.summary()
	if _, err := w.Write(b.out.Bytes()); err != nil {
		return fmt.Errorf("writing the summary of %s: %w", PodName(p), err)
	}
	return nil
}

// page collects lines. Whatever comes from outside goes through its methods,
// which clean it.
type page struct {
	o   PageOptions
	p   model.Pod
	out bytes.Buffer
}

// text cleans a line, and keeps markup out of Markdown.
func (b *page) text(s string) string {
	s = Clean(s)
	if b.o.Markdown {
		s = markdownEscaper().Replace(s)
	}
	return s
}

// markdownEscaper keeps what a name or message holds from becoming markup, a
// link or HTML.
func markdownEscaper() *strings.Replacer {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "|", `\|`, "#", `\#`)
}

func (b *page) line(format string, args ...any) { fmt.Fprintf(&b.out, format+"\n", args...) }

// item is a line of its own below a heading, indented; in Markdown one of a list.
func (b *page) item(indent, s string) {
	if b.o.Markdown {
		b.line("- %s", b.text(s))
		return
	}
	b.line("%s%s", indent, b.text(s))
}

func (b *page) heading(title string) {
	if b.o.Markdown {
		b.line("\n### %s\n", title)
		return
	}
	b.line("\n%s", title)
}

// field is a name and a value at the top of the page.
func (b *page) field(name, value string) {
	if value != "" {
		b.line("%-12s %s", name+":", b.text(value))
	}
}

func (b *page) about() {
	p := b.p
	b.field("Pod", PodName(p))
	b.field("Context", b.o.Context)
	if p.Workload.Name != "" {
		b.field("Workload", strings.TrimSpace(p.Workload.Kind+"/"+p.Workload.Name+"  "+managed(p)))
	}
	b.field("Node", p.Node)
	if !p.Meta.Created.IsZero() {
		b.field("Age", longAge(b.o.Now.Sub(p.Meta.Created)))
	}
	if p.Proxy.Adapter != "" {
		b.field("Proxy", Proxy(p))
	}
	b.field("Collected", b.collected())
	b.field("Alike", b.alike())
}

// alike names the pods that this page stands for as well, a few of them in full.
func (b *page) alike() string {
	names := b.o.Alike
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(len(names), 3)], ", ")
	if n := len(names) - 3; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s with the same verdict: %s", Plural(len(names), "other pod"), text)
}

func managed(p model.Pod) string {
	if m := p.Manifest.Manager; m.Tool != "" {
		return strings.TrimSpace("(managed by " + m.Tool + " " + m.Name + ")")
	}
	return ""
}

func (b *page) collected() string {
	c := b.p.Collection
	text := "via " + string(c.Via)
	if c.Probe != "" {
		text += " " + c.Probe
	}
	if !c.Until.IsZero() {
		text += ", until " + c.Until.UTC().Format("15:04:05Z")
	}
	if c.Stage != model.StageOK {
		text += ", " + string(c.Stage)
	}
	if !b.p.Sample.Arrived.IsZero() {
		text += ", last frame " + Age(b.o.Now, b.p.Sample.Arrived) + " ago"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// longAge is 1m31s, 3h12m, 12d.
func longAge(d time.Duration) string {
	switch {
	case d < 0:
		return Unknown
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(min(d.Hours()/24, 99_999)))
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.Truncate(time.Second).String()
}

// summary is six lines for the incident channel.
func (b *page) summary() {
	p := b.p
	if len(p.Verdicts) == 0 {
		b.line("**%s**: no verdict: %s", b.text(PodName(p)), b.text(cmp.Or(p.Collection.Message, "nothing was judged")))
		return
	}
	v := p.Verdicts[0]
	where := b.text(PodName(p))
	if b.o.Context != "" {
		where = b.text(b.o.Context) + " " + where
	}
	b.line("**%s**: %s  ", where, b.text(verdictTitle(v)))
	b.line("%s  ", b.text(strings.TrimSpace(v.Sentence+" "+b.alike())))
	b.line("Evidence: %s  ", b.text(cmp.Or(shortEvidence(v), "none was measured")))
	b.line("NOW: %s  ", b.short(v.Now))
	b.line("FIX: %s  ", b.short(v.Fix))
	b.line("NOT: %s", b.short(v.Not))
}

// shortEvidence is the first figures of a verdict.
func shortEvidence(v model.Verdict) string {
	var parts []string
	for _, e := range v.Evidence {
		if len(parts) < 4 {
			parts = append(parts, e.Name+" "+e.Text)
		}
	}
	return strings.Join(parts, "; ")
}

// short is the first action that has a command, or else the first.
func (b *page) short(actions []model.Action) string {
	if len(actions) == 0 {
		return "nothing"
	}
	best := actions[0]
	for _, a := range actions {
		if a.Command != "" {
			best = a
			break
		}
	}
	text := b.text(best.Text)
	if best.Command != "" {
		text += " " + code(Clean(best.Command))
	}
	return text
}

// code is inline code in Markdown, whatever it holds.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// verdictTitle is severity, class, listener, and since when it holds.
func verdictTitle(v model.Verdict) string {
	words := []string{strings.ToUpper(string(v.Severity)), string(v.Class)}
	if v.Port != 0 {
		words = append(words, Listener(model.Listener{Role: v.Role, Port: v.Port}))
	}
	if held, ok := v.Held.Get(); ok && v.Class != model.ClassTooEarly {
		word := "held "
		if v.Over {
			word = "over, lasted "
		}
		if v.Longer {
			word += ">"
		}
		words = append(words, word+Seconds(model.Known(held)))
	}
	return strings.Join(words, "  ")
}

func (b *page) verdict(v model.Verdict) {
	b.heading(b.text(verdictTitle(v)))
	if b.o.Markdown {
		b.line("%s", b.text(v.Sentence))
	} else {
		b.line("  %s", b.text(v.Sentence))
	}
	if len(v.Candidates) > 0 {
		var names []string
		for _, c := range v.Candidates {
			names = append(names, string(c))
		}
		b.item("  ", "It may "+orWord(v.Class != model.ClassUndecided, "also ")+"be: "+strings.Join(names, ", "))
	}
	if len(v.Evidence) > 0 {
		title := "EVIDENCE"
		if v.Window.IsKnown() {
			title += ", last " + Seconds(v.Window)
		}
		var rows [][]string
		for _, e := range v.Evidence {
			rows = append(rows, []string{e.Name, e.Text, e.Source})
		}
		b.part(title)
		var head []string
		if b.o.Markdown { // it knows no table without
			head = []string{"WHAT", "FIGURE", "SOURCE"}
		}
		b.table(head, rows)
	}
	b.actions("NOW", "no restart, can be undone", v.Now)
	b.actions("FIX", "lasts", v.Fix)
	b.actions("NOT", "", v.Not)
	if len(v.Unknown) > 0 {
		b.part("UNKNOWN")
		for _, u := range v.Unknown {
			b.item("    ", u)
		}
	}
}

func orWord(ok bool, word string) string {
	if ok {
		return word
	}
	return ""
}

// part is a heading within a verdict.
func (b *page) part(title string) {
	if b.o.Markdown {
		b.line("\n**%s**\n", title)
		return
	}
	b.line("  %s", title)
}

func (b *page) actions(title, about string, actions []model.Action) {
	if len(actions) == 0 {
		return
	}
	if about != "" {
		title += " (" + about + ")"
	}
	b.part(title)
	for _, a := range actions {
		text := a.Text
		if to, ok := a.To.Get(); ok && a.Knob != "" {
			text += fmt.Sprintf(" [%s: %s -> %d]", a.Knob, Count(a.From), to)
		}
		b.item("    ", text)
		b.block(a.Command)
		if a.Undo != "" {
			b.item("      ", "undo:")
			b.block(a.Undo)
		}
		if a.Values != "" {
			b.item("      ", cmp.Or(a.Place, "values")+":")
			b.block(a.Values)
		}
		for _, n := range a.Notes {
			b.item("      ", "("+n+")")
		}
	}
}

// block is what can be copied as it stands: a command, or lines of YAML.
func (b *page) block(s string) {
	if s == "" {
		return
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	if b.o.Markdown {
		fence := "```"
		for strings.Contains(s, fence) {
			fence += "`"
		}
		b.line("%s\n%s\n%s", fence, strings.Join(lines, "\n"), fence)
		return
	}
	for _, l := range lines {
		b.line("        %s", l)
	}
}
