package diagnose

import (
	"cmp"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// facts are what the rules look at, derived once from a history.
type facts struct {
	h *History
	// samples of the window, of one sandbox, with a clock that moves.
	samples []model.Pod
	last    *model.Pod
	// from and to on the pod's clock; seconds between them.
	from, to, seconds model.Value[float64]
	// why there are no samples, when there are none.
	why string
	// total is the window from the first sample to the last, attributed.
	total model.Window
	// counter growth over the window.
	cookies, reqDrops, overflows, drops model.Value[int64]
	// accepted holds, for each sample but the first, the connections that were
	// accepted since the one before; -1 where that is unknown.
	accepted  []int64
	listeners []listener
	// points is room for one listener's figures at a time.
	points []point
	// workers over the whole window, once they were looked at.
	proxyWorkers, appWorkers *workers
	// age of the pod in seconds.
	age model.Value[float64]
	// notReadyUntil is the index of the first sample that was ready after ones that
	// were not; 0 when it was ready all the time; len(samples) when it never was.
	notReadyUntil int
}

func newFacts(h *History, seconds float64) *facts {
	f := &facts{h: h}
	f.cut(seconds)
	if f.last == nil {
		return f
	}
	n := len(f.samples)
	f.age = model.Unknown[float64]("the pod's age is unknown")
	if !f.last.Meta.Created.IsZero() && !f.last.Sample.Arrived.IsZero() {
		f.age = model.Known(f.last.Sample.Arrived.Sub(f.last.Meta.Created).Seconds())
	}
	if n < 2 {
		return f
	}
	first := &f.samples[0]
	got := model.Diff(
		model.Pod{Sample: first.Sample, Listeners: first.Listeners, Counters: first.Counters},
		model.Pod{Sample: f.last.Sample, Listeners: f.last.Listeners, Counters: f.last.Counters, HostNetwork: f.last.HostNetwork},
	)
	f.total = got.Window
	a, b := &first.Counters, &f.last.Counters
	f.overflows, f.drops = f.total.Overflows, f.total.Drops
	f.cookies = model.Growth(a.ReqQFullDoCookies, b.ReqQFullDoCookies)
	f.reqDrops = model.Growth(a.ReqQFullDrop, b.ReqQFullDrop)
	f.countAccepted()
	f.readiness()
	f.listeners = make([]listener, len(got.Listeners))
	f.onlyFullOwns(got.Listeners)
	for i := range got.Listeners {
		f.follow(&f.listeners[i], &got.Listeners[i], i)
	}
	return f
}

// cut keeps the samples of the window: those of the newest sandbox whose clock
// goes forward.
func (f *facts) cut(seconds float64) {
	all := f.h.Samples
	f.seconds = model.Unknown[float64]("no window yet")
	if len(all) == 0 {
		f.why = "no sample yet"
		return
	}
	f.last = &all[len(all)-1]
	to, ok := f.last.Sample.Uptime.Get()
	if !ok {
		f.why = cmp.Or(f.last.Sample.Uptime.Reason(), "the pod's clock was not read")
		return
	}
	start, next := len(all)-1, to
	for i := len(all) - 2; i >= 0; i-- {
		up, ok := all[i].Sample.Uptime.Get()
		// A sample may be handed over twice when no newer frame has come.
		if !ok || up > next || to-up > seconds+0.5 || all[i].Sample.Sandbox != f.last.Sample.Sandbox {
			break
		}
		start, next = i, up
	}
	f.samples = distinct(all[start:])
	f.from, f.to = model.Known(next), model.Known(to)
	f.seconds = model.Known(to - next)
}

// distinct leaves out samples whose clock stands still: the same frame again.
// The slice is not copied when there are none.
func distinct(samples []model.Pod) []model.Pod {
	same := func(i int) bool { return samples[i].Sample.Uptime == samples[i-1].Sample.Uptime }
	for i := 1; i < len(samples); i++ {
		if !same(i) {
			continue
		}
		out := append(make([]model.Pod, 0, len(samples)), samples[:i]...)
		for ; i < len(samples); i++ {
			if same(i) {
				out[len(out)-1] = samples[i]
			} else {
				out = append(out, samples[i])
			}
		}
		return out
	}
	return samples
}

// at is the pod's clock at a sample.
func (f *facts) at(i int) float64 { return f.samples[i].Sample.Uptime.Or(0) }

// countAccepted tells of each sample what was accepted since the one before.
func (f *facts) countAccepted() {
	f.accepted = make([]int64, len(f.samples))
	f.accepted[0] = -1
	for i := 1; i < len(f.samples); i++ {
		f.accepted[i] = model.Accepted(&f.samples[i-1], &f.samples[i]).Or(-1)
	}
}

// readiness looks at the proxy's own readiness first, which is asked, and at
// Kubernetes' only for a pod that is young: a pod that hangs is not ready either.
func (f *facts) readiness() {
	for i := range f.samples {
		if !f.isReady(&f.samples[i]) {
			f.notReadyUntil = i + 1
		}
	}
}

func (f *facts) isReady(p *model.Pod) bool {
	if r, ok := p.Runtime.Ready.Get(); ok {
		return r
	}
	age, ok := f.age.Get()
	return p.Ready || !ok || age > startSeconds
}

// onlyFullOwns: where the sockets' own drop counts are not told, the only queue
// that was ever full is the one that refused.
func (f *facts) onlyFullOwns(listeners []model.Listener) {
	n, ok := f.total.Unattributed.Get()
	if !ok || n == 0 {
		return
	}
	owner := -1
	for i := range listeners {
		for j := range f.samples {
			old := same(f.samples[j].Listeners, &listeners[i], i)
			if old == nil {
				continue
			}
			if p := pointOf(old); p.ok && p.full() {
				if owner >= 0 {
					return
				}
				owner = i
				break
			}
		}
	}
	if owner < 0 {
		return
	}
	for i := range listeners {
		listeners[i].Window.Overflows = model.Known[int64](0)
	}
	listeners[owner].Window.Overflows = model.Known(n)
	f.total.Unattributed = model.Known[int64](0)
}

// acceptedPerSecond is over the whole window.
func (f *facts) acceptedPerSecond() model.Value[float64] { return f.total.PerSecond(f.total.Accepted) }
