package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

const probesStopLong = `End probes that run, before their time is over. What else runs in their pods is
not touched.

It is done by exec in the probe's own container, which takes get and create on
pods/exec; without that a probe still ends by itself. The probes of others are
ended only when you say so.`

const probesStopExample = `  # The probes of a pod, and of the pods of a deployment
  kubectl backlog probes stop server-6bf978ccb4-m2m2q
  kubectl backlog probes stop -n shop deploy/server

  # By label, and all of a namespace, those of others as well
  kubectl backlog probes stop -l app=server
  kubectl backlog probes stop -n shop --all --yes`

// stopAtOnce is how many probes are ended at the same time.
const stopAtOnce = 8

// stopOptions are those of `probes stop`.
type stopOptions struct {
	*probesOptions
	all bool

	// asking and stop are hooks for tests.
	asking func() bool
	stop   func(ctx context.Context, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod, probe string) error
}

func newProbesStop(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := newStopOptions(flags, streams)
	c := &cobra.Command{
		Use:     "stop [POD | TYPE/NAME]...",
		Short:   "End probes that run",
		Long:    probesStopLong,
		Example: probesStopExample,
		RunE:    inSteps(o),
	}
	o.addSelectionFlags(c)
	c.Flags().BoolVar(&o.all, "all", false, "All probes of the namespace")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "Do not ask before the probes of others are ended")
	return c
}

func newStopOptions(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *stopOptions {
	return &stopOptions{
		probesOptions: newProbesOptions(flags, streams),
		asking:        func() bool { return interactive(streams) },
		stop: func(ctx context.Context, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod, probe string) error {
			return (&collect.Execer{Config: config, Client: client}).Stop(ctx, pod, probe)
		},
	}
}

func (o *stopOptions) validate() error {
	switch {
	case o.all && (len(o.args) > 0 || o.labels != ""):
		return usageError{fmt.Errorf("name pods, give a selector, or --all: only one of them")}
	case len(o.args) == 0 && o.labels == "" && !o.all && !o.allNamespaces:
		return usageError{fmt.Errorf("whose probes? Name pods, give a selector with -l, --all for the namespace, or -A for all namespaces")}
	}
	return o.probesOptions.validate()
}

// running is a probe that can be ended.
type running struct {
	pod   *corev1.Pod
	probe model.ProbeInfo
}

func (r running) String() string {
	return fmt.Sprintf("pod %s/%s: %s", r.pod.Namespace, r.pod.Name, r.probe.Name)
}

func (o *stopOptions) run(ctx context.Context) error {
	config, client, err := o.dial()
	if err != nil {
		return err
	}
	pods, problems, err := o.find(ctx, client)
	if err != nil {
		return err
	}
	failed := o.tell(problems) != nil
	var live []running
	for _, pod := range pods {
		for _, p := range collect.Probes(pod) {
			switch p.State {
			case model.ProbeRunning:
				live = append(live, running{pod, p})
			case model.ProbeStarting:
				failed = true
				fmt.Fprintln(o.ErrOut, render.Clean(fmt.Sprintf("%s not stopped: it has not started yet; try again when it has", running{pod, p})))
			}
		}
	}
	if len(live) == 0 {
		if !failed {
			o.none("running probes")
			return nil
		}
		return errReported
	}
	live, err = o.permitted(ctx, client, live)
	if err != nil {
		return err
	}
	rights, notStopped := o.end(ctx, config, client, live)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := tellRoles(o.ErrOut, rights); err != nil {
		return err
	}
	if failed || notStopped {
		return errReported
	}
	return nil
}

// permitted leaves out the probes of others, unless somebody says yes to them.
func (o *stopOptions) permitted(ctx context.Context, client kubernetes.Interface, live []running) ([]running, error) {
	if o.yes {
		return live, nil
	}
	me := collect.WhoAmI(ctx, client, o.user)
	var own, others []running
	var names []string
	for _, r := range live {
		if r.probe.By != "" && r.probe.By == me {
			own = append(own, r)
			continue
		}
		others = append(others, r)
		name := cmp.Or(r.probe.By, "unknown")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(others) == 0 {
		return own, nil
	}
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	text := fmt.Sprintf("%d of %d running probes were added by others (%s)", len(others), len(live), strings.Join(names, ", "))
	if !o.asking() {
		return nil, fmt.Errorf("%s: nothing was stopped; give --yes to end them as well", text)
	}
	for _, r := range others {
		fmt.Fprintln(o.ErrOut, render.Clean(fmt.Sprintf("%s, by %s, until %s: %s", r, cmp.Or(r.probe.By, "unknown"), render.Clock(o.now(), r.probe.Until), cmp.Or(r.probe.Reason, "unknown"))))
	}
	yes, err := confirm(ctx, o.IOStreams, render.Clean(text)+". End them as well?", false)
	if err != nil {
		return nil, err
	}
	if yes {
		return live, nil
	}
	return own, nil
}

// end ends the probes, several at a time, and tells of each in their order. It
// gives the rights that were missing, and whether any probe still runs.
func (o *stopOptions) end(ctx context.Context, config *rest.Config, client kubernetes.Interface, live []running) (rights []model.Right, failed bool) {
	results := make([]chan error, len(live))
	for i := range results {
		results[i] = make(chan error, 1)
	}
	slots := make(chan struct{}, stopAtOnce)
	var all sync.WaitGroup
	for i, r := range live {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				results[i] <- ctx.Err()
				return
			}
			results[i] <- o.stop(ctx, config, client, r.pod, r.probe.Name)
		})
	}
	defer all.Wait()
	for i, r := range live {
		err := <-results[i]
		if ctx.Err() != nil {
			return nil, true
		}
		var gone *collect.GoneError
		var forbidden *collect.ForbiddenError
		switch {
		case err == nil:
			fmt.Fprintln(o.Out, render.Clean(r.String()+" stopped"))
			continue
		case errors.As(err, &gone):
			fmt.Fprintln(o.Out, render.Clean(fmt.Sprintf("%s went with its pod, which %s", r, gone.Why)))
			continue
		case errors.As(err, &forbidden):
			for _, right := range forbidden.Rights() {
				if !slices.Contains(rights, right) {
					rights = append(rights, right)
				}
			}
		}
		failed = true
		end := "; it never ends by itself"
		if !r.probe.Until.IsZero() {
			end = "; it ends by itself at " + render.Clock(o.now(), r.probe.Until)
		}
		fmt.Fprintln(o.ErrOut, render.Clean(fmt.Sprintf("%s not stopped: %v%s", r, err, end)))
	}
	return rights, failed
}
