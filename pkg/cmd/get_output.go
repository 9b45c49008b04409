package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// getOutput writes snapshots in the form that was asked for.
type getOutput struct {
	out     io.Writer
	printer printers.ResourcePrinter // nil for tables
	table   render.TableOptions
	now     func() time.Time
	// single: one pod was named; as with kubectl its object is not put in a list.
	single bool
	// jsonLines: watching with -o json prints one object a line.
	jsonLines bool
	// dropFinished leaves pods out that had finished before: nobody named them.
	dropFinished bool
	// told takes each snapshot while watching, to say what has come up; may be nil.
	told func(model.Snapshot)
}

// preview shows the absolute figures while the window still runs, where they
// can be overwritten afterwards: on a terminal with room for them. It gives the
// number of lines to take back.
func (g *getOutput) preview(s model.Snapshot) int {
	width, height, ok := terminalSize(g.out)
	if !ok || g.printer != nil {
		return 0
	}
	var b bytes.Buffer
	if err := g.writeTable(&b, s); err != nil {
		return 0
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if len(lines) >= height {
		return 0
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > width {
			return 0 // it would wrap, and the number of lines would be a guess
		}
	}
	if _, err := g.out.Write(b.Bytes()); err != nil {
		return 0
	}
	return len(lines)
}

// replace takes the preview back.
func (g *getOutput) replace(lines int) {
	if lines > 0 {
		fmt.Fprintf(g.out, "\x1b[%dA\x1b[J", lines)
	}
}

// print writes a snapshot whole.
func (g *getOutput) print(s model.Snapshot) error {
	s = g.kept(s)
	if g.printer == nil {
		return g.writeTable(g.out, s)
	}
	if err := g.printer.PrintObj(g.object(s), g.out); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

func (g *getOutput) object(s model.Snapshot) runtime.Object {
	if g.single && len(s.Pods) == 1 {
		return render.One(s.Pods[0])
	}
	return render.Object(s)
}

func (g *getOutput) writeTable(w io.Writer, s model.Snapshot) error {
	if err := render.PrintTable(w, g.kept(s), g.table); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

func (g *getOutput) kept(s model.Snapshot) model.Snapshot {
	if !g.dropFinished {
		return s
	}
	pods := make([]model.Pod, 0, len(s.Pods))
	for _, p := range s.Pods {
		if p.Collection.Stage != model.StageGone || p.Sample.Seq > 0 {
			pods = append(pods, p)
		}
	}
	s.Pods = pods
	return s
}

// follow prints the rows that change, as kubectl get -w does: rows of a table,
// or one JSON object a line.
func (g *getOutput) follow(ctx context.Context, src source.Source, last model.Snapshot, every time.Duration) error {
	printed, err := g.rows(last)
	if err != nil {
		return err
	}
	next := g.now().Add(every)
	for {
		s, err := src.Next(ctx)
		if err != nil {
			return err
		}
		if g.now().Before(next) {
			continue
		}
		next = g.now().Add(every)
		if g.told != nil {
			g.told(s)
		}
		rows, err := g.rows(s)
		if err != nil {
			return err
		}
		var changed model.Snapshot
		for i, p := range g.kept(s).Pods {
			if rows[p.Key()] != printed[p.Key()] {
				changed.Pods = append(changed.Pods, g.kept(s).Pods[i])
			}
		}
		printed = rows
		if len(changed.Pods) == 0 {
			continue
		}
		if err := g.printChanged(changed, rows); err != nil {
			return err
		}
	}
}

// printRows writes every pod alone.
func (g *getOutput) printRows(s model.Snapshot) error {
	rows, err := g.rows(s)
	if err != nil {
		return err
	}
	return g.printChanged(g.kept(s), rows)
}

func (g *getOutput) printChanged(s model.Snapshot, rows map[string]string) error {
	for _, p := range s.Pods {
		if _, err := io.WriteString(g.out, rows[p.Key()]); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}

// rows renders each pod alone, by key.
func (g *getOutput) rows(s model.Snapshot) (map[string]string, error) {
	rows := map[string]string{}
	opt := g.table
	opt.NoHeaders = true
	for _, p := range g.kept(s).Pods {
		var b bytes.Buffer
		if err := g.row(&b, p, opt); err != nil {
			return nil, err
		}
		rows[p.Key()] = b.String()
	}
	return rows, nil
}

func (g *getOutput) row(w io.Writer, p model.Pod, opt render.TableOptions) error {
	if g.printer == nil {
		return render.PrintTable(w, model.Snapshot{Pods: []model.Pod{p}}, opt)
	}
	if g.jsonLines {
		return render.JSONLine(w, render.One(p))
	}
	return g.printer.PrintObj(render.One(p), w)
}

// terminalSize gives the size of the terminal that w writes to.
func terminalSize(w io.Writer) (width, height int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil
}
