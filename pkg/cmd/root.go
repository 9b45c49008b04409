// Package cmd is the command line: one file a command, each with Options that
// are completed, validated and run. Strings from flags become typed options
// here and go no further. It wires the rooms together and turns errors into
// exit codes, in one place.
package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

const long = `Show where connections queue inside pods: the accept queue of every listener,
what the kernel dropped before the proxy saw it, whether the proxy's workers
keep up, and whether that is what somebody configured.

Queue figures come from an ephemeral container ("probe") that needs no
privilege, ends by itself, and is shared by all who look at the same pod.`

// Main runs the program and gives its exit code.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams, version string) int {
	root := NewRoot(streams, version)
	root.SetArgs(args)
	return exitCode(ctx, root.ExecuteContext(ctx), streams.ErrOut)
}

// NewRoot builds the command tree.
func NewRoot(streams genericiooptions.IOStreams, version string) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(noticeDeadConnections)
	root := &cobra.Command{
		Use:           "kubectl-backlog",
		Short:         "Show where connections queue inside pods",
		Long:          long,
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl backlog"},
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		newGet(flags, streams),
		newTop(flags, streams, version),
		newDescribe(flags, streams),
		newPlan(flags, streams),
		newAudit(flags, streams),
		newRecord(flags, streams, version),
		newReport(streams, newSelection(flags), version),
		newCompare(streams, newSelection(flags)),
		newProbes(flags, streams),
		newVersion(streams, version),
	)
	return root
}
