package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// meshed is a pod with a proxy as it usually is, in the n-th second: most of it is
// idle, counters grow.
func meshed(i, n int, r *rand.Rand) model.Pod {
	socket := func(inode uint64, depth, limit, drops int64) model.Socket {
		return model.Socket{Inode: model.Known(inode), Depth: model.Known(depth), Limit: model.Known(limit), Drops: model.Known(drops)}
	}
	listener := func(address string, role model.Role, port uint16, s model.Socket) model.Listener {
		return model.Listener{
			Address: address, Port: port, Role: role, Sockets: []model.Socket{s},
			Window: model.ListenerWindow{Overflows: model.Known[int64](0), Peak: s.Depth},
		}
	}
	count := func(rate int) model.Value[int64] { return model.Known(int64(rate*n + r.IntN(rate+1))) }
	seconds := func(share float64) model.Value[float64] {
		return model.Known(share*float64(n) + r.Float64()/10)
	}
	depth := int64(0)
	if r.IntN(10) == 0 {
		depth = int64(r.IntN(20))
	}
	why := "the probe's user may not read it"
	return model.Pod{
		Meta: model.Meta{Name: fmt.Sprintf("server-6bf978ccb4-%05x", i), Namespace: "shop", UID: fmt.Sprintf("6bf978cc-0000-4000-8000-%012x", i*7919), Created: noon},
		Node: fmt.Sprintf("node-%d", i%30), Workload: model.Workload{Kind: "Deployment", Name: fmt.Sprintf("server-%d", i/20)}, Phase: "Running", Ready: true,
		Proxy:      model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true, Version: model.Known("2.366.0"), Image: "cr.l5d.io/linkerd/proxy:edge-26.4.1"},
		Collection: model.Collection{Via: model.ViaProbe, Stage: model.StageOK, Probe: "backlog-probe-1", Until: noon.Add(time.Hour), By: "someone"},
		Sample: model.Sample{
			Seq: uint64(n), Uptime: model.Known(83000.07 + float64(n)*1.01), Sandbox: fmt.Sprintf("uid-%d/backlog-probe-1", i),
			Arrived: noon.Add(time.Duration(n)*time.Second + time.Duration(r.IntN(1e9))),
		},
		Sockets: model.Known[int64](4),
		Listeners: []model.Listener{
			listener("0.0.0.0", model.RoleInbound, 4143, socket(uint64(100000+i*10), depth, 128, 3)),
			listener("127.0.0.1", model.RoleOutbound, 4140, socket(uint64(100001+i*10), 0, 128, 0)),
			listener("::", model.RoleAdmin, 4191, socket(uint64(100002+i*10), 0, 128, 0)),
			listener("*", model.RoleApp, 8080, socket(uint64(100003+i*10), 0, 4096, 0)),
		},
		Counters: model.Counters{
			ListenOverflows: model.Known[int64](7), ListenDrops: model.Known[int64](7), ReqQFullDoCookies: model.Known[int64](0), ReqQFullDrop: model.Known[int64](0),
			SyncookiesSent: model.Known[int64](0), SyncookiesRecv: model.Known[int64](0), PassiveOpens: count(230), Somaxconn: model.Known[int64](4096),
		},
		Window: model.Window{Seconds: model.Known(10.02), Overflows: model.Known[int64](0), Drops: model.Known[int64](0), Accepted: count(2), Unattributed: model.Known[int64](0)},
		Runtime: model.Runtime{
			Workers: model.Known[int64](1), BusySeconds: seconds(0.31), CPUSeconds: seconds(0.29), Parks: count(60), Polls: count(900),
			Steals: model.Known[int64](0), Spills: model.Known[int64](0), LocalQueue: count(0), OpenFDs: model.Known[int64](61), MaxFDs: model.Known[int64](1048576),
			Start: model.Known(1.7e9), Clock: seconds(1), Ready: model.Known(true), Requests: count(115), Failures: model.Known[int64](0),
			Window: model.RuntimeWindow{Seconds: model.Known(10.0), Busy: seconds(0), CPU: seconds(0), Parks: count(1), Polls: count(2), Stalled: model.Known(0.0)},
		},
		Process: model.Process{
			Container: "app", PID: 1, Name: "server", Uptime: model.Known(83000 + float64(n/5*5)), Seconds: model.Known(5.0),
			CPU: model.Known(float64(n/5%7) / 10), Wait: model.Known(0.01), CPUsAllowed: model.Known[int64](16),
			OpenFDs: model.Unknown[int64](why), MaxFDs: model.Known[int64](1048576),
			Threads: []model.Thread{{TID: 1, Name: "server", State: "S", CPU: model.Known(float64(n/5%7) / 10), Wait: model.Known(0.01), Wchan: model.Unknown[string](why)}},
		},
		Knobs: []model.Knob{
			{Name: "workers", Asked: model.Known[int64](1), InForce: model.Known[int64](1), SeenBy: "tokio_rt_workers"},
			{Name: "inbound backlog", Asked: model.Known[int64](128), InForce: model.Known[int64](128), SeenBy: "ss", Chain: []model.Origin{{Where: "default", Value: "128"}}},
		},
		Raw: []model.RawText{
			{Name: "ss", Text: strings.Repeat("0      128          0.0.0.0:4143      0.0.0.0:*    uid:2102 ino:100000 sk:1 cgroup:unreachable:1 <-> skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d3)\n", 4)},
			{Name: "nstat", Text: fmt.Sprintf("#kernel\nTcpPassiveOpens                 %d                 0.0\nTcpExtListenOverflows           7                  0.0\nTcpExtListenDrops               7                  0.0\nTcpExtTCPReqQFullDoCookies      0                  0.0\n", 230*n)},
			{Name: "/metrics", Text: fmt.Sprintf("tokio_rt_workers 1\ntokio_rt_busy_duration_seconds_total %f\ntokio_rt_park_total %d\ntokio_rt_poll_total %d\nprocess_cpu_seconds_total %f\nprocess_open_fds 61\n", 0.31*float64(n), 60*n, 900*n, 0.29*float64(n))},
		},
	}
}

