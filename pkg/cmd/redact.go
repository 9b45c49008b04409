package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// redactOptions are those of `record redact`.
type redactOptions struct {
	genericiooptions.IOStreams
	in, out string
}

func newRecordRedact(streams genericiooptions.IOStreams) *cobra.Command {
	o := &redactOptions{IOStreams: streams}
	c := &cobra.Command{
		Use:   "redact FILE -o FILE",
		Short: "Write a recording without names and addresses",
		Long: `Write a recording without names and addresses: namespaces, pods, nodes, images,
addresses and users get other names, the same in all places. What cannot be cleaned
is left out.`,
		Example: `  # To show it to others
  kubectl backlog record redact incident.jsonl.gz -o public.jsonl.gz`,
		RunE: inSteps(o),
	}
	c.Flags().StringVarP(&o.out, "output", "o", "", "The `FILE` to write")
	return c
}

func (o *redactOptions) complete(args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("name one recording")}
	}
	o.in = args[0]
	return nil
}

func (o *redactOptions) validate() error { return differentFiles(o.in, o.out) }

func (o *redactOptions) run(ctx context.Context) error {
	r := record.NewRedactor()
	ticks, notes, err := copyRecording(ctx, o.in, o.out, r, func(model.Snapshot) bool { return true })
	for _, n := range notes {
		fmt.Fprintln(o.ErrOut, "note:", render.Clean(n))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(o.ErrOut, "wrote %s: %s, %s\n", render.Clean(o.out), render.Plural(ticks, "tick"), render.Plural(r.Names(), "name")+" replaced")
	return nil
}
