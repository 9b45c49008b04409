package tui

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// RepeatOptions say how Repeat prints.
type RepeatOptions struct {
	// Count is the number of tables; 0 goes on until ctx ends.
	Count int
	// Namespaces, Wide and NoHeaders are as in render.TableOptions. Without
	// headers the line with the time is left out too.
	Namespaces, Wide, NoHeaders bool
	// Notes takes what went wrong, each thing once; nil leaves it out.
	Notes io.Writer
}

// maxTold bounds what Repeat remembers of the notes it has printed.
const maxTold = 1000

// Repeat prints a table for each snapshot that the Source gives, at the
// Source's pace: what `top` does when its output is not a terminal. It ends
// without an error after Count tables or when the Source has no more (io.EOF).
func Repeat(ctx context.Context, src Source, w io.Writer, opt RepeatOptions) error {
	told := map[string]bool{}
	for n := 0; opt.Count <= 0 || n < opt.Count; n++ {
		s, err := src.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if opt.Notes != nil {
			for _, note := range render.Notes(s) {
				if told[note] {
					continue
				}
				if len(told) >= maxTold {
					clear(told)
				}
				told[note] = true
				if _, err := fmt.Fprintln(opt.Notes, note); err != nil {
					return fmt.Errorf("writing a note: %w", err)
				}
			}
		}
		if !opt.NoHeaders {
			blank := ""
			if n > 0 {
				blank = "\n"
			}
			if _, err := fmt.Fprintf(w, "%s%s  %s\n", blank, s.Time.UTC().Format("15:04:05Z"), summary(s)); err != nil {
				return fmt.Errorf("writing the table's first line: %w", err)
			}
		}
		table := render.TableOptions{Namespaces: opt.Namespaces, Wide: opt.Wide, NoHeaders: opt.NoHeaders}
		if err := render.PrintTable(w, s, table); err != nil {
			return err
		}
	}
	return nil
}
