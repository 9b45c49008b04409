package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// recorded is a recording of so many seconds of a pod that a burst overflows from
// second 60 to 90, and of another that is well.
func recorded(t *testing.T, seconds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "incident.jsonl.gz")
	f, err := record.Create(path, record.FileOptions{Header: record.Header{Title: "prod-eu1/shop", Tool: "v1"}})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= seconds; n++ {
		s := burstAt(n)
		first := &s.Pods[0]
		first.Runtime.Workers, first.Runtime.Window.Busy, first.Runtime.Window.Seconds = model.Known[int64](1), model.Known(0.2), model.Known(10.0)
		first.Window = model.Window{Seconds: model.Known(1.0), Overflows: model.Growth(burstAt(n - 1).Pods[0].Counters.ListenOverflows, first.Counters.ListenOverflows)}
		first.Listeners[0].Window.Overflows = first.Window.Overflows
		other := burstAt(n).Pods[0]
		other.Meta = model.Meta{Name: "web-0", Namespace: "front", UID: "w"}
		other.Workload = model.Workload{Kind: "StatefulSet", Name: "web"}
		other.Listeners[0].Sockets[0].Drops = model.Known[int64](0)
		other.Counters.ListenOverflows, other.Counters.ListenDrops = model.Known[int64](0), model.Known[int64](0)
		s.Pods = append(s.Pods, other)
		if err := f.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// backlog runs the program. There is no cluster: whatever asked for one would say so.
func backlog(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errOut bytes.Buffer
	code = Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "v1")
	return out.String(), errOut.String(), code
}

// Every command that looks at pods looks at a recording too, and asks no cluster.
func TestReplay(t *testing.T) {
	path := recorded(t, 300)
	for _, c := range []struct {
		name  string
		args  []string
		has   []string
		hasnt []string
	}{
		{"get: the end", []string{"get"}, []string{"NAMESPACE", "server-0", "web-0", "healthy"}, []string{"undecided"}},
		{"get: a moment", []string{"get", "--at", "12:01:30"}, []string{"undecided", "overflowing"}, nil},
		{"get: a pod", []string{"get", "web-0"}, []string{"web-0"}, []string{"server-0"}},
		{"get: a workload", []string{"get", "deploy/server"}, []string{"server-0"}, []string{"web-0"}},
		{"get: a namespace", []string{"get", "-n", "front"}, []string{"web-0"}, []string{"server-0"}},
		{"get: all namespaces", []string{"get", "-n", "front", "-A"}, []string{"web-0", "server-0"}, nil},
		{"get: an object", []string{"get", "server-0", "-o", "jsonpath={.counters.listenOverflows}"}, []string{"360"}, nil},
		{
			"describe: since its beginning",
			[]string{"describe", "server-0", "--at", "+1m29s"},
			[]string{"CRITICAL  undecided  in:4143", "refused packets  +360"},
			nil,
		},
		{"describe: before its end", []string{"describe", "server-0", "--at=-3m30s"}, []string{"undecided"}, nil},
		{"plan", []string{"plan", "deploy/server", "--at", "12:01:30", "--backlog", "64"}, []string{"64"}, nil},
		{"top: every tick", []string{"top", "server-0", "--at", "12:01:20", "--count", "2"}, []string{"12:01:20Z", "12:01:21Z", "undecided"}, []string{"12:01:22Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errOut, code := backlog(t, append(c.args, "--replay", path)...)
			if code != 0 || errOut != "" {
				t.Fatalf("code %d, %s", code, errOut)
			}
			for _, s := range c.has {
				if !strings.Contains(out, s) {
					t.Errorf("does not hold %q:\n%s", s, out)
				}
			}
			for _, s := range c.hasnt {
				if strings.Contains(out, s) {
					t.Errorf("holds %q:\n%s", s, out)
				}
			}
		})
	}
}

// A command that is printed names the context of the recording, not today's.
func TestReplayNamesItsContext(t *testing.T) {
	out, _, _ := backlog(t, "describe", "server-0", "--replay", recorded(t, 90))
	if !strings.Contains(out, "--context prod-eu1 -n shop ") {
		t.Errorf("no command of the recording's context:\n%s", out)
	}
}

func TestReplayFailsOn(t *testing.T) {
	path := recorded(t, 90)
	if _, errOut, code := backlog(t, "get", "--replay", path, "--fail-on=warning"); code != exitStands {
		t.Errorf("code %d: %s", code, errOut)
	}
	if _, errOut, code := backlog(t, "get", "--replay", path, "--fail-on=warning", "--at", "12:00:40"); code != exitDone {
		t.Errorf("code %d: %s", code, errOut)
	}
}

