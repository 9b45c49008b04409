package script

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Every command that the documentation shows is run here, so that none of them
// is one that the program, make or go would refuse. Those that need a cluster
// are run against an API server that does not answer: what they must get is its
// "connection refused", and not a word about what was typed.

const root = "../.."

func TestCommandsInTheREADME(t *testing.T)    { tryCommandsOf(t, "README.md") }
func TestCommandsOfRecordings(t *testing.T)   { tryCommandsOf(t, "docs/recording.md") }
func TestCommandsInCONTRIBUTING(t *testing.T) { tryCommandsOf(t, "CONTRIBUTING.md") }
func TestCommandsInTheKrewManifest(t *testing.T) {
	tryEach(t, indented(readRoot(t, "krew/backlog.yaml")))
}

func TestCommandsInTheHelp(t *testing.T) {
	for _, command := range []string{"get", "top", "describe", "plan", "audit", "record", "record cut", "record redact", "report", "compare", "probes", "probes stop", "version"} {
		out, err := exec.Command("kubectl-backlog", append(strings.Fields(command), "--help")...).Output()
		if err != nil {
			t.Fatalf("%s --help: %v", command, err)
		}
		tryEach(t, indented(string(out)))
	}
}

func tryCommandsOf(t *testing.T, file string) { tryEach(t, fenced(readRoot(t, file))) }

func readRoot(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced gives the commands in the blocks of a Markdown text that are marked as
// sh or bash (every line that is no comment) or console (lines after "$ ").
func fenced(text string) []string {
	var commands []string
	inside := ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if mark, ok := strings.CutPrefix(line, "```"); ok {
			if inside != "" {
				mark = ""
			} else if mark == "" {
				mark = "text"
			}
			inside = mark
			continue
		}
		switch inside {
		case "sh", "bash":
		case "console":
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			line = command
		default:
			continue
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
	}
	return commands
}

// indented gives the lines of help that show how the program is called. Usage
// lines, with their [brackets], are no commands.
func indented(text string) []string {
	var commands []string
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if !strings.HasPrefix(line, "  ") || !strings.HasPrefix(command, "kubectl backlog ") || strings.Contains(command, "[") {
			continue
		}
		// What follows a few blanks explains the command.
		command, _, _ = strings.Cut(command, "   ")
		commands = append(commands, command)
	}
	return commands
}

// ways are how commands are tried, by how they begin; the first that fits.
var ways = []struct {
	begins string
	try    func(*testing.T, string)
}{
	{`(\w+=\S+ +)*kubectl backlog\b`, tryProduct},
	{`(\w+=\S+ +)*make\b`, tryMake},
	{`go test\b`, tryGoTest},
	// What needs a network, or changes the reader's machine.
	// What stands for it is a recording.
	{`kubectl logs `, nil},
	{`git clone |cd |git diff |install |go install |kubectl krew |export PATH=|sudo apt-get |apt-get `, nil},
}

func tryEach(t *testing.T, commands []string) {
	t.Helper()
	if len(commands) == 0 {
		t.Fatal("found no command at all")
	}
next:
	for _, command := range commands {
		for _, way := range ways {
			if !regexp.MustCompile(`^(` + way.begins + `)`).MatchString(command) {
				continue
			}
			if way.try != nil {
				t.Run(command, func(t *testing.T) { way.try(t, command) })
			}
			continue next
		}
		t.Errorf("nothing here knows how to try %q", command)
	}
}

