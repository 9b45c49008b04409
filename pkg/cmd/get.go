package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

const getExample = `  # Pods of a deployment: queue, overflows, workers, and what was asked for
  kubectl backlog get -n shop deploy/server

  # Every listener of one pod
  kubectl backlog get server-6bf978ccb4-m2m2q -o wide

  # The meshed pods of the namespace (all pods when none is meshed), as JSON
  kubectl backlog get -o json

  # All namespaces, and keep watching
  kubectl backlog get -A -l app=server -w

  # This machine, no cluster
  kubectl backlog get --local`

// getOptions are those of `get`.
type getOptions struct {
	selection
	genericiooptions.IOStreams

	format  format
	watch   bool
	timeout time.Duration
	failOn  failOn
	// openSource is a hook for tests.
	openSource func(context.Context) (source.Source, error)
}

func newGet(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := &getOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat("wide")}
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "get [POD | TYPE/NAME | IP[:PORT]]...",
		Short:   "Print queues, drops and workers of pods once, or with -w again and again",
		Example: getExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	f := c.Flags()
	o.format.addFlags(c, "wide (a row per listener), name")
	f.BoolVarP(&o.watch, "watch", "w", false, "After the first table, print the rows that change")
	o.failOn.addFlag(c)
	o.replay.addFlag(c)
	o.replay.addMoment(c)
	f.DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait for a probe's first figures")
	return c
}

// printRecorded prints a moment of a recording.
func (o *getOptions) printRecorded(ctx context.Context) error {
	if o.watch {
		return usageError{fmt.Errorf("-w waits for what comes: a recording is over (top --replay plays it)")}
	}
	s, err := o.last(ctx, o.ErrOut, nil)
	if err != nil {
		return err
	}
	out := o.newOutput()
	out.table.Namespaces = true
	if err := out.print(s); err != nil {
		return err
	}
	return o.failOn.judge(s)
}

func (o *getOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usageError{fmt.Errorf("--timeout must be positive")}
	}
	if err := o.failOn.validate(); err != nil {
		return err
	}
	return o.format.validate()
}

func (o *getOptions) run(ctx context.Context) error {
	if o.replay.given() {
		return o.printRecorded(ctx)
	}
	// Looking more often than a frame comes costs nothing but this process's
	// time, and shows the first figures as soon as they are there.
	window := o.window
	o.interval = 100 * time.Millisecond
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	src = o.judge(src)

	progress := newProgress(o.ErrOut, o.now, o.timeout)
	first, err := until(ctx, src, o.now, o.timeout, func(s model.Snapshot) bool {
		progress.show(s)
		return settled(s)
	})
	progress.done()
	if err != nil {
		return err
	}
	out := o.newOutput()
	if window > 0 {
		live := out.preview(first)
		// A few seconds more than the window: the proxy's figures come in whole
		// seconds, and the window starts at the first one seen.
		first, err = until(ctx, src, o.now, window+3*time.Second, func(s model.Snapshot) bool { return measured(s, window) })
		if err != nil {
			return err
		}
		out.replace(live)
	}
	if o.watch && out.jsonLines {
		// One object a line from the first on, for whoever reads lines.
		err = out.printRows(first)
	} else {
		err = out.print(first)
	}
	if err != nil {
		return err
	}
	failed := o.reportFailures(first)
	if err := tellRoles(o.ErrOut, missingRights(first)); err != nil {
		return err
	}
	if o.watch {
		out.told = o.teller(first)
		return out.follow(ctx, src, first, max(window, time.Second))
	}
	if failed {
		return errReported
	}
	return o.failOn.judge(first)
}

// lookFor takes snapshots until the pods have their first figures and then for
// the window, and gives the last one. Each is handed to seen, if that is not nil.
func (o *getOptions) lookFor(ctx context.Context, src source.Source, window time.Duration, seen func(model.Snapshot)) (model.Snapshot, error) {
	progress := newProgress(o.ErrOut, o.now, o.timeout)
	defer progress.done()
	take := func(s model.Snapshot) {
		if seen != nil {
			seen(s)
		}
	}
	s, err := until(ctx, src, o.now, o.timeout, func(s model.Snapshot) bool {
		progress.show(s)
		take(s)
		return settled(s)
	})
	if err != nil || window <= 0 {
		return s, err
	}
	begun := o.now()
	return until(ctx, src, o.now, window+3*time.Second, func(s model.Snapshot) bool {
		progress.looking(o.now().Sub(begun), window)
		take(s)
		return measured(s, window)
	})
}

// tellFailures says on stderr what could not be read, and which rights are
// missing for it. Its error says that there was something.
func (o *getOptions) tellFailures(s model.Snapshot) error {
	failed := o.reportFailures(s)
	if err := tellRoles(o.ErrOut, missingRights(s)); err != nil {
		return err
	}
	if failed {
		return errReported
	}
	return nil
}

// until takes snapshots until one satisfies done or the time is over, and gives
// the last one. Running out of time is no error: the rows say what is missing.
func until(ctx context.Context, src source.Source, now func() time.Time, limit time.Duration, done func(model.Snapshot) bool) (model.Snapshot, error) {
	end := now().Add(limit)
	for {
		s, err := src.Next(ctx)
		if err != nil {
			return s, err
		}
		if done(s) || now().After(end) {
			return s, nil
		}
	}
}

// settled says whether every pod has its absolute figures, or never will.
func settled(s model.Snapshot) bool {
	for _, p := range s.Pods {
		switch p.Collection.Stage {
		case model.StageAsking, model.StagePulling, model.StageStarting, model.StageWaiting:
			return false
		}
		if waitsForMetrics(p) {
			return false
		}
	}
	return true
}

// waitsForMetrics says whether the first page of a running proxy is on its way,
// with or without a probe.
func waitsForMetrics(p model.Pod) bool {
	return p.Proxy.Adapter != "" && p.Phase == "Running" && !p.HostNetwork && p.Collection.Stage != model.StageGone &&
		p.Runtime.Clock.Reason() == source.ReasonNoMetricsYet
}

// measured says whether every pod that gives figures has them for the window.
func measured(s model.Snapshot, window time.Duration) bool {
	// Frames and refreshes are a second apart, a little less by the clock.
	enough := window.Seconds() - 0.2
	for _, p := range s.Pods {
		if p.Collection.Stage == model.StageOK && p.Window.Seconds.Or(0) < enough {
			return false
		}
		if p.Runtime.Workers.IsKnown() && p.Runtime.Window.Stalled.Or(0) < model.StallSeconds &&
			p.Runtime.Window.Seconds.Or(0) < enough {
			return false
		}
	}
	return true
}

func (o *getOptions) newOutput() *getOutput {
	return &getOutput{
		out: o.Out, printer: o.format.printer, now: o.now,
		table:        render.TableOptions{Namespaces: o.manyNamespaces(), Wide: o.format.name() == "wide" || o.local, NoHeaders: o.format.noHeaders},
		single:       len(o.args) == 1 && !o.watch,
		jsonLines:    o.format.name() == "json",
		dropFinished: len(o.args) == 0,
	}
}
