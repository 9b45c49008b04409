package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

const planLong = `Say what would follow from other workers or another backlog, before anything is
changed: the workers on every kind of node that the workload may run on, by the
proxy's own formula; how busy they would be under the load that is seen now; the
backlog that the bursts seen now would have needed, what it costs and whether
net.core.somaxconn allows it; what restarts; and the commands that do it.

Nothing is changed. Every prediction comes with its assumptions. Without --workers,
--backlog or --cpu-ratio it says what the present evidence would need.`

const planExample = `  # What would the load that is there now need?
  kubectl backlog plan -n shop deploy/server

  # Two workers and a deeper backlog: what follows, and the command
  kubectl backlog plan -n shop deploy/server --workers 2 --backlog 512

  # Half of the CPUs of whatever node it runs on
  kubectl backlog plan -n shop deploy/server --cpu-ratio 0.5

  # Look for a minute, since bursts may come seldom, and ask the API server
  # whether it would take the change
  kubectl backlog plan -n shop deploy/server --window 1m --backlog 512 --dry-run=server`

// planOptions are those of `plan`.
type planOptions struct {
	getOptions
	wanted plan.Wanted
	check  bool
	// dial is a hook for tests.
	dial func() (kubernetes.Interface, error)
}

func newPlan(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := &planOptions{getOptions: getOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat()}}
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	o.dial = func() (kubernetes.Interface, error) {
		_, client, err := o.connect()
		return client, err
	}
	c := &cobra.Command{
		Use:     "plan TYPE/NAME",
		Short:   "Say what would follow from other workers or another backlog, and how to get there",
		Long:    planLong,
		Example: planExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	f := c.Flags()
	for _, other := range []string{"all-namespaces", "selector", "field-selector", "local", "pid"} {
		_ = f.MarkHidden(other) // of one workload alone, in a cluster
	}
	f.Lookup("dry-run").Usage = "server: have the API server check the change, without making it; client: nothing is ever changed anyway"
	f.Func("workers", "Workers that each proxy shall have (`N`)", func(text string) error {
		return into(&o.wanted.Workers, text, mostWorkers)
	})
	f.Func("backlog", "Backlog that the inbound listener shall have (`N`)", func(text string) error {
		return into(&o.wanted.Backlog, text, mostBacklog)
	})
	f.Func("cpu-ratio", "Share of the CPUs that each proxy shall have workers for (`R`), above 0 and below 1", func(text string) error {
		r, err := strconv.ParseFloat(text, 64)
		if err != nil || !(r > 0 && r < 1) {
			return errors.New("must be above 0 and below 1")
		}
		o.wanted.Ratio = model.Known(r)
		return nil
	})
	o.format.addFlags(c, "table")
	o.replay.addFlag(c)
	o.replay.addMoment(c)
	f.DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait for a probe's first figures")
	return c
}

const (
	// mostWorkers is more than any machine has CPUs.
	mostWorkers = 4096
	// mostBacklog is what fits into the kernel's int.
	mostBacklog = 1<<31 - 1
)

// into reads a whole number of at least 1.
func into(v *model.Value[int64], text string, most int64) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return fmt.Errorf("must be a whole number from 1 to %d", most)
	}
	*v = model.Known(n)
	return nil
}

func (o *planOptions) complete(args []string) error {
	if o.format.name() == "table" {
		*o.format.flags.OutputFormat = ""
	}
	return o.getOptions.complete(args)
}

func (o *planOptions) validate() error {
	switch {
	case o.local || o.allNamespaces || o.labels != "" || o.fields != "" || len(o.args) != 1:
		return usageError{errors.New("a plan is of one workload of a cluster: name it, as in deploy/server")}
	case o.wanted.Workers.IsKnown() && o.wanted.Ratio.IsKnown():
		return usageError{errors.New("--workers or --cpu-ratio: only one of them decides on the workers")}
	}
	if err := o.getOptions.validate(); err != nil {
		return err
	}
	// Here it is about the change, not about probes.
	o.check = o.dryRun == "server" && !o.replay.given()
	o.dryRun = "none"
	if o.check && !o.wanted.Any() {
		return usageError{errors.New("--dry-run=server checks a change: give --workers, --backlog or --cpu-ratio")}
	}
	return nil
}

func (o *planOptions) run(ctx context.Context) error {
	s, bursts, err := o.look(ctx)
	if err != nil {
		return err
	}
	pods, err := ofOneWorkload(s)
	if err != nil {
		return err
	}
	in := plan.Input{Pods: pods, Bursts: bursts, Wanted: o.wanted}
	if o.replay.given() {
		p := plan.Of(in)
		p.Apply = o.changeOf(pods[0], &p).apply
		return o.print(p)
	}
	client, err := o.dial()
	if err != nil {
		return err
	}
	if err := o.fromSpecs(ctx, client, &in); err != nil {
		return err
	}
	p := plan.Of(in)
	change := o.changeOf(pods[0], &p)
	p.Apply = change.apply
	if o.check {
		p.Checked = check(ctx, client, pods[0], change.patch)
	}
	if err := o.print(p); err != nil {
		return err
	}
	return o.tellFailures(s)
}

// look watches the pods for the window, as get does, and keeps the bursts.
func (o *planOptions) look(ctx context.Context) (model.Snapshot, plan.Bursts, error) {
	var bursts plan.Bursts
	if o.replay.given() {
		s, err := o.last(ctx, o.ErrOut, func(s model.Snapshot) {
			for _, p := range s.Pods {
				bursts.Add(p)
			}
		})
		return s, bursts, err
	}
	window := o.window
	o.interval = 500 * time.Millisecond // no frame may be missed
	src, err := o.openSource(ctx)
	if err != nil {
		return model.Snapshot{}, bursts, err
	}
	defer src.Close()
	s, err := o.lookFor(ctx, src, window, func(s model.Snapshot) {
		for _, p := range s.Pods {
			bursts.Add(p)
		}
	})
	return s, bursts, err
}

// ofOneWorkload gives the pods that a plan is made from: those that run, of one
// workload.
func ofOneWorkload(s model.Snapshot) ([]model.Pod, error) {
	var pods []model.Pod
	var names []string
	for _, p := range s.Pods {
		if p.Collection.Stage == model.StageGone {
			continue
		}
		pods = append(pods, p)
		name := p.Workload.Kind + "/" + p.Workload.Name
		if p.Workload.Name == "" {
			name = "pod/" + p.Meta.Name
		}
		if name = p.Meta.Namespace + " " + name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(pods) == 0:
		return nil, errors.New("planning: none of its pods runs")
	case len(names) > 1:
		slices.Sort(names)
		return nil, fmt.Errorf("planning: this means pods of several workloads (%s, %s…): name one of them", names[0], names[1])
	}
	return pods, nil
}

func (o *planOptions) print(p plan.Plan) error {
	if o.format.printer == nil {
		return render.PrintPlan(o.Out, p, render.PageOptions{Now: o.now(), Context: o.context})
	}
	object, err := render.PlanObject(p)
	if err != nil {
		return err
	}
	if err := o.format.printer.PrintObj(object, o.Out); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