// tryProduct runs a line with the shell, in a folder of its own. `kubectl` is a
// script here: what the real one does with plugins is tested in kubectl.txtar.
func tryProduct(t *testing.T, line string) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("kubectl", "#!/bin/sh\nshift\nexec kubectl-backlog \"$@\"\n", 0o755)
	put("config", "apiVersion: v1\nkind: Config\ncurrent-context: prod\n"+
		"contexts: [{name: prod, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: none}}]\n", 0o600)

	if !regexp.MustCompile(`backlog record -|--record\b`).MatchString(line) { // those write one
		for _, name := range []string{"incident.jsonl.gz", "before.jsonl.gz", "after.jsonl.gz", "server-0.log"} {
			if strings.Contains(line, name) {
				aRecording(t, filepath.Join(dir, name))
			}
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // one that hangs is told of
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir,
		"KUBECONFIG=" + filepath.Join(dir, "config"),
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	first, err := untilFirstLine(cmd)

	mistake := strings.Contains(stderr.String(), "--help")
	switch cluster := needsCluster(line); {
	case cluster && (mistake || !strings.Contains(stderr.String(), "https://127.0.0.1:1: connection refused")):
		t.Errorf("want only that the API server does not answer, got %q on stdout, %v and\n%s", first, err, stderr.String())
	case !cluster && strings.Contains(line, "--local") && runtime.GOOS != "linux":
		t.Skip("--local needs Linux")
	case !cluster && (mistake || first == "" && !strings.Contains(stderr.String(), "wrote ") || strings.Contains(stderr.String(), "error:")):
		t.Errorf("want output, got %q, %v and\n%s", first, err, stderr.String())
	}
}

func needsCluster(line string) bool {
	return regexp.MustCompile(`kubectl backlog (get|top|describe|plan|audit|record|probes)\b`).MatchString(line) &&
		!regexp.MustCompile(`--local\b|--help\b| -h\b|--replay\b|backlog record (cut|redact)\b`).MatchString(line)
}

// untilFirstLine runs a command until it has printed a line, then interrupts it
// as Ctrl-C would (all of the pipeline), since some go on for ever.
func untilFirstLine(cmd *exec.Cmd) (string, error) {
	ownGroup(cmd)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err == nil {
		interrupt(cmd)
	}
	_, _ = io.Copy(io.Discard, lines)
	return first, cmd.Wait()
}

// tryMake wants the target to exist, and its recipe to be one that make can read.
func tryMake(t *testing.T, line string) {
	words := strings.Fields(line)
	for len(words) > 0 && words[0] != "make" {
		words = words[1:] // VARIABLE=value in front
	}
	var args []string
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "#") {
			break
		}
		args = append(args, word)
	}
	cmd := exec.Command("make", append([]string{"-n"}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("make -n: %v\n%s", err, out)
	}
}

// tryGoTest wants packages, flags and fuzz targets that are there, without
// running them once more.
func tryGoTest(t *testing.T, line string) {
	tests := ""
	words := strings.Fields(line)
	for _, word := range words {
		dir, ok := strings.CutPrefix(word, "./")
		if !ok {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no tests", word)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests += string(text)
		}
	}
	for i, word := range words {
		need := ""
		switch word {
		case "-update":
			need = `flag.Bool("update"`
		case "-run", "-fuzz":
			name := regexp.MustCompile(`\w+`).FindString(words[i+1])
			if name != "" {
				need = fmt.Sprintf("func %s(", name)
			}
		}
		if !strings.Contains(tests, need) {
			t.Errorf("%s: the tests have no %s", word, need)
		}
	}
}

// Pages name files of the repository in links; one that was renamed shows here.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"} {
		links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(readRoot(t, page), -1)
		for _, link := range links {
			if strings.Contains(link[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, link[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		if page != "ARCHITECTURE.md" && len(links) == 0 {
			t.Errorf("%s: found no link at all", page)
		}
	}
}

// The search for commands is itself tried, since one that finds none is pleased
// with everything.
func TestFindsCommandsInMarkdown(t *testing.T) {
	const text = "Text `kubectl backlog no`.\n```sh\n# comment\nmake demo\nkubectl backlog get \\\n  -o json\n```\n" +
		"```console\n$ kubectl backlog version\nkubectl-backlog v1\n```\n```\nnothing\n```\n```yaml\na: b\n```\n"
	got := fmt.Sprintf("%q", fenced(text))
	if want := `["make demo" "kubectl backlog get    -o json" "kubectl backlog version"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = fmt.Sprintf("%q", indented("Examples:\n  # a\n  kubectl backlog get -A\nUsage:\n  kubectl backlog get [flags]\n"))
	if want := `["kubectl backlog get -A"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