func TestReplayRefuses(t *testing.T) {
	path := recorded(t, 5)
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("\x00\x01\x02"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"get", "--replay", path, "--yes"}, "nothing is added to any pod"},
		{[]string{"top", "--replay", path, "--image", "x"}, "nothing is added to any pod"},
		{[]string{"describe", "--replay", path, "--probe-ttl", "2h"}, "nothing is added to any pod"},
		{[]string{"get", "--replay", path, "--max-pods", "9"}, "nothing is added to any pod"},
		{[]string{"get", "--replay", path, "--reason", "x"}, "nothing is added to any pod"},
		{[]string{"get", "--replay", path, "--local"}, "not with selectors, --local"},
		{[]string{"get", "--replay", path, "-l", "a=b"}, "not with selectors"},
		{[]string{"get", "--replay", path, "--via", "exec"}, "--via"},
		{[]string{"get", "--replay", path, "-w"}, "a recording is over"},
		{[]string{"get", "--at", "12:00:00"}, "it needs --replay"},
		{[]string{"get", "--replay", path, "--at", "noon"}, `"noon" is no time`},
		{[]string{"get", "nobody", "--replay", path}, "no pod in it is one that was asked for"},
		{[]string{"get", "--replay", filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"get", "--replay", garbage}, "looks like a binary file"},
		{[]string{"top", "--replay", path, "--record", "x"}, "there is nothing to --record"},
		{[]string{"top", "--record", path}, "exists: name another file"},
		{[]string{"record", "-o", path}, "exists: name another file"},
		{[]string{"record"}, "-o names the file"},
		{[]string{"record", "-o", "x", "--until", "lunch"}, "--until must be"},
		{[]string{"record", "-o", "x", "--max-size", "much"}, "--max-size must be"},
		{[]string{"record", "-o", "x", "--max-age", "0s"}, "--max-age must be"},
		{[]string{"record", "-o", "x", "--for", "-1s"}, "--for must not be negative"},
		{[]string{"record", "cut", path, "-o", path}, "another file than the recording"},
		{[]string{"record", "cut", path}, "-o names the file"},
		{[]string{"record", "redact", path, "-o", path}, "another file than the recording"},
		{[]string{"record", "redact"}, "name one recording"},
		{[]string{"report"}, "name a recording"},
		{[]string{"report", path, "-o", path}, "another file than the recording"},
		{[]string{"report", path, "--from", "13:00:00"}, "it holds nothing of that time"},
		{[]string{"compare", path}, "needs --before FROM..TO and --after FROM..TO"},
		{[]string{"compare", path, "--before", "12:00:00", "--after", "..+1s"}, "give it as FROM..TO"},
		{[]string{"compare", path, path, "-o", "xml"}, "-o must be json"},
		{[]string{"compare", path, garbage}, "looks like a binary file"},
	} {
		out, errOut, code := backlog(t, c.args...)
		if code != exitError || out != "" || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", strings.Join(c.args, " "), code, out, errOut)
		}
	}
}

