package render

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// print writes an object as `-o format` would.
func print(t *testing.T, o runtime.Object, format string) []byte {
	t.Helper()
	flags := genericclioptions.NewPrintFlags("")
	flags.OutputFormat = &format
	printer, err := flags.ToPrinter()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printer.PrintObj(o, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestObjectFormats(t *testing.T) {
	s := everyKind()
	s.Pods = append(s.Pods[:1:1], s.Pods[4], s.Pods[7], s.Pods[9])
	s.Notes = []string{"one line\nanother \x1b[31m"}
	for file, format := range map[string]string{
		"list.json":         "json",
		"list.yaml":         "yaml",
		"list-name.txt":     "name",
		"list-jsonpath.txt": `jsonpath={range .items[*]}{.metadata.name} {.window.overflows} {.state.name}{"\n"}{end}`,
		"list-template.txt": `go-template={{range .items}}{{.metadata.name}} {{.runtime.window.busy}} {{.counters.listenOverflows}}{{"\n"}}{{end}}`,
	} {
		t.Run(file, func(t *testing.T) { golden(t, file, print(t, Object(s), format)) })
	}
}

func TestOnePrintsAnObject(t *testing.T) {
	golden(t, "one.json", print(t, One(everyKind().Pods[9]), "json"))
}

// A whole number must not become 9.007199254740993e+15 on the way, and a
// fraction must stay one.
func TestNumbersSurvive(t *testing.T) {
	p := with("a", func(p *model.Pod) {
		p.Counters.PassiveOpens = known(math.MaxInt64)
		p.Runtime.Window.Busy = model.Known(0.97)
	})
	for path, want := range map[string]string{
		"{.counters.passiveOpens}":                "9223372036854775807",
		"{.runtime.window.busy}":                  "0.97",
		"{.listeners[0].sockets[0].depth}":        "0",
		"{.listeners[0].sockets[0].inode}":        "11",
		"{.metadata.creationTimestamp}":           "2026-03-01T11:00:00Z",
		"{.collection.stage}/{.proxy.version}":    "ok/2.366.0",
		"{.unknown}":                              "[]",
		"{.apiVersion} {.kind}":                   "kubectl-backlog.github.io/v1alpha1 PodBacklog",
		"{.listeners[?(@.role=='inbound')].port}": "4143",
	} {
		if got := string(print(t, One(p), "jsonpath="+path)); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

// Unknown is null with a reason beside it, never 0.
func TestUnknownIsNull(t *testing.T) {
	s := everyKind()
	data := print(t, One(s.Pods[4]), "json")
	var got struct {
		Listeners []struct {
			Sockets []struct{ Limit *int64 }
		}
		Unknown []model.Missing
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Listeners[0].Sockets[0].Limit != nil {
		t.Errorf("limit is %d", *got.Listeners[0].Sockets[0].Limit)
	}
	want := model.Missing{Field: "listeners[0].sockets[0].limit", Reason: "sock_diag refused, read from /proc/net/tcp"}
	for _, m := range got.Unknown {
		if m == want {
			return
		}
	}
	t.Errorf("no %+v among %+v", want, got.Unknown)
}

// A figure that JSON cannot hold costs one pod its figures, not all pods theirs.
func TestObjectWithInfinity(t *testing.T) {
	s := everyKind()
	s.Pods[0].Runtime.CPUSeconds = model.Known(math.Inf(1))
	list := Object(s)
	if len(list.Items) != len(s.Pods) {
		t.Fatalf("%d items of %d pods", len(list.Items), len(s.Pods))
	}
	if got := string(print(t, &list.Items[0], "jsonpath={.metadata.name}: {.unknown[0].reason}")); !strings.HasPrefix(got, "a-saturated: encoding the pod: ") {
		t.Errorf("got %q", got)
	}
	print(t, list, "json")
}

func TestDataIsHarmless(t *testing.T) {
	s := everyKind()
	s.Notes = []string{evil}
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Notes, p.Collection.Message, p.Collection.Metrics = []string{evil}, evil, evil
		p.Proxy.Version = model.Known(evil)
		p.Knobs = append(p.Knobs, model.Knob{Name: evil, Why: evil, Asked: model.Unknown[int64](evil)})
	}
	for _, format := range []string{"json", "yaml", "name", "jsonpath={.items}", "go-template={{.}}"} {
		harmless(t, string(print(t, Object(s), format)))
	}
}

func TestJSONLine(t *testing.T) {
	var out bytes.Buffer
	s := everyKind()
	for range 2 {
		if err := JSONLine(&out, Object(s)); err != nil {
			t.Fatal(err)
		}
		if err := JSONLine(&out, One(s.Pods[0])); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %.80s", line)
		}
	}
}
