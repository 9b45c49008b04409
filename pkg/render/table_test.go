package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestPrintTable(t *testing.T) {
	for name, opt := range map[string]TableOptions{
		"table.txt":           {},
		"table-all-ns.txt":    {Namespaces: true},
		"table-wide.txt":      {Wide: true},
		"table-noheaders.txt": {NoHeaders: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := PrintTable(&out, everyKind(), opt); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
		})
	}
}

// Columns must line up although ≠, × and … take more bytes than columns.
func TestPrintTableAligns(t *testing.T) {
	for _, wide := range []bool{false, true} {
		var out bytes.Buffer
		if err := PrintTable(&out, everyKind(), TableOptions{Wide: wide}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		at := []rune(lines[0])
		state := strings.Index(lines[0], "STATE")
		for _, line := range lines[1:] {
			if r := []rune(line); len(at) < state || r[state-1] != ' ' || r[state] == ' ' {
				t.Errorf("STATE does not begin in column %d of %q", state, line)
			}
		}
	}
}

func TestPrintTableWithoutPods(t *testing.T) {
	var out bytes.Buffer
	if err := PrintTable(&out, model.Snapshot{}, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("printed %q for no pods", out.String())
	}
}

// A wide table names the pod on every line, so that grep finds all of it.
func TestWideRepeatsThePod(t *testing.T) {
	table := Table(model.Snapshot{Time: noon, Pods: []model.Pod{pod("c-idle")}}, TableOptions{Wide: true})
	if got, want := len(table.Rows), 4; got != want {
		t.Fatalf("%d rows, want %d", got, want)
	}
	for _, row := range table.Rows {
		if row.Cells[0] != "c-idle" {
			t.Errorf("row of %v", row.Cells[0])
		}
	}
}

func TestTablePrintsNothingThatATerminalObeys(t *testing.T) {
	s := everyKind()
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Meta.Name, p.Node = evil, evil
		p.Proxy = model.Proxy{Adapter: evil, Version: model.Known(evil)}
		p.Collection.Via = model.Rung(evil)
		for j := range p.Knobs {
			p.Knobs[j].Name = evil
		}
		for j := range p.Listeners {
			p.Listeners[j].Address, p.Listeners[j].Interface, p.Listeners[j].Role = evil, evil, model.Role(evil)
		}
	}
	var out bytes.Buffer
	if err := PrintTable(&out, s, TableOptions{Wide: true, Namespaces: true}); err != nil {
		t.Fatal(err)
	}
	harmless(t, out.String())
}

// harmless fails when text holds anything but printable characters and \n.
func harmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && Clean(string(r)) != string(r) {
			t.Fatalf("%U reaches the output:\n%q", r, text)
		}
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "1s": 1900 * time.Millisecond, "95s": 95 * time.Second, "2m": 2 * time.Minute,
		"119m": 119 * time.Minute, "2h": 2 * time.Hour, "99999h": 1e6 * time.Hour,
	} {
		if got := Age(noon, noon.Add(-d)); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
	if got := Age(noon, time.Time{}); got != Unknown {
		t.Errorf("Age of nothing = %q", got)
	}
}

func BenchmarkPrintTable(b *testing.B) {
	s := many(1000)
	for b.Loop() {
		if err := PrintTable(new(bytes.Buffer), s, TableOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A pod in which nothing listens is told from one whose sockets could not be
// read: the one has no queue, of the other it is unknown.
func TestNothingListens(t *testing.T) {
	for want, sockets := range map[string]model.Value[int64]{
		NotApplicable: known(0), Unknown: model.Unknown[int64]("ss failed"),
	} {
		p := pod("a")
		p.Listeners, p.Sockets = nil, sockets
		row := Table(model.Snapshot{Pods: []model.Pod{p}}, TableOptions{}).Rows[0]
		for i, name := range []string{"pod", "listener", "queue"} {
			if got := row.Cells[i]; i > 0 && got != want {
				t.Errorf("%s of %+v: %v, want %s", name, sockets, got, want)
			}
		}
	}
}
