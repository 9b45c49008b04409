package test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms is the import table: data flows one way, from the bytes to the screen,
// and no room knows the ones behind it. A package belongs to the room with the
// longest matching path. ARCHITECTURE.md shows the same table with words.
//
// To add a package, add its row here and there. To let a room import another
// one, add that to its row, and ask first whether the value could not be handed
// in instead.
var rooms = []room{
	{path: "cmd/kubectl-backlog", ours: []string{"pkg/cmd"}},
	{path: "pkg/cmd", ours: []string{everyRoom}},
	{path: "pkg/target", ours: []string{"pkg/model"}},
	{path: "pkg/collect", ours: []string{"pkg/model", "pkg/parse"}},
	{path: "pkg/parse", ours: []string{"pkg/model"}, pure: true},
	{path: "pkg/model", pure: true, stdOnly: true},
	{path: "pkg/source", ours: []string{"pkg/target", "pkg/collect", "pkg/parse", "pkg/model", "plugins", "pkg/record"}},
	{path: "pkg/diagnose", ours: []string{"pkg/model"}, pure: true, stdOnly: true},
	{path: "pkg/remedy", ours: []string{"pkg/model"}, pure: true, stdOnly: true},
	{path: "pkg/plan", ours: []string{"pkg/model"}, pure: true, stdOnly: true},
	{path: "pkg/timeline", ours: []string{"pkg/model"}, pure: true, stdOnly: true},
	{path: "pkg/render", ours: []string{"pkg/model", "pkg/plan", "pkg/timeline"}, pure: true},
	// Not in the list of the pure: it falls back to the process's own terminal and
	// clock when it is given none.
	{path: "pkg/tui", ours: []string{"pkg/model", "pkg/render", "pkg/diagnose", "pkg/plan", "pkg/timeline"}},
	{path: "pkg/record", ours: []string{"pkg/model"}},
	{path: "pkg/export", ours: []string{"pkg/model", "pkg/diagnose"}, later: true},
	{path: "pkg/agent", ours: []string{"pkg/model", "pkg/parse", "plugins", "pkg/diagnose", "pkg/export"}, later: true},
	{path: "pkg/lab", ours: []string{"pkg/model", "pkg/source", "pkg/diagnose", "pkg/plan", "pkg/render", "pkg/collect"}, later: true},
	{path: "plugins", ours: []string{"pkg/model", "pkg/parse", "plugins/*"}, pure: true},
	// An adapter satisfies the root's interface by its methods: if it imported the
	// root, which lists it, there would be a cycle.
	{path: "plugins/*", ours: []string{"pkg/model", "pkg/parse"}, pure: true},
	{path: "test", ours: []string{everyRoom}},
}

// bans say which rooms alone may import a package from outside, and why.
var bans = []ban{
	{
		path: "github.com/charmbracelet", only: []string{"pkg/tui"},
		why: "version 2 has other import paths and another model: in one room that is a change of one package",
	},
	{
		path: "k8s.io/client-go", only: []string{"pkg/target", "pkg/collect", "pkg/source", "pkg/cmd", "pkg/lab", "cmd/kubectl-backlog", "test"},
		why: "what can reach an API server is I/O: adapters, verdicts and pictures must work on a recording too",
	},
	{
		path: "k8s.io/cli-runtime", only: []string{"cmd/kubectl-backlog", "pkg/cmd", "pkg/target", "pkg/render", "test"},
		why: "flags and streams stop at pkg/cmd; pkg/target has its resource builder and pkg/render its printers",
	},
	{
		path: "k8s.io/api", only: []string{"pkg/target", "pkg/collect", "pkg/source", "pkg/cmd", "pkg/lab", "plugins", "plugins/*", "test"},
		why: "a Pod of Kubernetes becomes a model.Pod before it is judged or shown: its own shape changes with every release",
	},
	{
		path: "k8s.io/apimachinery", only: []string{"pkg/target", "pkg/collect", "pkg/source", "pkg/cmd", "pkg/lab", "pkg/render", "plugins", "plugins/*", "test"},
		why: "as k8s.io/api; pkg/render needs it for kubectl's table and object printers",
	},
	{
		path: "github.com/spf13/cobra", only: []string{"pkg/cmd", "test"},
		why: "strings become typed options in pkg/cmd and go no further",
	},
	{
		path: "github.com/prometheus", only: []string{"pkg/parse", "pkg/export"},
		why: "a metrics page becomes values in pkg/parse: expfmt's parser panics as a zero value and gives up at the first unknown type",
	},
	{
		path: "net/http", only: []string{"pkg/collect", "pkg/source", "pkg/export", "pkg/agent", "pkg/cmd", "pkg/lab", "test"},
		why: "requests are made where bytes are collected",
	},
	{
		path: "os/exec", only: []string{"pkg/collect", "pkg/lab", "test"},
		why: "programs are started where bytes are collected",
	},
	{
		path: "os", only: []string{
			"cmd/kubectl-backlog", "pkg/cmd", "pkg/collect", "pkg/tui", "pkg/record", "pkg/export", "pkg/agent", "pkg/lab", "test",
		},
		why: "files, environment and standard streams are handed in",
	},
}

