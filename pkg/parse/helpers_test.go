package parse

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with the file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("reading what is expected (go test -update writes it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// recorded gives the text of one recorded file, for every file of a folder of
// testdata.
func recorded(t *testing.T, pattern string, test func(t *testing.T, file, text string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded file %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			test(t, file, readFile(t, file))
		})
	}
}

func readFile(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// show writes a value as the golden files have it: the figure, or why there is none.
func show[T any](v model.Value[T]) string {
	if x, ok := v.Get(); ok {
		return fmt.Sprint(x)
	}
	return "?(" + v.Reason() + ")"
}

func showSockets(sockets []model.Socket, errs []error) string {
	var b strings.Builder
	for _, s := range sockets {
		fmt.Fprintf(&b, "%q", s.Address)
		if s.Interface != "" {
			fmt.Fprintf(&b, " interface %q", s.Interface)
		}
		fmt.Fprintf(&b, " port %d\n\tdepth %s\n\tlimit %s\n\tdrops %s\n\tinode %s\n",
			s.Port, show(s.Depth), show(s.Limit), show(s.Drops), show(s.Inode))
		for _, o := range s.Owners {
			fmt.Fprintf(&b, "\towner %q pid %d fd %d\n", o.Name, o.PID, o.FD)
		}
	}
	return b.String() + showErrors(errs)
}

func showErrors(errs []error) string {
	var b strings.Builder
	for _, err := range errs {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

// wantErrors compares messages of errors, each a *LineError.
func wantErrors(t *testing.T, got []error, want ...string) {
	t.Helper()
	var messages []string
	for _, err := range got {
		var line *LineError
		if !errors.As(err, &line) {
			t.Errorf("not a *LineError: %v", err)
		}
		messages = append(messages, err.Error())
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