// A recording that was cut off is read up to its last whole tick, with a note.
func TestReplayOfACutOffRecording(t *testing.T) {
	whole, err := os.ReadFile(recorded(t, 120))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	if err := os.WriteFile(path, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := backlog(t, "get", "--replay", path)
	if code != 0 || !strings.Contains(out, "server-0") || !strings.HasPrefix(errOut, "note: ") {
		t.Errorf("code %d, %q\n%s", code, errOut, out)
	}
}

func TestReportCommand(t *testing.T) {
	path, dir := recorded(t, 300), t.TempDir()
	page := filepath.Join(dir, "a.html")
	if out, errOut, code := backlog(t, "report", path, "-o", page); code != 0 || out != "" || !strings.Contains(errOut, "wrote "+page) {
		t.Fatalf("code %d, %q %q", code, out, errOut)
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) || !bytes.Contains(text, []byte("<svg")) {
		t.Errorf("%v: %.200s", err, text)
	}
	out, errOut, code := backlog(t, "report", path)
	if code != 0 || errOut != "" || !strings.Contains(out, "**shop/server-0: CRITICAL") || !strings.Contains(out, "refused packets in all: 360") {
		t.Errorf("code %d, %q\n%s", code, errOut, out)
	}
	// The pods and the time that were asked for.
	out, _, _ = backlog(t, "report", path, "sts/web")
	if strings.Contains(out, "server-0") || !strings.Contains(out, "Nothing of a warning or worse was seen of 1 pod") {
		t.Errorf("%s", out)
	}
	if out, _, _ = backlog(t, "report", path, "-n", "front"); strings.Contains(out, "server-0") || !strings.Contains(out, "web-0") {
		t.Errorf("-n front:\n%s", out)
	}
	out, _, _ = backlog(t, "report", path, "--from", "12:01:15", "--to", "12:01:20")
	if !strings.Contains(out, "12:01:15Z to 12:01:20Z (5s)") || !strings.Contains(out, "undecided") {
		t.Errorf("%s", out)
	}
}

func TestCompareCommand(t *testing.T) {
	path := recorded(t, 300)
	// One burst of half a minute is not enough to call what follows a fix.
	out, errOut, code := backlog(t, "compare", path, "--before", "+59s..+89s", "--after=-3m..")
	if code != 0 || errOut != "" {
		t.Fatalf("code %d, %s", code, errOut)
	}
	for _, s := range []string{
		"BEFORE  2026-03-01 12:01:00Z to 12:01:30Z (30s)", "shop/Deployment/server   before   1", "healthy",
		"shop/Deployment/server: better: nothing is refused any more", "limit",
	} {
		if s != "limit" && !strings.Contains(out, s) {
			t.Errorf("does not hold %q:\n%s", s, out)
		}
	}
	if out, _, _ := backlog(t, "compare", path, path, "-n", "front"); strings.Contains(out, "server") || !strings.Contains(out, "front/StatefulSet/web") {
		t.Errorf("-n front:\n%s", out)
	}
	out, _, code = backlog(t, "compare", path, path, "-o", "json")
	var c struct {
		Workloads []struct{ Name, Outcome string }
		Findings  []string
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != 0 || len(c.Workloads) != 2 || c.Workloads[1].Outcome != "unclear" || len(c.Findings) != 1 {
		t.Errorf("%v, code %d, %+v\n%s", err, code, c, out)
	}
}

func TestCutAndRedact(t *testing.T) {
	path, dir := recorded(t, 300), t.TempDir()
	part, clean := filepath.Join(dir, "part.jsonl"), filepath.Join(dir, "clean.jsonl")
	_, errOut, code := backlog(t, "record", "cut", path, "--from", "12:01:00", "--to", "+1m39s", "-o", part)
	if code != 0 || errOut != "wrote "+part+": 41 ticks\n" {
		t.Fatalf("code %d, %s", code, errOut)
	}
	if out, _, code := backlog(t, "get", "--replay", part); code != 0 || !strings.Contains(out, "undecided") {
		t.Errorf("code %d\n%s", code, out)
	}
	if _, errOut, code = backlog(t, "record", "redact", part, "-o", clean); code != 0 || !strings.Contains(errOut, "41 ticks") {
		t.Fatalf("code %d, %s", code, errOut)
	}
	text, err := os.ReadFile(clean)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server-0", "web-0", "shop", "prod-eu1", "front"} {
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("%s is still in it", name)
		}
	}
	if out, _, code := backlog(t, "get", "--replay", clean); code != 0 || !strings.Contains(out, "undecided") {
		t.Errorf("the verdict was lost, code %d\n%s", code, out)
	}
	if _, errOut, code = backlog(t, "record", "cut", path, "--from", "13:00:00", "-o", filepath.Join(dir, "none.jsonl")); code != exitError || !strings.Contains(errOut, "it holds nothing of that time") {
		t.Errorf("code %d, %s", code, errOut)
	}
}

// ticking is a source whose snapshots move the test's clock.
type ticking struct {
	bursts
	clock *time.Time
	after func(n int)
}

func (s *ticking) Next(ctx context.Context) (model.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return model.Snapshot{}, err
	}
	snapshot, err := s.bursts.Next(ctx)
	*s.clock = snapshot.Time
	if s.after != nil {
		s.after(s.n)
	}
	return snapshot, err
}

func runRecord(t *testing.T, ctx context.Context, change func(*recordOptions, *ticking)) (path, told string, err error) {
	t.Helper()
	var errOut bytes.Buffer
	flags := genericclioptions.NewConfigFlags(true)
	clock := burstAt(0).Time
	src := &ticking{clock: &clock}
	o := &recordOptions{
		selection: newSelection(flags), IOStreams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: &errOut},
		maxSize: "1Gi", maxAge: 24 * time.Hour, to: filepath.Join(t.TempDir(), "a.jsonl.gz"),
	}
	o.now = func() time.Time { return clock }
	o.openSource = func(context.Context) (source.Source, error) { return src, nil }
	change(o, src)
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	err = o.run(ctx)
	return o.to, errOut.String(), err
}

