package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

const recordExample = `  # Record the pods of a deployment until ctrl-c
  kubectl backlog record -n shop deploy/server -o incident.jsonl.gz

  # Ten minutes at most, and only until something is refused
  kubectl backlog record -n shop deploy/server -o incident.jsonl.gz --for 10m --until overflow

  # A part of a recording
  kubectl backlog record cut incident.jsonl.gz --from 12:00:00 --to 12:05:00 -o part.jsonl.gz

  # Without names and addresses, to show it to others
  kubectl backlog record redact incident.jsonl.gz -o public.jsonl.gz`

// recordOptions are those of `record`.
type recordOptions struct {
	selection
	genericiooptions.IOStreams
	version string

	to      string
	lasts   time.Duration
	until   string
	maxSize string
	maxAge  time.Duration
	bytes   int64
	redact  bool

	openSource func(context.Context) (source.Source, error)
}

func newRecord(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams, version string) *cobra.Command {
	o := &recordOptions{selection: newSelection(flags), IOStreams: streams, version: version}
	o.window = 10 * time.Second
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "record [POD | TYPE/NAME | IP[:PORT]]... -o FILE",
		Short:   "Record what top would show, without a screen",
		Long:    "Record what top would show, without a screen. ctrl-c ends a recording well: the exit code is then 0.",
		Example: recordExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	f := c.Flags()
	f.StringVarP(&o.to, "output", "o", "", "The `FILE` to write; compressed unless it ends in .jsonl")
	f.DurationVar(&o.lasts, "for", 0, "How long to record (0: until ctrl-c)")
	f.StringVar(&o.until, "until", "", "Record until something happens, and a few seconds more: overflow, warning or critical")
	f.StringVar(&o.maxSize, "max-size", "1Gi", "The most that the file may have, as in 500Mi")
	f.DurationVar(&o.maxAge, "max-age", 24*time.Hour, "The longest time that one file may hold")
	f.BoolVar(&o.redact, "redact", false, "Write no names and addresses: they get other ones (see record redact)")
	c.AddCommand(newRecordCut(streams), newRecordRedact(streams))
	return c
}

func (o *recordOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	size, err := resource.ParseQuantity(o.maxSize)
	switch {
	case o.to == "":
		return usageError{errors.New("-o names the file to write")}
	case o.lasts < 0:
		return usageError{errors.New("--for must not be negative")}
	case !slices.Contains([]string{"", "overflow", "warning", "critical"}, o.until):
		return usageError{fmt.Errorf("--until must be overflow, warning or critical, not %q", o.until)}
	case err != nil || size.Value() < 100_000:
		return usageError{fmt.Errorf("--max-size must be a size of at least 100k, as in 500Mi, not %q", o.maxSize)}
	case o.maxAge <= 0:
		return usageError{errors.New("--max-age must be positive")}
	}
	o.bytes = size.Value()
	return notThere(o.to)
}

// notThere keeps a recording from being overwritten by the same command, typed again.
func notThere(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return usageError{fmt.Errorf("%s exists: name another file to record to, or remove it", path)}
	}
	return nil
}

// afterwards is how long a recording goes on behind what it waited for.
const afterwards = 10 * time.Second

func (o *recordOptions) run(ctx context.Context) error {
	o.interval = 500 * time.Millisecond // no frame may be missed
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	header := record.Header{Tool: o.version, Title: o.title(), Started: o.now().UTC()}
	shape := func(s model.Snapshot) model.Snapshot { return s }
	if o.redact {
		redactor := record.NewRedactor()
		header, shape = redactor.Header(header), redactor.Snapshot
	}
	file, err := record.Create(o.to, record.FileOptions{Header: header, MaxBytes: o.bytes, MaxAge: o.maxAge})
	if err != nil {
		return err
	}
	r := recorder{options: o, file: file, shape: shape, begun: o.now(), happened: happened{overflows: map[string]model.Value[int64]{}, sandboxes: map[string]string{}}}
	err = r.run(ctx, o.judge(src))
	r.clear()
	if closed := file.Close(); err == nil {
		err = closed
	}
	fmt.Fprintln(o.ErrOut, r.summary())
	var full *record.FullError
	switch {
	case errors.As(err, &full):
		fmt.Fprintln(o.ErrOut, "note:", full.Why)
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return errStopped // as tcpdump has it: ctrl-c is how one ends a recording
	}
	return err
}
