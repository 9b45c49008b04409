package images_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// build runs build.sh and returns what it says on stderr.
func build(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	cmd := exec.Command(bash, append([]string{"build.sh"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	return stderr.String(), err
}

func TestBuildNamesEverythingThatIsMissing(t *testing.T) {
	// A machine with little more than coreutils.
	bin := t.TempDir()
	for _, tool := range []string{"cat", "dirname", "sed", "sort"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	said, err := build(t, []string{"PATH=" + bin}, out)
	if err == nil {
		t.Errorf("it ended well without go and cargo")
	}
	for _, want := range []string{"missing on this machine", "cargo and rustc", "go 1.", "busybox-static"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q, want something about %q", said, want)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("it left something behind: %v", err)
	}
}

func TestBuildLeavesAloneWhatIsUpToDate(t *testing.T) {
	out := t.TempDir()
	made := func() time.Time {
		t.Helper()
		if said, err := build(t, nil, out, "bin/burst"); err != nil {
			t.Fatalf("building burst: %v\n%s", err, said)
		}
		info, err := os.Stat(filepath.Join(out, "bin", "burst"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	first := made()
	if again := made(); !again.Equal(first) {
		t.Errorf("it was built again, though nothing changed")
	}
	if err := os.WriteFile(filepath.Join(out, ".build", "burst.key"), []byte("of other sources\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := made(); again.Equal(first) {
		t.Errorf("it was not built again, though it came from other sources")
	}
}

func TestBuildRefusesUnknownNames(t *testing.T) {
	for _, name := range []string{"cake", "bin/cake"} {
		if said, err := build(t, nil, t.TempDir(), name); err == nil || !strings.Contains(said, "is called") {
			t.Errorf("%s: got %v and %q", name, err, said)
		}
	}
}
