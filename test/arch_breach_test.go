package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The table is worth what it refuses. These tests plant breaches in packages
// that exist in memory alone.

// sound is a module in which every room exists and imports all that it may, and
// every ban is on something that a room which may does import.
func sound() []listed {
	var packages []listed
	for _, r := range rooms {
		p := listed{ImportPath: packageIn(r)}
		for _, name := range r.ours {
			for i := range rooms {
				if to := &rooms[i]; to.path == name || name == everyRoom && mayImport(&r, to) && to.path != r.path {
					p.Imports = append(p.Imports, packageIn(*to))
				}
			}
		}
		for _, b := range bans {
			if slices.Contains(b.only, r.path) {
				p.Imports = append(p.Imports, b.path)
			}
		}
		packages = append(packages, p)
	}
	return packages
}

// packageIn is a package of a room; of the room plugins/* it is one of several.
func packageIn(r room) string {
	return module + "/" + strings.Replace(r.path, "*", "some", 1)
}

// plant adds an import to the package of a room.
func plant(packages []listed, r room, path string) []listed {
	packages = slices.Clone(packages)
	for i := range packages {
		if packages[i].ImportPath == packageIn(r) {
			packages[i].Imports = append(slices.Clone(packages[i].Imports), path)
		}
	}
	return packages
}

func TestSoundModulePasses(t *testing.T) {
	if breaches := importBreaches(rooms, bans, sound()); len(breaches) > 0 {
		t.Errorf("breaches where there are none:\n%s", strings.Join(breaches, "\n"))
	}
}

// Each row must refuse every room that it does not name.
func TestEachRowRefuses(t *testing.T) {
	for _, r := range rooms {
		t.Run(r.path, func(t *testing.T) {
			refused := 0
			for i := range rooms {
				to := &rooms[i]
				if to.path == r.path || slices.Contains(r.ours, to.path) {
					continue
				}
				if slices.Contains(r.ours, everyRoom) && to.path != "test" && to.path != "cmd/kubectl-backlog" {
					continue
				}
				refused++
				expectOne(t, importBreaches(rooms, bans, plant(sound(), r, packageIn(*to))), short(packageIn(r)), short(packageIn(*to)))
			}
			if refused == 0 {
				t.Error("this row refuses nothing")
			}
		})
	}
}

// Each ban must refuse, with its reason, every room that it does not except.
func TestEachBanRefuses(t *testing.T) {
	for _, b := range bans {
		t.Run(b.path, func(t *testing.T) {
			refused := 0
			for _, r := range rooms {
				if slices.Contains(b.only, r.path) {
					continue
				}
				refused++
				why := b.why
				if r.stdOnly && isThirdParty(b.path) {
					why = "standard library alone"
				}
				for _, path := range []string{b.path, b.path + "/deeper"} {
					if banOf(bans, path).path == b.path {
						expectOne(t, importBreaches(rooms, bans, plant(sound(), r, path)), short(packageIn(r)), path, why)
					}
				}
			}
			if refused == 0 {
				t.Error("this ban refuses nothing")
			}
			if like := banOf(bans, b.path+"-else"); like != nil && like.path == b.path {
				t.Errorf("%s-else only begins like it and is not meant", b.path)
			}
		})
	}
}

func TestStdOnlyRoomsRefuse(t *testing.T) {
	for _, r := range rooms {
		if r.stdOnly {
			expectOne(t, importBreaches(rooms, bans, plant(sound(), r, "example.com/anything")), r.path, "standard library alone")
			if b := importBreaches(rooms, bans, plant(sound(), r, "encoding/json")); len(b) > 0 {
				t.Errorf("the standard library is allowed: %q", b)
			}
		}
	}
}

func TestPackageWithoutRoom(t *testing.T) {
	for _, path := range []string{"pkg/util", "pkg/cmdutil", "common", "cmd/other"} {
		packages := append(sound(), listed{ImportPath: module + "/" + path})
		expectOne(t, importBreaches(rooms, bans, packages), path, "in no room")
	}
	packages := append(sound(), listed{ImportPath: module + "/pkg/collect/tunnel"})
	if b := importBreaches(rooms, bans, packages); len(b) > 0 {
		t.Errorf("a package below a room belongs to it: %q", b)
	}
}

