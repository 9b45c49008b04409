package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// errStands ends a command that did its work and found what --fail-on names:
// exit code 2, and nothing more is printed.
var errStands = errors.New("a verdict of the severity that --fail-on names stands")

// failOn is the least severity that makes the exit code 2; empty for none.
type failOn string

func (f *failOn) addFlag(c *cobra.Command) {
	c.Flags().StringVar((*string)(f), "fail-on", "", "Exit with code 2 when something of this severity was found: warning or critical")
}

func (f failOn) validate() error {
	switch f {
	case "", failOn(model.SeverityWarning), failOn(model.SeverityCritical):
		return nil
	}
	return usageError{fmt.Errorf("--fail-on must be warning or critical, not %q", string(f))}
}

// reached says whether a severity is one to fail on.
func (f failOn) reached(s model.Severity) bool {
	return f != "" && s.AtLeast(model.Severity(f))
}

// judge looks through the verdicts that stand in a snapshot. One that is over
// stands no more.
func (f failOn) judge(s model.Snapshot) error {
	for _, p := range s.Pods {
		for _, v := range p.Verdicts {
			if !v.Over && f.reached(v.Severity) {
				return errStands
			}
		}
	}
	return nil
}