// variables are the package-level variables that are neither errors, embedded
// files, patterns nor assertions that a type satisfies an interface. Each is a
// table that nobody writes to: Go has no constant slices.
var variables = map[string]string{
	"cmd/kubectl-backlog.version": "set by the linker when a release is built",
	"pkg/source.metricNames":      "a table: the metrics that are read",
	"pkg/render.roleWords":        "a table: the words for the roles of listeners",
}

func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "windows"} {
		for _, breach := range importBreaches(rooms, bans, goList(t, goos)) {
			t.Errorf("GOOS=%s: %s", goos, breach)
		}
	}
}

func TestSources(t *testing.T) {
	sources := parseSources(t, goList(t, "linux"), goList(t, "windows"))
	for _, breach := range sourceBreaches(rooms, variables, sources) {
		t.Error(breach)
	}
}

// The table in ARCHITECTURE.md is the one that people read: it must be this one,
// as far as its rooms exist.
func TestArchitectureTable(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, p := range goList(t, "linux") {
		if r := roomOf(rooms, p.ImportPath); r != nil {
			exists[r.path] = true
		}
	}
	documented := documentedRooms(string(page))
	for _, r := range rooms {
		if !exists[r.path] || strings.HasSuffix(r.path, "/*") {
			continue
		}
		var want []string
		for _, ours := range r.ours {
			if ours == everyRoom || exists[ours] && !strings.HasSuffix(ours, "/*") {
				want = append(want, ours)
			}
		}
		slices.Sort(want)
		got, ok := documented[r.path]
		switch {
		case !ok:
			t.Errorf("ARCHITECTURE.md has no row for %s", r.path)
		case !slices.Equal(got, want):
			t.Errorf("ARCHITECTURE.md: %s may import %q, here it is %q", r.path, got, want)
		}
	}
	for path := range documented {
		if !exists[path] {
			t.Errorf("ARCHITECTURE.md has a row for %s, which does not exist", path)
		}
	}
}

// documentedRooms reads the rows `| folder | words | rooms it may import |`.
func documentedRooms(page string) map[string][]string {
	table := map[string][]string{}
	row := regexp.MustCompile(`(?m)^\| ([a-z/-]+) \| [^|]+ \|([^|]*)\|$`)
	_, page, _ = strings.Cut(page, "\n## Rooms\n")
	page, _, _ = strings.Cut(page, "\n## ")
	for _, match := range row.FindAllStringSubmatch(page, -1) {
		if match[1] == "folder" {
			continue
		}
		var ours []string
		for name := range strings.SplitSeq(match[2], ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case name == "all":
				ours = append(ours, everyRoom)
			case name == "plugins", strings.HasPrefix(name, "pkg/"):
				ours = append(ours, name)
			default:
				ours = append(ours, "pkg/"+name)
			}
		}
		slices.Sort(ours)
		table[match[1]] = ours
	}
	return table
}
