package cmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

const topExample = `  # Watch the pods of a deployment: who refuses connections, and whose workers are full
  kubectl backlog top -n shop deploy/server

  # Everything that is meshed in the namespace
  kubectl backlog top

  # This machine, no cluster
  kubectl backlog top --local

  # Not on a terminal: ten tables, one every two seconds
  kubectl backlog top deploy/server --interval 2s --count 10 | tee incident.txt`

// startLimit is how long tables wait for the first figures of all pods.
const startLimit = time.Minute

// topOptions are those of `top`.
type topOptions struct {
	selection
	genericiooptions.IOStreams
	count      int
	failOn     failOn
	openSource func(context.Context) (source.Source, error)
}

func newTop(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := &topOptions{selection: newSelection(flags), IOStreams: streams}
	o.window, o.interval = 10*time.Second, 0
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "top [POD | TYPE/NAME | IP[:PORT]]...",
		Short:   "Watch queues, drops and workers of pods on a screen",
		Long:    "Watch queues, drops and workers of pods: a screen on a terminal, a repeated table otherwise.",
		Example: topExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	o.failOn.addFlag(c)
	c.Flags().DurationVar(&o.interval, "interval", 0, fmt.Sprintf("Time between two looks (default %s on the screen, %s for tables); probes speak once a second", screenInterval, tableInterval))
	c.Flags().IntVar(&o.count, "count", 0, "Without a terminal: how many tables to print (0 goes on until interrupted)")
	return c
}

func (o *topOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	switch {
	case o.interval != 0 && (o.interval < 200*time.Millisecond || o.interval > time.Minute):
		return usageError{fmt.Errorf("--interval must be between 200ms and 1m")}
	case o.failOn.validate() != nil:
		return o.failOn.validate()
	case o.count < 0:
		return usageError{fmt.Errorf("--count must not be negative")}
	}
	return nil
}

// Without --interval. A probe speaks once a second, and what it said is shown
// until the next look: a little less than a second between two looks keeps every
// row of the screen under two seconds old.
const (
	screenInterval = 700 * time.Millisecond
	tableInterval  = time.Second
)

func (o *topOptions) run(ctx context.Context) error {
	_, _, terminal := terminalSize(o.Out)
	usual := tableInterval
	if terminal {
		usual = screenInterval
	}
	o.interval = cmp.Or(o.interval, usual)
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	if !terminal {
		seen := &lastSeen{Source: o.judge(src)}
		if err := o.tables(ctx, seen); err != nil {
			return err
		}
		return o.failOn.judge(seen.snapshot)
	}
	seen := &lastSeen{Source: o.judge(src)}
	screen := tui.Options{
		Source: seen, In: o.In, Out: o.Out, Title: o.title(), Interval: o.interval, Now: o.now,
	}
	if c, ok := src.(interface{ Renew() }); ok && !o.readOnly && o.via != "metrics" {
		screen.Renew, screen.RenewFor = c.Renew, o.ttl
	}
	if err := tui.Run(ctx, screen); err != nil {
		return err
	}
	if err := tellRoles(o.ErrOut, missingRights(seen.snapshot)); err != nil {
		return err
	}
	return o.failOn.judge(seen.snapshot)
}

// tables prints again and again. The screen shows what starting probes do; a
// table of nothing but "?" is no use to a file, so that it waits for them.
func (o *topOptions) tables(ctx context.Context, src source.Source) error {
	progress := newProgress(o.ErrOut, o.now, startLimit)
	_, err := until(ctx, src, o.now, startLimit, func(s model.Snapshot) bool {
		progress.show(s)
		return settled(s)
	})
	progress.done()
	if err != nil {
		return err
	}
	return tui.Repeat(ctx, src, o.Out, tui.RepeatOptions{
		Count: o.count, Namespaces: o.manyNamespaces(), Wide: o.local, Notes: o.ErrOut,
	})
}

// lastSeen keeps the newest snapshot, for what is to be said after the screen.
type lastSeen struct {
	source.Source
	snapshot model.Snapshot
}

// Next is the Source's. The screen has ended, and with it every call, before the
// snapshot is read.
func (l *lastSeen) Next(ctx context.Context) (model.Snapshot, error) {
	s, err := l.Source.Next(ctx)
	if err == nil {
		l.snapshot = s
	}
	return s, err
}
