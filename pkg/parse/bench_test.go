package parse

import (
	"fmt"
	"strings"
	"testing"
)

// benchFrame is a frame as a probe prints it for a pod with ten listeners.
func benchFrame() string {
	var ss strings.Builder
	for i := range 10 {
		fmt.Fprintf(&ss, "LISTEN 0      128          0.0.0.0:%d 0.0.0.0:* ino:%d sk:%d cgroup:/ <-> skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d0)\n", 4140+i, 104029+i, i)
	}
	nstat := "#kernel\n"
	for _, name := range CounterNames() {
		nstat += fmt.Sprintf("%-32s%-19d0.0\n", name, 12345)
	}
	return oneFrame("ss", ss.String(), "nstat", nstat, "somaxconn", "4096\n")
}

// A screen reads one such frame a second from each of fifty pods.
func BenchmarkFrame(b *testing.B) {
	text := benchFrame()
	in := &endless{line: []byte(text)}
	r := NewFrameReader(in)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := r.Next()
		if err != nil || len(f.Sockets) != 10 || len(f.Warnings) > 0 {
			b.Fatalf("%+v %v", f, err)
		}
	}
}

// The same pod without ss and nstat.
func BenchmarkFrameFromProc(b *testing.B) {
	text := readFile(b, "testdata/frames/without-ss.log")
	text = text[:strings.Index(text, "==backlog-frame/1 end seq=1==")] + "==backlog-frame/1 end seq=1==\n"
	r := NewFrameReader(&endless{line: []byte(text)})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if f, err := r.Next(); err != nil || len(f.Sockets) != 2 {
			b.Fatalf("%+v %v", f, err)
		}
	}
}

// With -p, 200 holders of one socket.
func BenchmarkListenSocketsManyHolders(b *testing.B) {
	var users []string
	for i := range 200 {
		users = append(users, fmt.Sprintf(`("nginx",pid=%d,fd=7)`, 1000+i))
	}
	text := "LISTEN 0 511 0.0.0.0:80 0.0.0.0:* users:(" + strings.Join(users, ",") + ") skmem:(r0,bl0,d0)\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if s, _ := ListenSockets(text); len(s) != 1 || len(s[0].Owners) != 200 {
			b.Fatal(s)
		}
	}
}

// A whole page of a real proxy under load.
func BenchmarkReadMetrics(b *testing.B) {
	text := readFile(b, "testdata/metrics/linkerd-loaded.txt")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if m, err := ReadMetrics(strings.NewReader(text)); err != nil || m.Len() < 300 {
			b.Fatal(m, err)
		}
	}
}

// The same page for the names that the screen needs.
func BenchmarkReadMetricsOnly(b *testing.B) {
	text := readFile(b, "testdata/metrics/linkerd-loaded.txt")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := ReadMetricsOnly(strings.NewReader(text), "tokio_rt_", "process_", "proxy_build_info")
		if err != nil || m.Len() < 20 {
			b.Fatal(m, err)
		}
	}
}
