package e2e

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Without a screen: record until something is refused, and make the post-mortem of it.
// The probe's own log says the same when the tool is gone.
func TestRecordUntilOverflow(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("server", burstyEnv()))
	e.running("server")
	dir := t.TempDir()
	path := filepath.Join(dir, "incident.jsonl.gz")
	// A burst comes again and again: the probe has to start first.
	wait := e.background("server", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "200", "-every", "3s", "-for", "60s", "-timeout", "1s")
	r := e.backlog("record", "server", "--yes", "--until", "overflow", "--for", "2m", "-o", path)
	if r.code != 0 || !strings.Contains(r.stderr, "recorded "+path) || !strings.Contains(r.stderr, " refused") {
		t.Fatalf("%d\n%s", r.code, r.stderr)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"describe", "server", "--replay", path}, "burst-overflow"},
		{[]string{"plan", "pod/server", "--replay", path, "--backlog", "512"}, "512"},
		{[]string{"report", path}, "refused packets in all: "},
		{[]string{"compare", path, path}, "unclear"},
	} {
		if r := e.backlog(c.args...); r.code != 0 || !strings.Contains(r.stdout, c.says) {
			t.Errorf("%q: %d, want %q\n%s%s", c.args, r.code, c.says, r.stdout, r.stderr)
		}
	}

	clean := filepath.Join(dir, "public.jsonl")
	if r := e.backlog("record", "redact", path, "-o", clean); r.code != 0 {
		t.Fatalf("%d\n%s", r.code, r.stderr)
	}
	text, err := os.ReadFile(clean)
	if err != nil {
		t.Fatal(err)
	}
	pod := e.get("server")
	for _, name := range []string{e.ns, pod.Spec.NodeName, pod.Status.PodIP, string(pod.UID)} {
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("the redacted recording holds %q", name)
		}
	}
	if r := e.backlog("get", "--replay", clean, "-A"); r.code != 0 || !strings.Contains(r.stdout, "burst-overflow") {
		t.Errorf("redacted: %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	stream, err := cluster.client.CoreV1().Pods(e.ns).GetLogs("server", &corev1.PodLogOptions{Container: "backlog-probe-1", Timestamps: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	log, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "server.log")
	if err := os.WriteFile(own, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.backlog("report", own); r.code != 0 || !strings.Contains(r.stdout, "**server: ") || !strings.Contains(r.stdout, "refused packets in all: ") {
		t.Errorf("the probe's log: %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	wait()
}
