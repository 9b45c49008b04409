package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
)

const probesLong = `List the probes of pods: who added them, when and why, and until when they run.

A probe that has ended stays in its pod's list of containers until the pod goes;
nobody can take it out.`

const probesExample = `  # The probes of a namespace, and of all namespaces with what the kubelet says of them
  kubectl backlog probes -n shop
  kubectl backlog probes -A -o wide

  # Of the pods of a deployment
  kubectl backlog probes deploy/server

  # Who looks at what, for an auditor
  kubectl backlog probes -A -o jsonpath='{range .items[*]}{.pod.namespace}/{.pod.name} {.by} {.reason}{"\n"}{end}'`

// probesOptions are those of `probes`, and what `probes stop` has in common
// with it.
type probesOptions struct {
	selection
	genericiooptions.IOStreams
	format format
	// dial is a hook for tests.
	dial func() (*rest.Config, kubernetes.Interface, error)
}

func newProbesOptions(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *probesOptions {
	o := &probesOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat("wide", "name")}
	o.dial = func() (*rest.Config, kubernetes.Interface, error) {
		if err := o.configured(); err != nil {
			return nil, nil, err
		}
		return o.connect()
	}
	return o
}

func newProbes(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := newProbesOptions(flags, streams)
	c := &cobra.Command{
		Use:     "probes [POD | TYPE/NAME]...",
		Short:   "List the probes of pods: by whom, since when, until when and why",
		Long:    probesLong,
		Example: probesExample,
		RunE:    inSteps(o),
	}
	o.addSelectionFlags(c)
	o.format.addFlags(c, "wide, name (of the pods)")
	c.AddCommand(newProbesStop(flags, streams))
	return c
}

// addSelectionFlags are those that say which pods.
func (o *probesOptions) addSelectionFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "The probes of all namespaces")
	c.Flags().StringVarP(&o.labels, "selector", "l", "", "Label selector for pods, as in kubectl get")
}

func (o *probesOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	return o.format.validate()
}

func (o *probesOptions) run(ctx context.Context) error {
	_, client, err := o.dial()
	if err != nil {
		return err
	}
	pods, problems, err := o.find(ctx, client)
	if err != nil {
		return err
	}
	var probes []model.ProbeInfo
	for _, pod := range pods {
		probes = append(probes, collect.Probes(pod)...)
	}
	render.SortProbes(probes)
	if err := o.print(probes); err != nil {
		return err
	}
	return o.tell(problems)
}

// tell says on stderr what was asked for and is not there.
func (o *probesOptions) tell(problems []error) error {
	for _, p := range problems {
		fmt.Fprintln(o.ErrOut, render.Clean(p.Error()))
	}
	if len(problems) > 0 {
		return errReported
	}
	return nil
}

func (o *probesOptions) print(probes []model.ProbeInfo) error {
	switch {
	case o.format.printer != nil:
		list, err := render.ProbeObject(probes)
		if err != nil {
			return err
		}
		if err := o.format.printer.PrintObj(list, o.Out); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		return nil
	case len(probes) == 0:
		o.none("probes")
		return nil
	case o.format.name() == "name":
		return render.PrintPodNames(o.Out, probes)
	}
	elsewhere := slices.ContainsFunc(probes, func(p model.ProbeInfo) bool { return p.Pod.Namespace != o.namespace })
	return render.PrintProbes(o.Out, probes, o.now(), render.TableOptions{
		Namespaces: o.allNamespaces || elsewhere, Wide: o.format.name() == "wide", NoHeaders: o.format.noHeaders,
	})
}

// none says that there is nothing, as kubectl does: on stderr, and it is no
// error.
func (o *probesOptions) none(what string) {
	if o.allNamespaces {
		fmt.Fprintf(o.ErrOut, "No %s found\n", what)
		return
	}
	fmt.Fprintf(o.ErrOut, "No %s found in %s namespace.\n", what, render.Clean(o.namespace))
}

// find gets the pods that were asked for, and what was asked for and is not
// there.
func (o *probesOptions) find(ctx context.Context, client kubernetes.Interface) ([]*corev1.Pod, []error, error) {
	if len(o.args) > 0 {
		return o.named(ctx, client)
	}
	namespace := o.namespace
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	pods, err := collect.ProbedPods(ctx, client, namespace, o.labels)
	return pods, nil, target.Explain(err)
}

func (o *probesOptions) named(ctx context.Context, client kubernetes.Interface) ([]*corev1.Pod, []error, error) {
	chosen, err := target.Resolve(ctx, o.flags, target.Query{Args: o.args, Namespace: o.namespace, AllNamespaces: o.allNamespaces})
	if err != nil {
		return nil, nil, err
	}
	watch, err := chosen.Start(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	defer watch.Stop()
	return watch.Pods(), watch.Problems(), nil
}