// What speaks of something that is gone must go too, or nobody notices when it
// stops to hold.
func TestDeadRowsAndBans(t *testing.T) {
	for _, r := range rooms {
		left := slices.DeleteFunc(sound(), func(p listed) bool { return p.ImportPath == packageIn(r) })
		breaches := importBreaches(rooms, bans, left)
		// A ban may have lost its last importer with the room.
		breaches = slices.DeleteFunc(breaches, func(b string) bool { return strings.HasPrefix(b, "the ban on") })
		if r.later {
			if len(breaches) > 0 {
				t.Errorf("%s may be absent: %q", r.path, breaches)
			}
			continue
		}
		expectOne(t, breaches, r.path, "does not exist")
	}
	for _, b := range bans {
		packages := sound()
		for i := range packages {
			packages[i].Imports = slices.DeleteFunc(slices.Clone(packages[i].Imports), func(path string) bool { return path == b.path })
		}
		expectOne(t, importBreaches(rooms, bans, packages), b.path, "nobody imports")
	}
	dead := append(slices.Clone(bans), ban{path: "example.com/gone", only: []string{"pkg/cmd"}, why: "w"})
	expectOne(t, importBreaches(rooms, dead, sound()), "example.com/gone", "nobody imports")
	unreasoned := slices.Clone(bans)
	unreasoned[0].why = ""
	expectOne(t, importBreaches(rooms, unreasoned, sound()), unreasoned[0].path, "no reason")
	misspelt := slices.Clone(bans)
	misspelt[0].only = append(slices.Clone(misspelt[0].only), "pkg/gui")
	expectOne(t, importBreaches(rooms, misspelt, sound()), "pkg/gui", "no row")
	misnamed := slices.Clone(rooms)
	misnamed[2].ours = append(slices.Clone(misnamed[2].ours), "pkg/gui")
	expectOne(t, importBreaches(misnamed, bans, sound()), "pkg/gui", "no row")
}

func TestSourceRulesRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, path, file, code string
		want                   []string // of the one breach; none: it is allowed
	}{
		{"a package comment", "pkg/parse", "a.go", "// Package p is.\npackage p", nil},
		{"no package comment", "pkg/parse", "a.go", "package p", []string{"pkg/parse", "no package comment"}},

		{"os.Exit", "pkg/cmd", "a.go", doc + `import "os"; func f() { os.Exit(1) }`, []string{"pkg/cmd/a.go", "os.Exit"}},
		{"os.Exit by another name", "pkg/cmd", "a.go", doc + `import o "os"; func f() { o.Exit(1) }`, []string{"os.Exit"}},
		{"os.Exit as a value", "pkg/cmd", "a.go", doc + `import "os"; func f() func(int) { return os.Exit }`, []string{"os.Exit"}},
		{"os.Exit in main", "cmd/kubectl-backlog", "main.go", "// Command p is.\npackage main\n" + `import "os"; func main() { os.Exit(1) }`, nil},
		{"os.Exit in TestMain", "pkg/cmd", "a_test.go", doc + `import "os"; func f() { os.Exit(1) }`, nil},
		{"a method of that name", "pkg/cmd", "a.go", doc + `type t struct{}; func (t) Exit(int) {}; func f(os t) { os.Exit(1) }`, nil},
		{"log.Fatal", "pkg/source", "a.go", doc + `import "log"; func f() { log.Fatal() }`, []string{"log.Fatal"}},
		{"log.Fatalf", "pkg/source", "a.go", doc + `import "log"; func f() { log.Fatalf("") }`, []string{"log.Fatalf"}},
		{"log.Fatalln", "pkg/source", "a.go", doc + `import "log"; func f() { log.Fatalln() }`, []string{"log.Fatalln"}},
		{"context.TODO", "pkg/source", "a.go", doc + `import "context"; func f() { g(context.TODO()) }`, []string{"context.TODO"}},
		{"context.TODO in main", "cmd/kubectl-backlog", "main.go", "// Command p is.\npackage main\n" + `import "context"; func main() { g(context.TODO()) }`, []string{"context.TODO"}},

		{"init", "pkg/source", "a.go", doc + `func init() {}`, []string{"init function"}},
		{"a method init", "pkg/source", "a.go", doc + `func (t) init() {}`, nil},

		{"a variable", "pkg/source", "a.go", doc + `var count int`, []string{"count"}},
		{"a map", "pkg/source", "a.go", doc + `var ( cache = map[string]int{} )`, []string{"cache"}},
		{"a variable called like an error", "pkg/source", "a.go", doc + `var errCount = 1`, []string{"errCount"}},
		{"an error called like a variable", "pkg/source", "a.go", doc + `import "errors"; var last = errors.New("x")`, []string{"last"}},
		{"an error without a value", "pkg/source", "a.go", doc + `var errLast error`, []string{"errLast"}},
		{"an error", "pkg/source", "a.go", doc + `import "errors"; var errGone = errors.New("gone")`, nil},
		{"an error of another package", "pkg/tui", "a.go", doc + `import tea "x"; var ErrInterrupted = tea.ErrInterrupted`, nil},
		{"a pattern", "pkg/source", "a.go", doc + `import "regexp"; var word = regexp.MustCompile("x")`, nil},
		{"an assertion", "pkg/source", "a.go", doc + `var _ I = t{}`, nil},
		{"an embedded file", "pkg/source", "a.go", doc + "//go:embed x\nvar script string", nil},
		{"a variable of a test", "pkg/source", "a_test.go", doc + `var update = true`, nil},
		{"a variable that is allowed", "pkg/source", "a.go", doc + `var listedTable = []int{1}`, nil},

		{"the clock in a pure package", "pkg/parse", "a.go", doc + `import "time"; func f() { g(time.Now()) }`, []string{"pkg/parse/a.go", "time.Now"}},
		{"the clock in an adapter", "plugins/some", "a.go", doc + `import "time"; func f() { g(time.Since(x)) }`, []string{"plugins/some/a.go", "time.Since"}},
		{"a clock to call later", "pkg/model", "a.go", doc + `import "time"; func f() func() time.Time { return time.Now }`, []string{"time.Now"}},
		{"other time", "pkg/model", "a.go", doc + `import "time"; func f() time.Duration { return time.Second }`, nil},
		{"the clock elsewhere", "pkg/collect", "a.go", doc + `import "time"; func f() { g(time.Now()) }`, nil},
		{"the clock in a test", "pkg/parse", "a_test.go", doc + `import "time"; func f() { g(time.Now()) }`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), tt.file, tt.code, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			sources := []source{{importPath: module + "/" + tt.path, files: map[string]*ast.File{tt.file: file}}}
			allowed := map[string]string{"pkg/source.listedTable": "a table"}
			breaches := slices.DeleteFunc(sourceBreaches(rooms, allowed, sources), func(b string) bool { return strings.Contains(b, "listedTable") && strings.Contains(b, "any more") })
			if tt.want == nil {
				if len(breaches) > 0 {
					t.Errorf("refused: %q", breaches)
				}
				return
			}
			expectOne(t, breaches, tt.want...)
		})
	}
	expectOne(t, sourceBreaches(rooms, map[string]string{"pkg/model.gone": "r"}, nil), "pkg/model.gone", "any more")
}

