package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

// script is a Source that plays snapshots and then repeats the last one; the
// clock of the test moves by a tick for each.
type script struct {
	snapshots []model.Snapshot
	at        int
	clock     *time.Time
	closed    bool
}

func (s *script) Next(ctx context.Context) (model.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return model.Snapshot{}, err
	}
	*s.clock = s.clock.Add(100 * time.Millisecond)
	snapshot := s.snapshots[min(s.at, len(s.snapshots)-1)]
	s.at++
	return snapshot, nil
}

func (s *script) Close() { s.closed = true }

func okPod(name string, seconds float64, overflows int64) model.Pod {
	p := model.Pod{
		Meta: model.Meta{Namespace: "shop", Name: name, UID: name}, Phase: "Running",
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK},
		Sample:     model.Sample{Seq: 1},
		Listeners: []model.Listener{{Address: "0.0.0.0", Port: 8080, Role: model.RoleApp, Sockets: []model.Socket{{
			Depth: model.Known[int64](3), Limit: model.Known[int64](16), Drops: model.Known(overflows),
		}}}},
		Counters: model.Counters{ListenOverflows: model.Known(overflows)},
		Runtime:  model.UnknownRuntime("no proxy"),
	}
	if seconds > 0 {
		p.Window = model.Window{Seconds: model.Known(seconds), Overflows: model.Known(overflows)}
		p.Listeners[0].Window.Overflows = model.Known(overflows)
	} else {
		p = model.NoWindow(p, "only one sample so far")
	}
	return p
}

func at(stage model.Stage, message string) func(*model.Pod) {
	return func(p *model.Pod) { p.Collection.Stage, p.Collection.Message = stage, message }
}

func snap(pods ...model.Pod) model.Snapshot { return model.Snapshot{Pods: pods} }

func changed(p model.Pod, change func(*model.Pod)) model.Pod { change(&p); return p }

// runGet runs get on a script.
func runGet(t *testing.T, s *script, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	flags := genericclioptions.NewConfigFlags(true)
	clock := time.Unix(1000, 0)
	s.clock = &clock
	o := &getOptions{selection: newSelection(flags), IOStreams: streams, format: newFormat("wide")}
	o.now = func() time.Time { return clock }
	o.timeout = 5 * time.Second
	o.openSource = func(context.Context) (source.Source, error) { return s, nil }
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-o="):
			*o.format.flags.OutputFormat = strings.TrimPrefix(a, "-o=")
		case a == "--window=0":
			o.window = 0
		default:
			o.args = append(o.args, a)
		}
	}
	if err := o.validate(); err != nil {
		return "", "", err
	}
	err = o.run(t.Context())
	if !s.closed {
		t.Error("the source was left open")
	}
	return out.String(), errOut.String(), err
}

// get waits for the absolute figures and then for the window, and prints once.
func TestGetWaitsForTheWindow(t *testing.T) {
	s := &script{snapshots: []model.Snapshot{
		snap(changed(okPod("a", 0, 5), at(model.StageAsking, ""))),
		snap(okPod("a", 0, 5)), snap(okPod("a", 1.0, 5)), snap(okPod("a", 3.0, 6)),
	}}
	out, errOut, err := runGet(t, s, "a")
	if err != nil || errOut != "" {
		t.Fatalf("%v, stderr %q", err, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "3/16") || !strings.Contains(lines[1], "2.0") {
		t.Errorf("printed:\n%s", out)
	}
	if s.at != 4 {
		t.Errorf("took %d snapshots, want 4: not one after the window was full", s.at)
	}
}

func TestGetWithoutAWindowPrintsAtOnce(t *testing.T) {
	s := &script{snapshots: []model.Snapshot{snap(okPod("a", 0, 5))}}
	out, _, err := runGet(t, s, "a", "--window=0")
	if err != nil || s.at != 1 || !strings.Contains(out, "?") {
		t.Errorf("%v after %d snapshots:\n%s", err, s.at, out)
	}
}

// Rows are shown, failures are notes, the code is 1; a pod that never starts is
// waited for no longer than --timeout.
func TestGetTellsOfFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		pod    model.Pod
		args   []string
		note   string
		failed bool
	}{
		{"image", changed(okPod("b", 0, 0), at(model.StageFailed, "ErrImagePull: no such image")), nil, "pod shop/b: ErrImagePull: no such image", true},
		{"slow", changed(okPod("b", 0, 0), at(model.StagePulling, "docker.io/x")), nil, "no figures within 5s (pulling)", true},
		{"finished, named", changed(okPod("b", 0, 0), at(model.StageGone, "the pod has finished")), []string{"b"}, "the pod has finished", true},
		{"finished, in a listing", changed(okPod("b", 0, 0), func(p *model.Pod) { at(model.StageGone, "")(p); p.Sample.Seq = 0 }), nil, "finished pods left out: 1", false},
		{"hostNetwork", changed(okPod("b", 0, 0), func(p *model.Pod) { at(model.StageFailed, "")(p); p.HostNetwork = true }), nil, "hostNetwork", false},
		{"metrics", changed(okPod("b", 3, 0), func(p *model.Pod) { p.Collection.Metrics = "no answer on 4191" }), nil, "workers and busy ratio are unknown: no answer on 4191", false},
		{"escape", changed(okPod("b", 0, 0), at(model.StageFailed, "\x1b[2J")), nil, `\x1b`, true},
	} {
		out, errOut, err := runGet(t, &script{snapshots: []model.Snapshot{snap(okPod("a", 3, 0), c.pod)}}, c.args...)
		if !strings.Contains(out, "3/16") {
			t.Errorf("%s: the row of the good pod is missing:\n%s", c.name, out)
		}
		if !strings.Contains(errOut, c.note) || strings.Contains(errOut, "\x1b[2J") {
			t.Errorf("%s: stderr %q, want %q", c.name, errOut, c.note)
		}
		if got := errors.Is(err, errReported); got != c.failed {
			t.Errorf("%s: err = %v", c.name, err)
		}
	}
}

