package render

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a report as Markdown, for a post-mortem's text.
func WriteMarkdown(w io.Writer, r Report) error {
	b := &page{o: PageOptions{Markdown: true, Now: r.To}}
	b.line("# %s\n", b.text(orWord(r.Title == "", "Report")+r.Title))
	b.line("%s\n", b.text(r.span()))
	for i, l := range r.summary() {
		if i == 0 {
			b.line("**%s**  ", b.text(l))
			continue
		}
		b.line("%s  ", b.text(l))
	}
	for _, n := range r.Notes {
		b.line("\nNote: %s", b.text(n))
	}
	b.line("\n## Pods\n")
	var rows [][]string
	table, healthy, more := r.rows()
	for _, row := range table {
		rows = append(rows, []string{row.Name, strings.TrimSpace(row.Severity + " " + row.Verdict), row.Refused, row.Accepted, row.Peak, row.Busy, row.Workers})
	}
	b.table([]string{"POD", "WORST VERDICT", "REFUSED", "ACC/s", "PEAK/LIMIT", "BUSY", "WORKERS"}, rows)
	if healthy > 0 {
		b.line("\n%d more, of which nothing was refused and nothing of a warning was seen.", healthy)
	}
	if more > 0 {
		b.line("\n%d more are left out here.", more)
	}
	if events, more := r.reportEvents(); len(events) > 0 {
		b.line("\n## Events\n")
		if more > 0 {
			b.line("%d earlier ones are left out.\n", more)
		}
		for _, e := range htmlEvents(events) {
			b.item("", e.Time+" "+e.Name+": "+orWord(e.Severity != "", e.Severity+": ")+e.Text)
		}
	}
	bad := r.bad()
	for i := range bad[:min(len(bad), maxReportPods)] {
		k := &bad[i]
		b.line("\n## %s\n", b.text(PodName(k.Pod)))
		b.line("%s", b.text(k.about(r.To)))
		for _, v := range k.Worst {
			b.verdict(v.Verdict)
			b.line("\nSeen from %s to %s.", clock(v.First), clock(v.Last))
		}
		b.p = k.Pod
		b.configuration()
		b.unknown()
	}
	if n := len(bad) - maxReportPods; n > 0 {
		b.line("\n%d more pods have no part of their own here.", n)
	}
	b.line("\nWritten %s by kubectl backlog %s.", r.Generated.UTC().Format("2006-01-02 15:04:05Z"), b.text(r.Tool))
	if _, err := w.Write(b.out.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
