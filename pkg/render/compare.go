package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// PrintCompare writes a comparison: a table of what was and what is, and what follows.
func PrintCompare(w io.Writer, c timeline.Comparison) error {
	var b strings.Builder
	span := func(name string, s timeline.Span) {
		fmt.Fprintf(&b, "%s  %s to %s (%s)\n", name, s.From.UTC().Format("2006-01-02 15:04:05Z"), clock(s.To), longAge(s.To.Sub(s.From)))
	}
	span("BEFORE", c.Before)
	span("AFTER ", c.After)
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\t\tPODS\tREFUSED/MIN\tACC/S\tPEAK/LIMIT\tBUSY\tMAX\tWORKERS\tWORST")
	for _, r := range c.Rows {
		name := Clean(strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
		for i, side := range []timeline.Total{r.Before, r.After} {
			when := "before"
			if i == 1 {
				name, when = "", "after"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, when, side.Pods, Rate(side.Refused), Rate(side.Accepted),
				peakOf(side.Peak, side.Limit, side.Refused), Share(side.Busy), Share(side.MaxBusy), figureWord(side.Workers), severityWord(side))
		}
	}
	_ = t.Flush() // into memory
	b.WriteString("\n")
	for _, f := range c.Findings {
		b.WriteString(Clean(f) + "\n")
	}
	for _, f := range c.Caveats {
		b.WriteString("  but: " + Clean(f) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}

func figureWord(v model.Value[float64]) string {
	f, ok := v.Get()
	if !ok {
		return Unknown
	}
	return Short(model.Known(int64(f + 0.5)))
}

// severityWord is the worst that was judged.
func severityWord(t timeline.Total) string {
	switch t.Severity {
	case "":
		return Unknown
	case model.SeverityInfo:
		return Clean(string(t.Class))
	}
	return Clean(string(t.Severity) + " " + string(t.Class))
}
