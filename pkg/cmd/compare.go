package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

const compareExample = `  # Did it help? Two recordings, before and after
  kubectl backlog compare before.jsonl.gz after.jsonl.gz

  # Two times of one recording
  kubectl backlog compare incident.jsonl.gz --before 12:00:00..12:05:00 --after 12:10:00..12:15:00`

// compareOptions are those of `compare`.
type compareOptions struct {
	genericiooptions.IOStreams
	selection
	files         []string
	before, after string
	output        string
}

func newCompare(streams genericiooptions.IOStreams, s selection) *cobra.Command {
	o := &compareOptions{IOStreams: streams, selection: s}
	c := &cobra.Command{
		Use:     "compare BEFORE [AFTER]",
		Short:   "Say what differs between two recordings, or two times of one: whether a change helped",
		Example: compareExample,
		RunE:    inSteps(o),
	}
	f := c.Flags()
	f.StringVar(&o.before, "before", "", "Time before the change, as FROM..TO; each as in 12:00:05, +5m or -10m, or nothing")
	f.StringVar(&o.after, "after", "", "Time after it")
	f.StringVarP(&o.output, "output", "o", "", "Output format: json, or a table")
	return c
}

func (o *compareOptions) complete(args []string) error {
	o.files = args
	return nil
}

func (o *compareOptions) validate() error {
	switch {
	case len(o.files) == 0 || len(o.files) > 2:
		return usageError{errors.New("name two recordings, or one with --before and --after")}
	case len(o.files) == 1 && (o.before == "" || o.after == ""):
		return usageError{errors.New("one recording alone needs --before FROM..TO and --after FROM..TO")}
	case o.output != "" && o.output != "json" && o.output != "table":
		return usageError{fmt.Errorf("-o must be json or table, not %q", o.output)}
	}
	for _, span := range []string{o.before, o.after} {
		if span != "" && strings.Count(span, "..") != 1 {
			return usageError{fmt.Errorf("%q is no time: give it as FROM..TO", span)}
		}
	}
	return nil
}

func (o *compareOptions) run(ctx context.Context) error {
	before, err := o.side(ctx, o.files[0], o.before)
	if err != nil {
		return err
	}
	after, err := o.side(ctx, o.files[len(o.files)-1], o.after)
	if err != nil {
		return err
	}
	c := timeline.Compare(before, after)
	if o.output != "json" {
		return render.PrintCompare(o.Out, c)
	}
	encoder := json.NewEncoder(o.Out)
	encoder.SetIndent("", "    ")
	if err := encoder.Encode(c); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}

// side reads one of the two times.
func (o *compareOptions) side(ctx context.Context, path, span string) (timeline.Side, error) {
	r := replaying{path: path}
	side := timeline.Side{Timeline: timeline.New(timeline.Options{})}
	if span != "" {
		from, to, err := r.bounds(ctx)
		if err != nil {
			return side, err
		}
		a, b, _ := strings.Cut(span, "..")
		if side.From, err = moment(a).in(from, to); err == nil {
			side.To, err = moment(b).in(from, to)
		}
		if err != nil {
			return side, err
		}
	}
	notes, err := r.read(ctx, time.Time{}, side.To, o.wanted(), func(s model.Snapshot) { side.Timeline.Add(s) })
	for _, n := range notes {
		fmt.Fprintf(o.ErrOut, "note: %s: %s\n", render.Clean(path), render.Clean(n))
	}
	return side, err
}
