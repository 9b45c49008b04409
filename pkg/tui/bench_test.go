package tui

import (
	"runtime"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// thousand is the n-th second of a thousand pods in forty workloads, some of them
// overflowing.
func thousand(n int) model.Snapshot {
	s := many(1000, n)
	for i := range s.Pods {
		p := &s.Pods[i]
		p.Workload.Name = "app-" + string(rune('a'+i%20)) + string(rune('a'+i%2))
		if i%25 == 0 {
			p.Verdicts = []model.Verdict{{Class: model.ClassBurst, Severity: model.SeverityWarning, Sentence: "Bursts exceed the queue."}}
		} else {
			p.Verdicts = []model.Verdict{{Class: model.ClassHealthy, Severity: model.SeverityInfo}}
		}
	}
	return s
}

// BenchmarkFrame1000 is what one snapshot of 1,000 pods costs with a quarter of an
// hour in the timeline: Update and View. It has to stay under 5 ms.
func BenchmarkFrame1000(b *testing.B) {
	a := screen(b, 200, 50)
	const seconds = 900
	for n := 1; n <= seconds; n++ {
		deliver(a, thousand(n))
	}
	next := make([]model.Snapshot, 20)
	for i := range next {
		next[i] = thousand(seconds + 1 + i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i > 0 && i%len(next) == 0 {
			b.StopTimer()
			for j := range next {
				next[j] = thousand(seconds + 1 + i + j)
			}
			runtime.GC() // what made the snapshots is not the frame's to pay for
			b.StartTimer()
		}
		deliver(a, next[i%len(next)])
		_ = a.View()
		i++
	}
}
