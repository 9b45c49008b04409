package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

// The exit codes of the program.
const (
	exitDone        = 0
	exitError       = 1
	exitStands      = 2   // what --fail-on names was found
	exitInterrupted = 130 // 128 + SIGINT, as shells and kubectl have it
)

// usageError is a mistake on the command line: it comes with a hint at --help.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errReported ends a command whose failures were already told as notes: the
// rows were shown, the code is 1, nothing more is printed.
var errReported = errors.New("some pods could not be read")

// errStopped ends a command that is ended by ctrl-c as a matter of course, once all is
// written.
var errStopped = errors.New("ended by ctrl-c")

// exitCode says what went wrong, once, and gives the program's exit code.
func exitCode(ctx context.Context, err error, errOut io.Writer) int {
	var usage usageError
	switch {
	case errors.Is(err, errStopped):
		return exitDone
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, tui.ErrInterrupted):
		return exitInterrupted
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitError
	case errors.Is(err, errStands):
		return exitStands
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "error: %s\nSee 'kubectl backlog --help' for usage.\n", render.Clean(err.Error()))
	default:
		fmt.Fprintf(errOut, "error: %s\n", render.Clean(err.Error()))
		if right, ok := missingRight(err); ok {
			// Its own error would say less than the one that was just told.
			_ = tellRoles(errOut, []model.Right{right})
		}
	}
	return exitError
}
