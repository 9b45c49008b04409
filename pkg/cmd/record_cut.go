package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// cutOptions are those of `record cut`.
type cutOptions struct {
	genericiooptions.IOStreams
	replay   replaying
	out      string
	from, to moment
	redact   bool
}

func newRecordCut(streams genericiooptions.IOStreams) *cobra.Command {
	o := &cutOptions{IOStreams: streams}
	c := &cobra.Command{
		Use:   "cut FILE --from TIME --to TIME -o FILE",
		Short: "Write a part of a recording as one of its own",
		Example: `  # Five minutes of it
  kubectl backlog record cut incident.jsonl.gz --from 12:00:00 --to 12:05:00 -o part.jsonl.gz

  # The last ten minutes
  kubectl backlog record cut incident.jsonl.gz --from -10m -o part.jsonl.gz`,
		RunE: inSteps(o),
	}
	f := c.Flags()
	f.StringVarP(&o.out, "output", "o", "", "The `FILE` to write")
	f.StringVar((*string)(&o.from), "from", "", "First moment, as in 12:00:05, +5m or -10m (default: the beginning)")
	f.StringVar((*string)(&o.to), "to", "", "Last moment (default: the end)")
	f.BoolVar(&o.redact, "redact", false, "Write no names and addresses: they get other ones (see record redact)")
	return c
}

func (o *cutOptions) complete(args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("name one recording")}
	}
	o.replay.path = args[0]
	return nil
}

func (o *cutOptions) validate() error { return differentFiles(o.replay.path, o.out) }

// differentFiles keeps a recording from being overwritten while it is read.
func differentFiles(in, out string) error {
	if out == "" {
		return usageError{errors.New("-o names the file to write")}
	}
	a, errA := os.Stat(in)
	b, errB := os.Stat(out)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return usageError{errors.New("-o must be another file than the recording that is read")}
	}
	return nil
}

func (o *cutOptions) run(ctx context.Context) error {
	from, err := o.replay.moment(ctx, o.from)
	if err != nil {
		return err
	}
	to, err := o.replay.moment(ctx, o.to)
	if err != nil {
		return err
	}
	var redactor *record.Redactor
	if o.redact {
		redactor = record.NewRedactor()
	}
	ticks, notes, err := copyRecording(ctx, o.replay.path, o.out, redactor, func(s model.Snapshot) bool {
		return !s.Time.Before(from) && (to.IsZero() || !s.Time.After(to))
	})
	for _, n := range notes {
		fmt.Fprintln(o.ErrOut, "note:", render.Clean(n))
	}
	if err == nil && ticks == 0 {
		err = fmt.Errorf("cutting %s: it holds nothing of that time", o.replay.path)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(o.ErrOut, "wrote %s: %s\n", render.Clean(o.out), render.Plural(ticks, "tick"))
	return nil
}

// copyRecording copies the snapshots that take says yes to, by way of a redactor where
// there is one.
func copyRecording(ctx context.Context, in, out string, redactor *record.Redactor, take func(model.Snapshot) bool) (ticks int, notes []string, err error) {
	rec, err := source.OpenRecording(in)
	if err != nil {
		return 0, nil, err
	}
	defer rec.Close()
	header := record.Header{Title: rec.Title()}
	if p, ok := rec.(*record.Player); ok {
		header = p.Header()
	}
	if redactor != nil {
		header = redactor.Header(header)
	}
	file, err := record.Create(out, record.FileOptions{Header: header})
	if err != nil {
		return 0, nil, err
	}
	for {
		s, err := rec.Next()
		if errors.Is(err, io.EOF) {
			return ticks, rec.Notes(), file.Close()
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return ticks, nil, errors.Join(err, file.Close())
		}
		if !take(s) {
			continue
		}
		if redactor != nil {
			s = redactor.Snapshot(s)
		}
		ticks++
		err = file.Add(s)
		if err != nil {
			return ticks, nil, errors.Join(err, file.Close())
		}
	}
}
