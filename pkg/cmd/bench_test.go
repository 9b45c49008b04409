package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// fleet is a source of many pods, one sample a second.
type fleet struct{ n, pods int }

func (f *fleet) Close() {}

func (f *fleet) Next(context.Context) (model.Snapshot, error) {
	f.n++
	s := burstAt(f.n)
	one := s.Pods[0]
	s.Pods = make([]model.Pod, f.pods)
	for i := range s.Pods {
		p := one
		p.Meta.Name, p.Meta.UID = fmt.Sprintf("server-%05d", i), fmt.Sprintf("uid-%05d", i)
		p.Sample.Sandbox = p.Meta.UID
		p.Workload.Name = fmt.Sprintf("server-%d", i/20)
		p.Counters.PassiveOpens = model.Known(int64(f.n*(50+i%40) + i))
		p.Counters.ListenOverflows, p.Counters.ListenDrops = model.Known[int64](0), model.Known[int64](0)
		p.Listeners = make([]model.Listener, 4)
		for j, port := range []uint16{4143, 4140, 4191, 8080} {
			depth := int64(0)
			if j == 0 && (f.n*7+i*13)%11 == 0 {
				depth = int64((f.n + i) % 20)
			}
			p.Listeners[j] = model.Listener{Address: "0.0.0.0", Port: port, Role: model.RoleApp, Sockets: []model.Socket{{
				Address: "0.0.0.0", Port: port, Inode: model.Known(uint64(i*10 + j)), Depth: model.Known(depth), Limit: model.Known[int64](128), Drops: model.Known[int64](0),
			}}}
		}
		busy := float64((f.n*31+i*17)%100) / 200
		p.Runtime = model.Runtime{
			Workers: model.Known[int64](1), BusySeconds: model.Known(float64(f.n) * 0.3), CPUSeconds: model.Known(float64(f.n) * 0.28),
			Parks: model.Known(int64(60 * f.n)), Polls: model.Known(int64(900*f.n + i)), Start: model.Known(1e9), Clock: model.Known(1e9 + float64(f.n)),
			Window: model.RuntimeWindow{Seconds: model.Known(10.0), Busy: model.Known(busy), CPU: model.Known(busy), Parks: model.Known[int64](600), Polls: model.Known[int64](9000), Stalled: model.Known(0.0)},
		}
		s.Pods[i] = p
	}
	return s, nil
}

// BenchmarkFleet is what the screen's memory has to hold: a thousand pods and a quarter
// of an hour at one sample a second, judged, remembered and drawn from. It takes a
// minute or two.
func BenchmarkFleet(b *testing.B) {
	const pods, seconds = 1000, 900
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // as the program has it
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		k := newKeeping(&fleet{pods: pods}, judgeAnew)
		line := timeline.New(timeline.Options{Reach: 20 * time.Minute})
		highest := uint64(0)
		var m runtime.MemStats
		begun := time.Now()
		var spent time.Duration
		for n := range seconds {
			s, err := k.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			line.Add(s)
			if n%50 == 0 || n == seconds-1 {
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			}
		}
		spent = time.Since(begun)
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-live")
		b.ReportMetric(float64(highest)/(1<<20), "MiB-highest")
		b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), "MiB-of-the-system")
		b.ReportMetric(spent.Seconds()/seconds*1000, "ms/second-of-1000-pods")
		at := time.Now()
		if _, err := k.At(b.Context(), burstAt(450).Time); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(at).Seconds()*1000, "ms/look-back")
		runtime.KeepAlive(line)
		runtime.KeepAlive(k)
	}
}

// BenchmarkReplayedFleet plays a recording of fifty pods through the judge, as fast as
// it goes: how many times faster than it was.
func BenchmarkReplayedFleet(b *testing.B) {
	const pods, seconds = 50, 600
	path := filepath.Join(b.TempDir(), "fleet.jsonl.gz")
	file, err := record.Create(path, record.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	src := &fleet{pods: pods}
	for range seconds {
		s, _ := src.Next(b.Context())
		if err := file.Add(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	r := replaying{path: path}
	for b.Loop() {
		if _, err := r.read(b.Context(), time.Time{}, time.Time{}, nil, func(model.Snapshot) {}); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(seconds/(b.Elapsed().Seconds()/float64(b.N)), "x-real-time")
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), "MiB-of-the-system")
}