func ticksOf(t *testing.T, path string) (n int, notes []string) {
	t.Helper()
	p, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for {
		if _, err := p.Next(); errors.Is(err, io.EOF) {
			return n, p.Notes()
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
}

func TestRecord(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*recordOptions, *ticking)
		ticks  int
		says   []string
	}{
		{"for a time", func(o *recordOptions, _ *ticking) { o.lasts = 20 * time.Second }, 20, []string{"20s, 1 pod"}},
		// The first packets are refused in second 61, and what follows is of interest too.
		{"until something is refused", func(o *recordOptions, _ *ticking) { o.until = "overflow" }, 71, []string{"+132 refused", "undecided on shop/server-0"}},
		{"until a warning", func(o *recordOptions, _ *ticking) { o.until = "warning" }, 71, []string{"undecided"}},
		{"whichever comes first", func(o *recordOptions, _ *ticking) { o.lasts, o.until = 30*time.Second, "critical" }, 30, nil},
		{"until it is too long", func(o *recordOptions, _ *ticking) { o.maxAge = 40 * time.Second }, 41, []string{"note: ", "40s long"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, told, err := runRecord(t, t.Context(), c.change)
			if err != nil {
				t.Fatal(err)
			}
			n, notes := ticksOf(t, path)
			if n != c.ticks || len(notes) != 0 {
				t.Errorf("%d ticks, want %d; notes %q", n, c.ticks, notes)
			}
			for _, s := range append(c.says, "recorded "+path+": ") {
				if !strings.Contains(told, s) {
					t.Errorf("does not say %q: %s", s, told)
				}
			}
		})
	}
}

// ctrl-c ends a recording, and is no failure: the file is whole, the code is 0.
func TestRecordUntilInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path, told, err := runRecord(t, ctx, func(_ *recordOptions, s *ticking) {
		s.after = func(n int) {
			if n == 33 {
				cancel()
			}
		}
	})
	if code := exitCode(ctx, err, io.Discard); code != exitDone {
		t.Errorf("code %d: %v", code, err)
	}
	if n, notes := ticksOf(t, path); n != 33 || len(notes) != 0 || !strings.Contains(told, "recorded "+path+": 33s, 1 pod") {
		t.Errorf("%d ticks, notes %q, told %q", n, notes, told)
	}
}

// What goes wrong on the way is told, and what was written is whole.
func TestRecordWhenTheSourceFails(t *testing.T) {
	path, told, err := runRecord(t, t.Context(), func(*recordOptions, *ticking) {})
	if !errors.Is(err, io.EOF) { // the script of the test is at its end
		t.Errorf("%v", err)
	}
	if n, _ := ticksOf(t, path); n != 300 || !strings.Contains(told, "recorded ") {
		t.Errorf("%d ticks, %q", n, told)
	}
}

func TestMoments(t *testing.T) {
	from := time.Date(2026, 3, 1, 23, 50, 0, 0, time.UTC)
	to := from.Add(30 * time.Minute)
	for text, want := range map[string]string{
		"":                          "0001-01-01T00:00:00Z",
		"+5m":                       "2026-03-01T23:55:00Z",
		"-10m":                      "2026-03-02T00:10:00Z",
		"23:52:05":                  "2026-03-01T23:52:05Z",
		"00:05":                     "2026-03-02T00:05:00Z",
		"00:05:10Z":                 "2026-03-02T00:05:10Z",
		"2026-03-02T00:15:00Z":      "2026-03-02T00:15:00Z",
		"2026-03-02T02:15:00+02:00": "2026-03-02T00:15:00Z",
	} {
		at, err := moment(text).in(from, to)
		if err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v; want %s", text, at.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"now", "+", "-", "25:00", "12", "yesterday", "+5"} {
		var usage usageError
		if at, err := moment(text).in(from, to); !errors.As(err, &usage) {
			t.Errorf("%q is %s, %v", text, at, err)
		}
	}
}

func TestMeans(t *testing.T) {
	p := &model.Pod{Meta: model.Meta{Name: "server-0"}, Workload: model.Workload{Kind: "StatefulSet", Name: "server"}}
	for arg, want := range map[string]bool{
		"server-0": true, "server": false, "pod/server-0": true, "po/server-0": true, "pods/server-1": false,
		"sts/server": true, "statefulset/server": true, "statefulsets.apps/server": true, "StatefulSet/server": true,
		"deploy/server": false, "sts/server-0": false, "/": false, "": false, "sts/": false,
	} {
		if got := means(arg, p); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
}
