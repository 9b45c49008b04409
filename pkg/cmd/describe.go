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

const describeExample = `  # What is wrong with a pod, on what evidence, and what to do about it
  kubectl backlog describe server-6bf978ccb4-m2m2q

  # Six lines for the incident channel first, then the rest
  kubectl backlog describe -n shop deploy/server -o markdown

  # Look for a minute: bursts may come seldom
  kubectl backlog describe -n shop deploy/server --window 1m

  # A moment of a recording
  kubectl backlog describe server-0 --replay incident.jsonl.gz --at 12:03:10

  # In a script: exit code 2 while something is wrong
  kubectl backlog describe -n shop deploy/server --fail-on=warning`

// describeWindow is how long a page looks by default: samples come once a
// second, and a verdict needs several.
const describeWindow = 10 * time.Second

// describeOptions are those of `describe`.
type describeOptions struct{ getOptions }

func newDescribe(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) *cobra.Command {
	o := &describeOptions{getOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat("markdown")}}
	o.window = describeWindow
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "describe [POD | TYPE/NAME | IP[:PORT]]...",
		Short:   "Say what is wrong with pods' queues, on what evidence, and what to do about it",
		Example: describeExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	o.format.addFlags(c, "markdown (for an incident channel)")
	o.failOn.addFlag(c)
	o.replay.addFlag(c)
	o.replay.addMoment(c)
	c.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "How long to wait for a probe's first figures")
	return c
}

func (o *describeOptions) run(ctx context.Context) error {
	if o.replay.given() {
		s, err := o.last(ctx, o.ErrOut, nil)
		if err != nil {
			return err
		}
		if err := o.print(s); err != nil {
			return err
		}
		return o.failOn.judge(s)
	}
	// Verdicts are taken from all frames, so none may be missed.
	window := o.window
	o.interval = 500 * time.Millisecond
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	s, err := o.lookFor(ctx, o.judge(src), window, nil)
	if err != nil {
		return err
	}
	if err := o.print(s); err != nil {
		return err
	}
	if err := o.tellFailures(s); err != nil {
		return err
	}
	return o.failOn.judge(s)
}

func (o *describeOptions) print(s model.Snapshot) error {
	if o.format.printer != nil {
		out := getOutput{out: o.Out, printer: o.format.printer, now: o.now, single: len(o.args) == 1, dropFinished: len(o.args) == 0}
		return out.print(s)
	}
	pods := foldedPods(s)
	for i, p := range pods {
		if i > 0 {
			rule := "\n--------------------------------------------------------------------------------\n\n"
			if o.format.name() == "markdown" {
				rule = "\n---\n\n"
			}
			if _, err := fmt.Fprint(o.Out, rule); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		err := render.PrintPage(o.Out, p.Pod, render.PageOptions{
			Now: o.now(), Context: o.pageContext(), Markdown: o.format.name() == "markdown", Alike: p.alike,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *describeOptions) pageContext() string {
	if o.local {
		return ""
	}
	return o.context
}

// folded is a pod that stands for others of its workload with the same verdict.
type folded struct {
	model.Pod
	alike []string
}

// foldedPods gives the pods that a page is written for: of a workload's pods with
// equal verdicts the first, which names the others. Ones that only tell about
// themselves, unread ones, are never folded.
func foldedPods(s model.Snapshot) []folded {
	var out []folded
	at := map[string]int{}
	for _, p := range s.Pods {
		if p.Collection.Stage == model.StageGone && p.Sample.Seq == 0 {
			continue
		}
		if p.Workload.Name == "" || len(p.Verdicts) == 0 || p.Collection.Stage != model.StageOK {
			out = append(out, folded{Pod: p})
			continue
		}
		key := p.Meta.Namespace + "/" + p.Workload.Kind + "/" + p.Workload.Name + render.Verdict(p) + p.Verdicts[0].Listener
		if i, ok := at[key]; ok {
			out[i].alike = append(out[i].alike, p.Meta.Name)
			continue
		}
		at[key] = len(out)
		out = append(out, folded{Pod: p})
	}
	return out
}
