// Package release holds what a release is made of to its word, on every change
// instead of on the day of a release: .goreleaser.yaml is read by goreleaser's
// own types, krew/backlog.yaml is filled in as krew-release-bot does and judged
// by krew's own validator, and the two must speak of the same files.
package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository's top folder as seen from this package.
const root = "../.."

// inTools runs a command of a module under test/tools, which pins the tools
// apart from the product's own dependencies, and returns all that it said.
func inTools(t *testing.T, module string, args ...string) (string, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a tool: left out with -short")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(root, "test", "tools", module)
	// A workspace or flags of the surrounding build are not this module's.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// absolute is needed by what runs in another folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// write puts text into a file of the given name, in a folder of its own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replaced plants a mistake; the text that it replaces must be there once or
// more, so that a test of the test does not rot into testing nothing.
func replaced(t *testing.T, text, from, to string) string {
	t.Helper()
	if !strings.Contains(text, from) {
		t.Fatalf("the file has no %q to plant a mistake at", from)
	}
	return strings.ReplaceAll(text, from, to)
}
