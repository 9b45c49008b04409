package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/kubectl-backlog/kubectl-backlog"
	everyRoom = "every room"
)

// room is a row of the import table.
type room struct {
	// path below the module; "x/*" are the packages below x, without x itself.
	path string
	// ours are the rooms that it may import; everyRoom stands for all but test,
	// cmd and itself.
	ours []string
	// pure: no I/O and no clock. stdOnly: nothing but the standard library.
	pure, stdOnly bool
	// later: the room need not exist yet.
	later bool
}

// ban keeps a package from outside, and all below it, to some rooms.
type ban struct {
	path string
	only []string
	why  string
}

// listed is a package as `go list -json` gives it.
type listed struct {
	ImportPath   string
	Dir          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// goList lists the module's packages as they are built for an operating system.
func goList(t *testing.T, goos string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing the packages: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		packages = append(packages, p)
	}
}

// importBreaches are the imports that the table does not allow, and the rows
// and bans that speak of what no longer exists.
func importBreaches(rooms []room, bans []ban, packages []listed) []string {
	var breaches []string
	report := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	imported := map[string]bool{}
	for _, p := range packages {
		r := roomOf(rooms, p.ImportPath)
		if r == nil {
			report("%s is in no room: give it a row in the import table", short(p.ImportPath))
			continue
		}
		seen[r.path] = true
		for _, path := range p.Imports {
			if path == module || strings.HasPrefix(path, module+"/") {
				if to := roomOf(rooms, path); to != nil && !mayImport(r, to) {
					report("%s imports %s: %s may import %s", short(p.ImportPath), short(path), r.path, orNone(r.ours))
				}
				continue
			}
			if r.stdOnly && isThirdParty(path) {
				report("%s imports %s: %s uses the standard library alone", short(p.ImportPath), path, r.path)
				continue
			}
			// The longest ban decides: os/exec is not judged as os.
			if b := banOf(bans, path); b != nil {
				imported[b.path] = true
				if !slices.Contains(b.only, r.path) {
					report("%s imports %s, which only %s may: %s", short(p.ImportPath), path, strings.Join(b.only, ", "), b.why)
				}
			}
		}
	}
	names := map[string]bool{everyRoom: true}
	for _, r := range rooms {
		names[r.path] = true
		if !seen[r.path] && !r.later {
			report("the import table has a row for %s, which does not exist", r.path)
		}
	}
	for _, r := range rooms {
		for _, name := range r.ours {
			if !names[name] {
				report("the row of %s names %s, which has no row", r.path, name)
			}
		}
	}
	for _, b := range bans {
		if b.why == "" {
			report("the ban on %s gives no reason", b.path)
		}
		if !imported[b.path] {
			report("the ban on %s is on something that nobody imports any more: take it out", b.path)
		}
		for _, name := range b.only {
			if !names[name] {
				report("the ban on %s excepts %s, which has no row", b.path, name)
			}
		}
	}
	return breaches
}

func mayImport(from, to *room) bool {
	if from.path == to.path || slices.Contains(from.ours, to.path) {
		return true
	}
	return slices.Contains(from.ours, everyRoom) && to.path != "test" && !strings.HasPrefix(to.path, "cmd/")
}

// roomOf is the room that a package belongs to, the longest path winning.
func roomOf(rooms []room, importPath string) *room {
	path := short(importPath)
	var best *room
	for i := range rooms {
		r := &rooms[i]
		below, isPattern := strings.CutSuffix(r.path, "*")
		matches := isPattern && strings.HasPrefix(path, below) || !isPattern && under(path, r.path)
		if matches && (best == nil || len(r.path) > len(best.path)) {
			best = r
		}
	}
	return best
}

func banOf(bans []ban, path string) *ban {
	var best *ban
	for i := range bans {
		if b := &bans[i]; under(path, b.path) && (best == nil || len(b.path) > len(best.path)) {
			best = b
		}
	}
	return best
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// isThirdParty: the first element of a path outside the standard library has a
// dot, being a host.
func isThirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

func short(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none of ours"
	}
	return strings.Join(names, ", ")
}
