// Package script tests the whole program as a person meets it: what is typed,
// what is printed where, and which exit code comes back. The scripts are in
// testdata, in the language of rogpeppe/go-internal/testscript; the program runs
// as a process of its own, out of this test's binary.
//
// Beside testscript's own words the scripts have
//
//	exits CODE PROGRAM ARG...   run it; it must end with exactly this code
//	interrupted PROGRAM ARG...  run it, press Ctrl-C after its first line of
//	                            output; it must end with 130
//	oneline FILE                the file (stdout, stderr) holds exactly one line
//	samefigures GET SS NSTAT    what get printed as JSON is what ss and nstat saw
//
// and the programs kubectl-backlog and hold (see hold_linux_test.go).
package script

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/cmd"
)

// version is what the program under test says it is.
const version = "v0.0.0-script"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kubectl-backlog": product,
		"hold":            hold,
	})
}

// product is cmd/kubectl-backlog's main, which a test cannot import.
func product() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := cmd.Main(ctx, os.Args[1:], streams, version)
	stop()
	os.Exit(code)
}

func TestScript(t *testing.T) {
	testscript.Run(t, params(t, "testdata"))
}

func params(t *testing.T, dir string) testscript.Params {
	t.Helper()
	kubectl := findKubectl()
	netns := namespaceFlag()
	krew, err := filepath.Abs("../../krew")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"interrupted": interrupted,
			"oneline":     oneLine,
			"samefigures": sameFigures,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "kubectl":
				return kubectl != "", nil
			case "netns":
				return netns != "", nil
			}
			return false, &unknownConditionError{cond}
		},
		Setup: func(env *testscript.Env) error {
			// Nothing of the user's own configuration gets in.
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "home", ".config"))
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
			env.Setenv("VERSION", version)
			env.Setenv("PLATFORM", runtime.GOOS+"/"+runtime.GOARCH)
			env.Setenv("GOVERSION", runtime.Version())
			env.Setenv("KREW", krew)
			env.Setenv("NETNS", netns)
			if kubectl != "" {
				// As the first on PATH behind the program under test.
				bin := filepath.Join(env.WorkDir, "kubectl-bin")
				if err := os.Mkdir(bin, 0o755); err != nil {
					return err
				}
				if err := os.Symlink(kubectl, filepath.Join(bin, "kubectl")); err != nil {
					return err
				}
				list := string(filepath.ListSeparator)
				env.Setenv("PATH", bin+list+env.Getenv("PATH"))
			}
			return nil
		},
	}
}

type unknownConditionError struct{ cond string }

func (e *unknownConditionError) Error() string { return "unknown condition [" + e.cond + "]" }

// findKubectl prefers the kubectl that test/cluster built, of the Kubernetes
// that the tests are about, to whatever the machine has; empty for none.
func findKubectl() string {
	state := os.Getenv("BACKLOG_TEST_DIR")
	if state == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			state = filepath.Join(cache, "kubectl-backlog", "cluster")
		}
	}
	if built, err := filepath.EvalSymlinks(filepath.Join(state, "bin", "kubectl")); err == nil {
		// The build is one binary that looks at the name it is called by; the
		// link that Setup makes is called kubectl again.
		return built
	}
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return ""
	}
	return path
}

// namespaceFlag is how unshare(1) makes a network namespace here: directly as
// root, within a user namespace otherwise, not at all where neither is allowed
// or ss and nstat are missing.
func namespaceFlag() string {
	for _, tool := range []string{"unshare", "ip", "ss", "nstat"} {
		if _, err := exec.LookPath(tool); err != nil {
			return ""
		}
	}
	for _, flag := range []string{"-n", "-rn"} {
		if exec.Command("unshare", flag, "true").Run() == nil {
			return flag
		}
	}
	return ""
}
