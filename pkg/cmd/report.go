package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

const reportExample = `  # One HTML file for the post-mortem, with pictures, evidence and commands
  kubectl backlog report incident.jsonl.gz -o incident.html

  # The same as Markdown, of five minutes alone
  kubectl backlog report incident.jsonl.gz --from 12:00:00 --to 12:05:00 -o -`

// reportOptions are those of `report`.
type reportOptions struct {
	genericiooptions.IOStreams
	selection
	version  string
	out      string
	from, to moment
}

func newReport(streams genericiooptions.IOStreams, s selection, version string) *cobra.Command {
	o := &reportOptions{IOStreams: streams, selection: s, version: version}
	c := &cobra.Command{
		Use:     "report FILE [POD | TYPE/NAME]...",
		Short:   "Write a report of a recording, for whoever reads it tomorrow",
		Example: reportExample,
		RunE:    inSteps(o),
	}
	f := c.Flags()
	f.StringVar(&o.replay.path, "replay", "", "The recording, as other commands have it: then all arguments are pods")
	f.StringVarP(&o.out, "output", "o", "-", "The `FILE` to write: HTML when it ends in .html, else Markdown; - prints Markdown")
	f.StringVar((*string)(&o.from), "from", "", "First moment, as in 12:00:05, +5m or -10m (default: the beginning)")
	f.StringVar((*string)(&o.to), "to", "", "Last moment (default: the end)")
	return c
}

func (o *reportOptions) complete(args []string) error {
	if o.replay.given() {
		o.args = args
		return nil
	}
	if len(args) == 0 {
		return usageError{errors.New("name a recording")}
	}
	o.replay.path, o.args = args[0], args[1:]
	return nil
}

func (o *reportOptions) validate() error { return nil }

func (o *reportOptions) run(ctx context.Context) error {
	r, err := o.report(ctx)
	if err != nil {
		return err
	}
	write := render.WriteMarkdown
	if strings.HasSuffix(o.out, ".html") || strings.HasSuffix(o.out, ".htm") {
		write = render.WriteHTML
	}
	if o.out == "-" {
		return write(o.Out, r)
	}
	if err := differentFiles(o.replay.path, o.out); err != nil {
		return err
	}
	if err := writeFile(o.out, func(w io.Writer) error { return write(w, r) }); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Fprintf(o.ErrOut, "wrote %s\n", render.Clean(o.out))
	return nil
}

func (o *reportOptions) report(ctx context.Context) (render.Report, error) {
	title, _, err := o.replay.title()
	if err != nil {
		return render.Report{}, err
	}
	from, err := o.replay.moment(ctx, o.from)
	if err != nil {
		return render.Report{}, err
	}
	to, err := o.replay.moment(ctx, o.to)
	if err != nil {
		return render.Report{}, err
	}
	reporter := render.NewReporter(title, o.version)
	notes, err := o.replay.read(ctx, from, to, o.wanted(), func(s model.Snapshot) { reporter.Add(s) })
	for _, n := range notes {
		reporter.Note(n)
	}
	return reporter.Report(o.now()), err
}
