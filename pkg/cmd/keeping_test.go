package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// bursts is a source of one pod that a burst overflows from second 60 to 90.
type bursts struct{ n int }

func (b *bursts) Close() {}

func (b *bursts) Next(context.Context) (model.Snapshot, error) {
	b.n++
	if b.n > 300 {
		return model.Snapshot{}, io.EOF
	}
	return burstAt(b.n), nil
}

func burstAt(n int) model.Snapshot {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	refused := int64(max(0, min(n, 90)-60)) * 12
	p := model.Pod{
		Meta: model.Meta{Name: "server-0", Namespace: "shop", UID: "u", Created: at.Add(-time.Hour)}, Phase: "Running", Ready: true,
		Workload:   model.Workload{Kind: "Deployment", Name: "server"},
		Proxy:      model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy"},
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1"},
		Sample:     model.Sample{Seq: uint64(n), Uptime: model.Known(1000 + float64(n)), Sandbox: "s", Arrived: at},
		Sockets:    model.Known[int64](1),
		Listeners: []model.Listener{{Address: "0.0.0.0", Port: 4143, Role: model.RoleInbound, Sockets: []model.Socket{{
			Address: "0.0.0.0", Port: 4143, Inode: model.Known[uint64](7), Depth: model.Known[int64](0), Limit: model.Known[int64](16), Drops: model.Known(refused),
		}}}},
		Counters: model.Counters{
			ListenOverflows: model.Known(refused), ListenDrops: model.Known(refused), PassiveOpens: model.Known(int64(50 * n)), Somaxconn: model.Known[int64](4096),
			ReqQFullDoCookies: model.Known[int64](0), ReqQFullDrop: model.Known[int64](0), SyncookiesSent: model.Known[int64](0), SyncookiesRecv: model.Known[int64](0),
		},
		Runtime: model.UnknownRuntime("no metrics"), Process: model.UnknownProcess("not read"),
		Raw: []model.RawText{{Name: "nstat", Text: "TcpExtListenOverflows 7\n"}},
	}
	return model.Snapshot{Seq: uint64(n), Time: at, Pods: []model.Pod{p}}
}

func judgeAnew(src source.Source) *judged {
	return &judged{Source: src, ledger: diagnose.NewLedger(diagnose.Options{})}
}

// seen is what a screen saw of so many seconds.
func seen(t *testing.T, seconds int) *keeping {
	t.Helper()
	k := newKeeping(&bursts{}, judgeAnew)
	for range seconds {
		if _, err := k.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func classOf(s model.Snapshot) model.Class {
	if len(s.Pods) == 0 || len(s.Pods[0].Verdicts) == 0 {
		return ""
	}
	return s.Pods[0].Verdicts[0].Class
}

// A look back says of a moment what was said then.
func TestLookBack(t *testing.T) {
	live := judgeAnew(&bursts{})
	var then []model.Class
	for range 300 {
		s, err := live.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		then = append(then, classOf(s))
	}
	k := seen(t, 300)
	for _, n := range []int{59, 70, 88, 100, 115, 180, 300} {
		s, err := k.At(t.Context(), burstAt(n).Time.Add(300*time.Millisecond))
		if err != nil || s.Seq != uint64(n) {
			t.Fatalf("second %d: tick %d, %v", n, s.Seq, err)
		}
		if got, want := classOf(s), then[n-1]; got != want {
			t.Errorf("second %d: %q, it was %q", n, got, want)
		}
	}
	if s, err := k.At(t.Context(), burstAt(1).Time.Add(-time.Hour)); err != nil || s.Seq != 1 {
		t.Errorf("before the beginning: tick %d, %v", s.Seq, err)
	}
	if _, err := newKeeping(&bursts{}, judgeAnew).At(t.Context(), time.Time{}); err == nil {
		t.Error("nothing was remembered, and it was shown")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.At(gone, burstAt(100).Time); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestRecordingOnTheScreen(t *testing.T) {
	k := newKeeping(&bursts{}, judgeAnew)
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	next := func(n int) {
		for range n {
			if _, err := k.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	next(10)
	if _, err := k.record(path, true, record.Header{Title: "shop"}); err != nil {
		t.Fatal(err)
	}
	next(20)
	if _, err := k.record(path, false, record.Header{}); err != nil {
		t.Fatal(err)
	}
	next(5)
	p, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ticks := 0
	for {
		s, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		ticks++
		if s.Seq != uint64(10+ticks) || s.Pods[0].Raw[0].Text == "" {
			t.Fatalf("%+v", s)
		}
	}
	if ticks != 20 || len(p.Notes()) != 0 {
		t.Errorf("%d ticks, %v", ticks, p.Notes())
	}
	if _, err := k.record("/nowhere/x", true, record.Header{}); err == nil {
		t.Error("a file that cannot be made")
	}
	if _, err := k.record("", false, record.Header{}); err == nil {
		t.Error("there is no recording to end")
	}
}

// A recording that cannot be written any more ends, and the screen goes on.
func TestDiskIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	k := seen(t, 3)
	path := filepath.Join(t.TempDir(), "full.jsonl")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	_, err := k.record(path, true, record.Header{})
	if err == nil {
		_, err = k.Next(t.Context())
		if text, stopped := k.problem(); err != nil || !stopped || !strings.Contains(text, "no space left") {
			t.Errorf("%v: %q %v", err, text, stopped)
		}
		return
	}
	if !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
}

func TestEvidence(t *testing.T) {
	k := seen(t, 100)
	dir := t.TempDir()
	flight, err := record.StartFlight(filepath.Join(dir, "flight"), record.FlightOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	k.flight = flight
	for range 20 {
		if _, err := k.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	e := evidence{past: k.past, player: k.player, client: fake.NewClientset(), header: record.Header{Title: "prod/shop"}, now: func() time.Time { return burstAt(120).Time }}
	folder, err := e.save(t.Context(), dir, k.newest().Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := "backlog-evidence-server-0-20260301T120200Z"; filepath.Base(folder) != want {
		t.Errorf("%s", folder)
	}
	for name, want := range map[string]string{
		"report.html": "burst-overflow", "report.md": "burst-overflow", "pod.json": `"kind": "PodBacklog"`, "raw.txt": "TcpExtListenOverflows 7",
		"linkerd-proxy.log": "fake logs",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%.300s", name, err, text)
		}
	}
	p, err := record.Open(filepath.Join(folder, "frames.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if s, err := p.Next(); err != nil || s.Pods[0].Raw == nil {
		t.Errorf("%v %+v", err, s)
	}
	notes := strings.Join(k.close(), "\n")
	if !strings.Contains(notes, "flight recorder: "+flight.Path()) {
		t.Errorf("%s", notes)
	}
}

func TestFileName(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"server-0":            "backlog-server-0-20260301T120000Z",
		"../../etc/passwd":    "backlog-etc-passwd-20260301T120000Z",
		"a b;rm -rf\x1b[31m$": "backlog-a-b-rm--rf--31m-20260301T120000Z",
	} {
		if got := fileName(name, at); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
