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

	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
)

const auditLong = `Say who is exposed, from specs, nodes and versions alone: one worker on a node
with 4 CPUs and more, a backlog that nobody chose, settings that are ignored or
that keep a proxy from starting, changes that wait for a restart, pods that ask
for a sidecar and have none.

Nothing is measured and nothing is added to any pod: no probe, no port-forward, no
exec. It reads lists of pods, nodes, namespaces and workloads, and says what it may
not read. Pods of a workload that are alike are one row.`

const auditExample = `  # The workloads of a namespace, and of all namespaces with the findings in full
  kubectl backlog audit -n shop
  kubectl backlog audit -A -o wide

  # One workload
  kubectl backlog audit -n shop deploy/server

  # In a pipeline: exit code 2 when a setting is ignored, or a proxy has one worker
  # on a big node
  kubectl backlog audit -A --fail-on=warning

  # What each workload was found with
  kubectl backlog audit -A -o jsonpath='{range .items[*]}{.severity} {.metadata.namespace}/{.metadata.name}: {.findings[*].kind}{"\n"}{end}'`

// auditOptions are those of `audit`.
type auditOptions struct {
	selection
	genericiooptions.IOStreams
	format format
	failOn failOn
	// dial is a hook for tests.
	dial func() (kubernetes.Interface, error)
}

func newAuditOptions(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *auditOptions {
	o := &auditOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat("wide", "name")}
	o.dial = func() (kubernetes.Interface, error) {
		if err := o.configured(); err != nil {
			return nil, err
		}
		_, client, err := o.connect()
		return client, err
	}
	return o
}

func newAudit(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := newAuditOptions(flags, streams)
	c := &cobra.Command{
		Use:     "audit [POD | TYPE/NAME]...",
		Short:   "Say who is exposed, from specs, nodes and versions alone: nothing is measured",
		Long:    auditLong,
		Example: auditExample,
		RunE:    inSteps(o),
	}
	f := c.Flags()
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "The pods of all namespaces")
	f.StringVarP(&o.labels, "selector", "l", "", "Label selector for pods, as in kubectl get")
	o.format.addFlags(c, "wide (with the findings in full), name")
	o.failOn.addFlag(c)
	return c
}

func (o *auditOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	if err := o.failOn.validate(); err != nil {
		return err
	}
	return o.format.validate()
}

func (o *auditOptions) run(ctx context.Context) error {
	client, err := o.dial()
	if err != nil {
		return err
	}
	var found plan.Exposures
	a, err := newAuditor(ctx, client)
	if err != nil {
		return target.Explain(err)
	}
	problems, err := o.eachPod(ctx, client, a, func(pod *corev1.Pod) { found.Add(a.spec(ctx, pod)) })
	if err != nil {
		return target.Explain(err)
	}
	all := found.List()
	if err := o.print(all, found); err != nil {
		return err
	}
	for _, note := range a.notes {
		fmt.Fprintln(o.ErrOut, render.Clean(note))
	}
	for _, p := range problems {
		fmt.Fprintln(o.ErrOut, render.Clean(p.Error()))
	}
	if len(problems) > 0 {
		return errReported
	}
	for _, e := range all {
		if len(e.Findings) > 0 && o.failOn.reached(e.Severity()) {
			return errStands
		}
	}
	return nil
}

// eachPod hands over the pods that were asked for; none is kept. What is there to
// compare them with is read before.
func (o *auditOptions) eachPod(ctx context.Context, client kubernetes.Interface, a *auditor, take func(*corev1.Pod)) ([]error, error) {
	if len(o.args) > 0 {
		return o.named(ctx, client, a, take)
	}
	namespace := o.namespace
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	if err := a.read(ctx, namespace); err != nil {
		return nil, err
	}
	return nil, eachItem(ctx, metav1.ListOptions{LabelSelector: o.labels}, lister(client.CoreV1().Pods(namespace).List), func(pod *corev1.Pod) {
		if goesOn(pod) {
			take(pod)
		}
	})
}

func (o *auditOptions) named(ctx context.Context, client kubernetes.Interface, a *auditor, take func(*corev1.Pod)) ([]error, error) {
	chosen, err := target.Resolve(ctx, o.flags, target.Query{Args: o.args, Namespace: o.namespace})
	if err != nil {
		return nil, err
	}
	watch, err := chosen.Start(ctx, client)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	for _, ns := range chosen.Namespaces() {
		if err := a.read(ctx, ns); err != nil {
			return nil, err
		}
	}
	for _, pod := range watch.Pods() {
		if goesOn(pod) {
			take(pod)
		}
	}
	return watch.Problems(), nil
}

// goesOn leaves out pods that have ended or are about to.
func goesOn(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && pod.DeletionTimestamp == nil
}

func (o *auditOptions) print(all []plan.Exposure, found plan.Exposures) error {
	switch {
	case o.format.printer != nil:
		list, err := render.ExposureObject(all)
		if err != nil {
			return err
		}
		if err := o.format.printer.PrintObj(list, o.Out); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		return nil
	case found.Pods == 0:
		if o.allNamespaces {
			fmt.Fprintln(o.ErrOut, "No running pods found")
			return nil
		}
		fmt.Fprintf(o.ErrOut, "No running pods found in %s namespace.\n", render.Clean(o.namespace))
		return nil
	case len(all) == 0:
		fmt.Fprintf(o.ErrOut, "Nothing found in %s, %d of them with a proxy that is known.\n", render.Plural(found.Pods, "pod"), found.Proxies)
		return nil
	case o.format.name() == "name":
		return render.PrintExposedNames(o.Out, all)
	}
	elsewhere := slices.ContainsFunc(all, func(e plan.Exposure) bool { return e.Namespace != o.namespace })
	return render.PrintExposures(o.Out, all, render.TableOptions{
		Namespaces: o.allNamespaces || elsewhere, Wide: o.format.name() == "wide", NoHeaders: o.format.noHeaders,
	})
}