const doc = "// Package p is.\npackage p\n"

// Every clock and every pure room is held, not only those that the table above
// happens to name.
func TestEveryPureRoomHasNoClock(t *testing.T) {
	for _, r := range rooms {
		for _, clock := range clocks {
			file, err := parser.ParseFile(token.NewFileSet(), "a.go", doc+"import \"time\"\nvar _ = "+clock, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			breaches := sourceBreaches(rooms, nil, []source{{importPath: packageIn(r), files: map[string]*ast.File{"a.go": file}}})
			if r.pure {
				expectOne(t, breaches, clock, r.path)
			} else if len(breaches) > 0 {
				t.Errorf("%s is not pure: %q", r.path, breaches)
			}
		}
	}
}

// Pure rooms do no I/O: no ban may except them.
func TestPureRoomsImportNoIO(t *testing.T) {
	for _, r := range rooms {
		if r.pure {
			for _, path := range []string{"os", "os/exec", "net/http"} {
				expectOne(t, importBreaches(rooms, bans, plant(sound(), r, path)), short(packageIn(r)), path)
			}
		}
	}
}

func TestDocumentedRooms(t *testing.T) {
	page := "# A\n| x | y | z |\n\n## Rooms\n\n| folder | what | may import of ours |\n|---|---|---|\n" +
		"| pkg/source | a | target, plugins, pkg/model |\n| pkg/model | b | |\n| pkg/cmd | c | all |\n\n## Rules\n| pkg/not | d | model |\n"
	got := documentedRooms(page)
	if len(got) != 3 || strings.Join(got["pkg/source"], " ") != "pkg/model pkg/target plugins" || len(got["pkg/model"]) != 0 || got["pkg/cmd"][0] != everyRoom {
		t.Errorf("got %q", got)
	}
}

// expectOne wants one breach with all these words in it.
func expectOne(t *testing.T, breaches []string, words ...string) {
	t.Helper()
	if len(breaches) != 1 {
		t.Errorf("%d breaches, want one with %q: %q", len(breaches), words, breaches)
		return
	}
	for _, word := range words {
		if !strings.Contains(breaches[0], word) {
			t.Errorf("%q does not name %q", breaches[0], word)
		}
	}
}
