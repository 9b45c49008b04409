package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// series is what a pod's own nstat says again and again, by the pod's own clock.
// It is written down in the pod, past the program and past every connection that a
// test may break.
type series struct {
	read    []reading
	busy    []workload // of a proxy
	checked int        // figures
}

// reading was made between two moments of the pod's clock.
type reading struct {
	from, to         float64
	overflows, opens int64
}

// workload is the time that a proxy's workers had spent, by the proxy's own clock.
type workload struct{ clock, busy float64 }

const (
	seriesFile = "/dev/shm/series"
	busyFile   = "/dev/shm/busy"
)

// record begins to write down a pod's counters, five times a second, for three
// minutes at most.
func (e *env) record(pod string) {
	e.Helper()
	e.detach(pod, "tools", "sh", "-c", `i=0
		while [ $((i += 1)) -lt 900 ] && read up rest </proc/uptime; do
			nstat -asz TcpExtListenOverflows TcpPassiveOpens | {
				while read name value rest; do
					case $name in *Overflows) o=$value ;; *Opens) p=$value ;; esac
				done
				read now rest </proc/uptime
				echo "$up $now $o $p"
			}
			sleep 0.2
		done >`+seriesFile)
}

// recordProxy does the same with the metrics of a pod's proxy.
func (e *env) recordProxy(pod string) {
	e.Helper()
	e.detach(pod, "tools", "sh", "-c", `i=0
		while [ $((i += 1)) -lt 500 ]; do
			wget -q -O - http://127.0.0.1:4191/metrics | {
				while read name value; do
					case $name in tokio_rt_busy_seconds_total) b=$value ;; process_start_time_seconds) s=$value ;; process_uptime_seconds_total) u=$value ;; esac
				done
				echo "$s $u $b"
			}
			sleep 0.3
		done >`+busyFile)
}

// detach runs a command in a container that goes on when nobody listens.
func (e *env) detach(pod, container string, command ...string) {
	e.Helper()
	e.exec(pod, container, append([]string{"sh", "-c", `"$@" </dev/null >/dev/null 2>&1 &`, "sh"}, command...)...)
}

// recorded is what was written down so far.
func (e *env) recorded(pod string) *series {
	e.Helper()
	s := &series{}
	for _, line := range strings.Split(e.exec(pod, "tools", "cat", seriesFile), "\n") {
		var r reading
		if n, err := fmt.Sscan(line, &r.from, &r.to, &r.overflows, &r.opens); err == nil && n == 4 {
			s.read = append(s.read, r)
		}
	}
	for _, line := range strings.Split(e.exec(pod, "tools", "sh", "-c", "cat "+busyFile+" 2>/dev/null || true"), "\n") {
		var start, uptime, busy float64
		if n, err := fmt.Sscan(line, &start, &uptime, &busy); err == nil && n == 3 {
			s.busy = append(s.busy, workload{start + uptime, busy})
		}
	}
	if len(s.read) < 10 {
		e.Fatalf("only %d readings of the counters of pod %s", len(s.read), pod)
	}
	return s
}

// slack is how long after a frame's begin its counters may have been read. On a
// machine that is short of CPU the test's own readings take longer too.
func (s *series) slack(begin float64) float64 {
	slack := 0.7
	for _, r := range s.read {
		if r.to > begin-5 && r.from < begin+5 {
			slack = max(slack, 0.7+2*(r.to-r.from))
		}
	}
	return slack
}

// between bounds how far a counter grew between two frames.
func (s *series) between(from, to float64, pick func(reading) int64) (least, most int64) {
	at := func(t float64) (low, high int64) {
		slack := s.slack(t)
		low, high = -1, -1
		for _, r := range s.read {
			if r.to <= t {
				low = pick(r)
			}
			if r.from >= t+slack && high < 0 {
				high = pick(r)
			}
		}
		return low, high
	}
	low0, high0 := at(from)
	low1, high1 := at(to)
	if low0 < 0 || high0 < 0 || low1 < 0 || high1 < 0 {
		return -1, -1
	}
	return max(0, low1-high0), high1 - low0
}

// check holds a printed pod against what really happened in its window.
func (s *series) check(t *testing.T, when string, p item) {
	t.Helper()
	sane(t, when, p)
	s.checkBusy(t, when, p)
	end, known := p.Sample.Uptime.Get()
	seconds, windowed := p.Window.Seconds.Get()
	if !known || !windowed {
		return
	}
	for what, c := range map[string]struct {
		printed model.Value[int64]
		pick    func(reading) int64
		off     int64
	}{
		"overflows": {p.Window.Overflows, func(r reading) int64 { return r.overflows }, 0},
		// What was opened, less the growth of the queue, of at most 129 here.
		"accepted connections": {p.Window.Accepted, func(r reading) int64 { return r.opens }, 129},
	} {
		n, ok := c.printed.Get()
		least, most := s.between(end-seconds, end, c.pick)
		switch {
		case !ok:
			t.Errorf("%s: %s are unknown: %s", when, what, c.printed.Reason())
		case most < 0: // before the series began, or after its end
		case n > most+c.off || n < least-c.off:
			t.Errorf("%s: %d %s in %.1f s, the pod's own counters say %d to %d", when, n, what, seconds, least, most)
		default:
			s.checked++
		}
	}
}

// checkBusy holds a busy ratio against the proxy's own figures: at the beginning
// of its window they must have been what the ratio says.
func (s *series) checkBusy(t *testing.T, when string, p item) {
	t.Helper()
	w := p.Runtime.Window
	busy, known := w.Busy.Get()
	if !known || w.Clamped || len(s.busy) == 0 {
		return
	}
	seconds := w.Seconds.Or(0)
	began := p.Runtime.BusySeconds.Or(0) - busy*seconds*float64(p.Runtime.Workers.Or(0))
	// The window ends at the last refresh, some second before the page was read,
	// and its length is rounded by up to a quarter of one.
	from, to := p.Runtime.Clock.Or(0)-seconds-2, p.Runtime.Clock.Or(0)-seconds+0.5
	least, most := -1.0, -1.0
	for _, r := range s.busy {
		if r.clock <= from {
			least = r.busy
		}
		if r.clock >= to && most < 0 {
			most = r.busy
		}
	}
	if least < 0 || most < 0 {
		return // before or after what was recorded
	}
	if began < least-0.01 || began > most+0.01 {
		t.Errorf("%s: busy %.2f over %.1f s, so that %.2f s were spent before, the proxy says %.2f to %.2f", when, busy, seconds, began, least, most)
	}
	s.checked++
}
