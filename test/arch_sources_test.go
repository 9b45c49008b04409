package test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// source is a package's files, parsed.
type source struct {
	importPath string
	files      map[string]*ast.File // by name
}

// parseSources parses the files of the packages, those that only some operating
// systems build included.
func parseSources(t *testing.T, lists ...[]listed) []source {
	t.Helper()
	byPath := map[string]*source{}
	for _, p := range slices.Concat(lists...) {
		s := byPath[p.ImportPath]
		if s == nil {
			s = &source{importPath: p.ImportPath, files: map[string]*ast.File{}}
			byPath[p.ImportPath] = s
		}
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if s.files[name] != nil {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatalf("parsing: %v", err)
			}
			s.files[name] = file
		}
	}
	var sources []source
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		sources = append(sources, *byPath[path])
	}
	return sources
}

// forbidden are the calls and values that end the process or hide a wish, and
// why they are not wanted outside package main.
var forbidden = map[string]string{
	"os.Exit":      "return an error: deferred clean-up is skipped, and a probe or a port-forward would be left behind",
	"log.Fatal":    "return an error: it ends the process as os.Exit does",
	"log.Fatalf":   "return an error: it ends the process as os.Exit does",
	"log.Fatalln":  "return an error: it ends the process as os.Exit does",
	"context.TODO": "take the caller's context, so that an interrupt reaches every request",
}

// clocks are what a pure package may not ask: it works on recordings too, whose
// time is not now.
var clocks = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
	"time.Tick", "time.NewTimer", "time.NewTicker",
}

// sourceBreaches are the places that do what no package may, or a pure one.
// allowed are the package-level variables that are tables, with the reason.
func sourceBreaches(rooms []room, allowed map[string]string, sources []source) []string {
	var breaches []string
	report := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	used := map[string]bool{}
	for _, s := range sources {
		path := short(s.importPath)
		r := roomOf(rooms, s.importPath)
		documented := false
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			file := s.files[name]
			where := path + "/" + name
			documented = documented || file.Doc != nil
			isTest := strings.HasSuffix(name, "_test.go")
			for _, ref := range references(file) {
				why, isForbidden := forbidden[ref]
				mayEnd := file.Name.Name == "main" || isTest // TestMain ends the test process
				switch {
				case isForbidden && (ref == "context.TODO" || !mayEnd):
					report("%s uses %s: %s", where, ref, why)
				case r != nil && r.pure && !isTest && slices.Contains(clocks, ref):
					report("%s uses %s: %s is pure, the caller brings the time", where, ref, r.path)
				}
			}
			if isTest {
				continue
			}
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					report("%s has an init function: what is needed is built where it is used, in an order that can be read", where)
				}
			}
			for _, variable := range mutable(file) {
				key := path + "." + variable
				if _, ok := allowed[key]; ok {
					used[key] = true
					continue
				}
				report("%s has the package-level variable %s: keep state in a value that is handed on; a table that nobody writes to may be named, with the reason, among the variables of test/arch_test.go", where, variable)
			}
		}
		if !documented {
			report("%s has no package comment", path)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if !used[key] {
			report("the variable %s is allowed and does not exist any more: take it out", key)
		}
		if allowed[key] == "" {
			report("the variable %s is allowed without a reason", key)
		}
	}
	return breaches
}

// references are the names from other packages that a file uses: "os.Exit",
// under the package's own name whatever the file calls it.
func references(file *ast.File) []string {
	local := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if strings.Contains(path, "/") {
			continue // what is looked for is in os, log, time and context
		}
		name := path
		if spec.Name != nil {
			name = spec.Name.Name
		}
		local[name] = path
	}
	var refs []string
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && local[x.Name] != "" {
				refs = append(refs, local[x.Name]+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return refs
}

// mutable are the package-level variables of a file, without those that are
// fixed by custom or by the compiler: errors, embedded files, patterns, and
// assertions that a type satisfies an interface.
func mutable(file *ast.File) []string {
	var names []string
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, s := range group.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok || isEmbed(group.Doc) || isEmbed(spec.Doc) {
				continue
			}
			for i, name := range spec.Names {
				if name.Name != "_" && !(i < len(spec.Values) && isFixed(name.Name, spec.Values[i])) {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

func isEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// isFixed knows errors.New("…"), an error of another package under a name of
// ours (ErrX = tea.ErrX), and compiled patterns.
func isFixed(name string, value ast.Expr) bool {
	isError := strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err")
	switch value := value.(type) {
	case *ast.SelectorExpr:
		return isError && strings.HasPrefix(value.Sel.Name, "Err")
	case *ast.CallExpr:
		called, ok := value.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		from, ok := called.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch from.Name + "." + called.Sel.Name {
		case "errors.New", "fmt.Errorf":
			return isError
		case "regexp.MustCompile":
			return true
		}
	}
	return false
}
