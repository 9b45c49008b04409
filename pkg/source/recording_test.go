package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
)

// snapshotsOf reads a recording to its end.
func snapshotsOf(t *testing.T, path string) ([]model.Snapshot, []string) {
	t.Helper()
	r, err := OpenRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []model.Snapshot
	for {
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, r.Notes()
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
}

func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A probe's log is a recording: it outlives the tool and the session.
func TestProbeLog(t *testing.T) {
	list, notes := snapshotsOf(t, "testdata/probe.log")
	if len(list) != 3 {
		t.Fatalf("%d snapshots", len(list))
	}
	p := list[2].Pods[0]
	if p.Meta.Name != "probe" || p.Listeners[0].Sockets[0].Limit.Or(0) != 5 || !p.Window.Seconds.IsKnown() || len(p.Raw) == 0 {
		t.Errorf("%+v", p)
	}
	if list[0].Time.Unix() != 0 || !list[2].Time.After(list[1].Time) || !strings.Contains(strings.Join(notes, "\n"), "it has no times") {
		t.Errorf("times %v, notes %q", list[0].Time, notes)
	}
	if reason := p.Runtime.Workers.Reason(); !strings.Contains(reason, "neither the pod's spec") {
		t.Errorf("workers are unknown because %q", reason)
	}
}

// With the kubelet's times in front, and cut within a frame.
func TestProbeLogWithTimes(t *testing.T) {
	text, err := os.ReadFile("testdata/probe.log")
	if err != nil {
		t.Fatal(err)
	}
	var stamped strings.Builder
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(&stamped, "%s %s", at.Format(time.RFC3339Nano), line)
		at = at.Add(50 * time.Millisecond)
	}
	whole := stamped.String()
	list, notes := snapshotsOf(t, file(t, "server-0.log", []byte(whole[:strings.LastIndex(whole, "==backlog-frame/1 end")])))
	if len(list) != 2 || list[0].Time.Year() != 2026 || !list[1].Time.After(list[0].Time) {
		t.Fatalf("%d snapshots, the first of %v", len(list), list[0].Time)
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "ends within a frame") || strings.Contains(all, "no times") {
		t.Errorf("%q", notes)
	}
}

func TestRawForm(t *testing.T) {
	list, _ := snapshotsOf(t, "testdata/raw.jsonl.gz")
	if len(list) < 10 {
		t.Fatalf("%d snapshots", len(list))
	}
	last := list[len(list)-1].Pods[0]
	refused := model.Growth(list[0].Pods[0].Counters.ListenOverflows, last.Counters.ListenOverflows).Or(0)
	if refused <= 0 || last.Listeners[0].Port != 8080 || last.Counters.Somaxconn.Or(0) != 4096 {
		t.Errorf("%d refused, %+v", refused, last.Listeners)
	}
}

func TestRawFormByHand(t *testing.T) {
	const ss = `LISTEN 0 16 0.0.0.0:4143 0.0.0.0:* ino:7 sk:1 <-> skmem:(r0,rb1,t0,tb1,f0,w0,o0,bl0,d%d)\n`
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, `{"t_ms":%d,"time":"2026-03-01T12:00:0%dZ","pod":"server-0","namespace":"shop","ss":"`+ss+`","nstat":"#kernel\nTcpExtListenOverflows %d 0.0\nTcpPassiveOpens %d 0.0\n","somaxconn":"4096\n","metrics":"tokio_rt_workers 2\ntokio_rt_busy_duration_seconds_total %d\nprocess_start_time_seconds 1000\nprocess_uptime_seconds_total %d\n"}`+"\n",
			i*1000, i, i*3, i*3, i*10, i, 50+i)
	}
	b.WriteString("not JSON\n{\"t_ms\":-1}\n\n{\"t_ms\":9000,\"ss\":null}\n")
	list, notes := snapshotsOf(t, file(t, "by-hand.jsonl", []byte(b.String())))
	if len(list) != 5 {
		t.Fatalf("%d snapshots, %v", len(list), notes)
	}
	p := list[3].Pods[0]
	if p.Meta.Name != "server-0" || p.Meta.Namespace != "shop" || p.Window.Overflows.Or(0) != 9 || p.Listeners[0].Role != model.RoleInbound ||
		p.Runtime.Workers.Or(0) != 2 || p.Proxy.Adapter != "linkerd" || list[3].Time.Second() != 3 {
		t.Errorf("%+v", p)
	}
	if list[4].Pods[0].Sockets.IsKnown() {
		t.Error("a line without ss tells that nothing listens")
	}
	if !strings.Contains(strings.Join(notes, "\n"), "2 lines of by-hand could not be read") {
		t.Errorf("%q", notes)
	}
}

// Lines of several pods are told apart: the counters of one are not the other's, and a
// snapshot has all of them.
func TestRawFormOfTwoPods(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `{"t_ms":%d,"pod":"a","nstat":"TcpExtListenOverflows %d 0.0\n"}`+"\n", i*1000, i)
		if i < 10 {
			fmt.Fprintf(&b, `{"t_ms":%d,"pod":"b","nstat":"TcpExtListenOverflows 5000 0.0\n"}`+"\n", i*1000+100)
		}
	}
	list, notes := snapshotsOf(t, file(t, "two.jsonl", []byte(b.String())))
	last := list[len(list)-1]
	if len(list) != 40 || len(last.Pods) != 2 || last.Pods[0].Meta.Name != "a" || last.Pods[1].Meta.Name != "b" {
		t.Fatalf("%d snapshots, the last of %+v", len(list), last.Pods)
	}
	if n := last.Pods[0].Window.Overflows.Or(-1); n != 10 {
		t.Errorf("a refused %d in ten seconds", n)
	}
	if b := list[19].Pods[1]; b.Window.Overflows.Or(-1) != 0 || b.Collection.Stage != model.StageOK {
		t.Errorf("b: %+v", b)
	}
	if b := last.Pods[1]; b.Collection.Stage != model.StageStale || len(b.Raw) != 0 {
		t.Errorf("b has no lines any more: %+v", b.Collection)
	}
	if reason := last.Pods[0].Process.Seconds.Reason(); !strings.Contains(reason, "nor its threads") || !strings.Contains(strings.Join(notes, "\n"), "no times of day") {
		t.Errorf("threads are unknown because %q; notes %q", reason, notes)
	}
}

func TestNoForm(t *testing.T) {
	for _, text := range []string{"", "hello\n", "<html>\n", `{"x":1}` + "\n", "\x1f\x8b\x00\x00"} {
		_, err := OpenRecording(file(t, "x", []byte(text)))
		var no *record.NotRecordingError
		if !errors.As(err, &no) {
			t.Errorf("%q: %v", text, err)
		}
	}
	newer := file(t, "newer", []byte(`{"backlogRecording":9}`+"\n"))
	var version *record.VersionError
	if _, err := OpenRecording(newer); !errors.As(err, &version) {
		t.Errorf("%v", err)
	}
}

func FuzzRecordings(f *testing.F) {
	text, err := os.ReadFile("testdata/probe.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"t_ms":0,"ss":"LISTEN 0 1 a:1 b:2","nstat":{"kernel":{}},"somaxconn":4}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, r := range []Recording{
			newLogRecording(bytes.NewReader(text), func() error { return nil }, "x"),
			newRawRecording(bytes.NewReader(text), func() error { return nil }, "x"),
		} {
			for n := 0; n < 1000; n++ {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			_ = r.Notes()
		}
	})
}
