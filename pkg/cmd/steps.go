package cmd

import (
	"context"

	"github.com/spf13/cobra"
)

// steps are what every command does with its options: complete what the flags
// leave open, validate it, and run.
type steps interface {
	complete(args []string) error
	validate() error
	run(ctx context.Context) error
}

// inSteps makes a command of them.
func inSteps(o steps) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := o.complete(args); err != nil {
			return err
		}
		if err := o.validate(); err != nil {
			return err
		}
		return o.run(c.Context())
	}
}