func TestGetObjects(t *testing.T) {
	s := func() *script { return &script{snapshots: []model.Snapshot{snap(okPod("a", 3, 7))}} }
	out, _, err := runGet(t, s(), "-o=json", "a")
	var one map[string]any
	if err != nil || json.Unmarshal([]byte(out), &one) != nil || one["kind"] != "PodBacklog" {
		t.Errorf("one named pod: %v\n%s", err, out)
	}
	out, _, err = runGet(t, s(), "-o=json")
	if err != nil || json.Unmarshal([]byte(out), &one) != nil || one["kind"] != "PodBacklogList" {
		t.Errorf("a listing: %v\n%s", err, out)
	}
	out, _, err = runGet(t, s(), "-o=jsonpath={.items[0].counters.listenOverflows}")
	if err != nil || out != "7" {
		t.Errorf("jsonpath: %q, %v", out, err)
	}
	if _, _, err = runGet(t, s(), "-o=gizmo"); err == nil || !errors.As(err, &usageError{}) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		text string
	}{
		{"done", context.Background(), nil, 0, ""},
		{"failed", context.Background(), errors.New("listing pods: refused"), 1, "error: listing pods: refused\n"},
		{"told already", context.Background(), errReported, 1, ""},
		{"usage", context.Background(), usageError{errors.New("unknown flag: --x")}, 1, "error: unknown flag: --x\nSee 'kubectl backlog --help' for usage.\n"},
		{"ctrl-c on the screen", context.Background(), tui.ErrInterrupted, 130, ""},
		{"ctrl-c elsewhere", interrupted, context.Canceled, 130, ""},
		{"hostile", context.Background(), errors.New("a\x1b[31mb"), 1, "error: a\\x1b[31mb\n"},
	} {
		var b bytes.Buffer
		if code := exitCode(c.ctx, c.err, &b); code != c.code || b.String() != c.text {
			t.Errorf("%s: %d %q, want %d %q", c.name, code, b.String(), c.code, c.text)
		}
	}
}

func TestNothingFoundIsANoteForAListing(t *testing.T) {
	var errOut bytes.Buffer
	o := &selection{}
	if err := o.empty(&target.NoPodsError{Listing: true}, &errOut); err != nil {
		t.Errorf("a listing: %v", err)
	}
	o.labels = "app=nosuch"
	if err := o.empty(&target.NoPodsError{Listing: true}, &errOut); err == nil {
		t.Error("a selector that matches nothing is an error")
	}
	o.args = []string{"deploy/x"}
	if err := o.empty(&target.NoPodsError{}, &errOut); err == nil {
		t.Error("a workload without pods is an error")
	}
}

func TestValidate(t *testing.T) {
	ok := func() selection { return newSelection(genericclioptions.NewConfigFlags(true)) }
	for name, change := range map[string]func(*selection){
		"--local with a pod":        func(s *selection) { s.local, s.args = true, []string{"a"} },
		"--local with -A":           func(s *selection) { s.local, s.allNamespaces = true, true },
		"a name and a selector":     func(s *selection) { s.args, s.labels = []string{"a"}, "x=y" },
		"a name and all namespaces": func(s *selection) { s.args, s.allNamespaces = []string{"a"}, true },
		"a negative window":         func(s *selection) { s.window = -time.Second },
		"a probe that ends at once": func(s *selection) { s.ttl = time.Second },
		"a probe that never ends":   func(s *selection) { s.ttl = 48 * time.Hour },
	} {
		s := ok()
		change(&s)
		if err := s.validate(); !errors.As(err, &usageError{}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := ok()
	if err := s.validate(); err != nil {
		t.Errorf("defaults: %v", err)
	}
}

// The image comes from the flag, else the variable, else the file, else the
// default; a mistake in the file is told.
func TestProbeImage(t *testing.T) {
	w := func(env, file string) world {
		return world{
			getenv:    func(string) string { return env },
			configDir: func() (string, error) { return "conf", nil },
			readFile: func(path string) ([]byte, error) {
				if file == "" {
					return nil, fs.ErrNotExist
				}
				if !strings.HasSuffix(path, "config.yaml") {
					return nil, io.ErrUnexpectedEOF
				}
				return []byte(file), nil
			},
		}
	}
	for _, c := range []struct{ flag, env, file, want string }{
		{"f", "e", "image: i", "f"},
		{"", "e", "image: i", "e"},
		{"", "", "image: i", "i"},
		{"", "", "", defaultImage},
	} {
		got, err := w(c.env, c.file).probeImage(c.flag)
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if _, err := w("", "imag: typo").probeImage(""); err == nil || !strings.Contains(err.Error(), "config.yaml") {
		t.Errorf("a key that nobody knows: %v", err)
	}
}

// Waiting shows life, but not at once, and not the same line twice.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	clock := time.Unix(0, 0)
	p := newProgress(&b, func() time.Time { return clock }, time.Minute)
	pulling := snap(changed(okPod("a", 0, 0), at(model.StagePulling, "docker.io/x\x1b[2J")), okPod("b", 3, 0))
	p.show(pulling)
	if b.Len() != 0 {
		t.Errorf("talked at once: %q", b.String())
	}
	clock = clock.Add(2 * time.Second)
	p.show(pulling)
	p.show(pulling)
	want := "1 of 2 pods: 1 pulling its image; shop/a: docker.io/x\\x1b[2J\n"
	if b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
	p.done()
}