func second(n, pods int, r *rand.Rand) model.Snapshot {
	s := model.Snapshot{Seq: uint64(n), Time: noon.Add(time.Duration(n) * time.Second), Pods: make([]model.Pod, pods)}
	for i := range s.Pods {
		s.Pods[i] = meshed(i, n, r)
	}
	return s
}

// BenchmarkTape is what a second of a thousand pods costs the screen's memory: time,
// and bytes for each sample once a quarter of an hour is remembered.
func BenchmarkTape(b *testing.B) {
	const pods = 1000
	r := rand.New(rand.NewPCG(1, 2))
	tape := NewTape(TapeOptions{Reach: 15 * time.Minute})
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		s := second(n, pods, r)
		b.StartTimer()
		tape.Add(s)
	}
	size := tape.out.Len()
	ticks := tape.ticks
	for _, c := range tape.chunks {
		if c.data != nil {
			size += len(c.data)
			ticks += chunkTicks
		}
	}
	b.ReportMetric(float64(size)/float64(ticks*pods), "bytes/sample")
	b.ReportMetric(float64(size)/float64(ticks)*900/(1<<20), "MiB/15min")
	from, to := tape.Span()
	_ = from
	begun := time.Now()
	p, err := tape.Seek(to.Add(-34 * time.Second))
	if err != nil {
		b.Fatal(err)
	}
	for {
		if _, err := p.Next(); errors.Is(err, io.EOF) {
			break
		}
	}
	b.ReportMetric(time.Since(begun).Seconds()*1000, "ms/look-back")
}

// BenchmarkReplay reads a recording of fifty pods: how many times faster than it was,
// how large it is, and what it needs.
func BenchmarkReplay(b *testing.B) {
	const pods, seconds = 50, 600
	r := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	w, err := NewWriter(z, Header{})
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	for n := range seconds {
		if err := w.Add(second(n, pods, r)); err != nil {
			b.Fatal(err)
		}
	}
	_ = z.Close()
	b.ReportMetric(time.Since(begun).Seconds()/seconds*1e6/pods, "µs-to-write/sample")
	for b.Loop() {
		p, err := NewPlayer(bytes.NewReader(file.Bytes()), "x")
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := p.Next(); errors.Is(err, io.EOF) {
				break
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(seconds/(b.Elapsed().Seconds()/float64(b.N)), "x-real-time")
	b.ReportMetric(float64(file.Len())/pods*3600/seconds/(1<<20), "MiB/pod-hour")
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "MiB-heap")
}
