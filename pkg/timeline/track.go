package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Track is the history of one pod.
type Track struct {
	Meta     model.Meta
	Workload model.Workload

	points []Point
	queues []Queue
	seen   time.Time // the newest snapshot that held it
	last   last
	room   []model.Listener // for the next comparison
}

// Queue is the history of one listener.
type Queue struct {
	Listener model.Listener // its place and role; no sockets
	// Steps are the samples in which something was another than before: between two of
	// them the queue was as the first says, apart from Refused, which is of the sample
	// alone.
	Steps []Step
}

// Step of a queue.
type Step struct {
	at           int64
	depth, limit float32
	refused      float32
}

// Time of the step, in UTC.
func (s Step) Time() time.Time { return time.UnixMilli(s.at).UTC() }

// Depth and Limit of the listener's worst socket.
func (s Step) Depth() model.Value[float64] { return value(s.depth) }

// Limit is the backlog in force.
func (s Step) Limit() model.Value[float64] { return value(s.limit) }

// Refused packets since the sample before.
func (s Step) Refused() model.Value[float64] { return value(s.refused) }

// Points of the track, oldest first. The slice is not to be changed.
func (k *Track) Points() []Point {
	if k == nil {
		return nil
	}
	return k.points
}

// Queues are the histories of its listeners, in the order in which they were seen.
func (k *Track) Queues() []Queue {
	if k == nil {
		return nil
	}
	return k.queues
}

// maxQueues bounds the listeners of a pod whose histories are kept.
const maxQueues = 64

// add takes the pod's samples in: those that came before the newest first.
func (k *Track) add(p *model.Pod, step time.Duration) {
	if p.HostNetwork {
		return
	}
	newest, ok := p.Sample.Uptime.Get()
	if !ok {
		k.addRuntimeOnly(p, step)
		return
	}
	arrived := p.Sample.Arrived
	for i := range p.Earlier {
		e := &p.Earlier[i]
		if up, ok := e.Sample.Uptime.Get(); ok {
			at := arrived.Add(-time.Duration((newest - up) * float64(time.Second)))
			k.sample(e, at, pointOf(e), step)
		}
	}
	now := pointOf(p)
	now.busy, now.workers = figure(p.Runtime.Window.Busy), count(p.Runtime.Workers)
	now.judged(p.Verdicts)
	k.sample(p, arrived, now, step)
}

// addRuntimeOnly takes a pod without frames in, by its proxy's own clock.
func (k *Track) addRuntimeOnly(p *model.Pod, step time.Duration) {
	clock, ok := p.Runtime.Clock.Get()
	if !ok {
		return
	}
	at := time.UnixMilli(int64(clock * 1000))
	if n := len(k.points); n > 0 && k.points[n-1].at >= at.UnixMilli() {
		return
	}
	now := pointOf(p)
	now.busy, now.workers = figure(p.Runtime.Window.Busy), count(p.Runtime.Workers)
	now.judged(p.Verdicts)
	k.put(now, at, step)
}

// pointOf is what a sample says by itself.
func pointOf(p *model.Pod) Point {
	u := unknown()
	out := Point{depth: u, limit: u, refused: u, accepted: u, busy: u, workers: u}
	var worst model.Socket
	fullest := -1.0
	for i := range p.Listeners {
		l := &p.Listeners[i]
		s := l.Worst()
		depth, ok := s.Depth.Get()
		if !ok {
			continue
		}
		if fill := float64(depth) / float64(s.Limit.Or(1<<20)+1); fill > fullest {
			fullest, worst, out.port = fill, s, l.Port
		}
	}
	out.depth, out.limit = count(worst.Depth), count(worst.Limit)
	return out
}

// sample adds one frame.
func (k *Track) sample(p *model.Pod, at time.Time, now Point, step time.Duration) {
	if k.last.seen && k.last.sandbox == p.Sample.Sandbox && p.Sample.Uptime.Or(0) <= k.last.uptime {
		return // it was seen before
	}
	// Nothing is comparable with a sample that was never taken.
	var before model.Pod
	if k.last.seen {
		before.Sample = model.Sample{Uptime: model.Known(k.last.uptime), Sandbox: k.last.sandbox}
		before.Listeners, before.Counters = k.last.listeners, k.last.counters
	}
	window, listeners := model.Between(&before, p, k.room)
	k.room = listeners
	now.seconds = float32(window.Seconds.Or(0))
	now.refused, now.accepted = count(window.Overflows), count(window.Accepted)
	if k.last.seen && !(window.Seconds.Or(mostBetween+1) <= mostBetween) {
		k.gap(at.UnixMilli())
	}
	k.addQueues(listeners, at, window.Seconds.Or(0) <= mostBetween)
	k.put(now, at, step)
	k.last.seen, k.last.uptime, k.last.sandbox = true, p.Sample.Uptime.Or(0), p.Sample.Sandbox
	k.last.listeners, k.last.counters = p.Listeners, p.Counters
}

// put appends a point, or adds it to the last one where that is of the same step.
func (k *Track) put(now Point, at time.Time, step time.Duration) {
	now.at = at.UnixMilli()
	n := len(k.points)
	if ms := step.Milliseconds(); ms > 0 && n > 0 && k.points[n-1].at/ms == now.at/ms {
		k.points[n-1] = k.points[n-1].merge(now)
		return
	}
	k.points = append(k.points, now)
	if len(k.points) > mostPoints {
		k.points = slices.Delete(k.points, 0, len(k.points)-mostPoints)
	}
}

// mostBetween is how many seconds two samples may be apart and still follow each other.
const mostBetween = 5

// gap says of all queues that nobody looked from a second behind the last sample on.
func (k *Track) gap(before int64) {
	for i := range k.queues {
		q := &k.queues[i]
		if n := len(k.points); n > 0 && len(q.Steps) > 0 && !math.IsNaN(float64(q.Steps[len(q.Steps)-1].depth)) {
			q.Steps = append(q.Steps, Step{at: min(k.points[n-1].at+1000, before), depth: unknown(), limit: unknown(), refused: unknown()})
		}
	}
}

// addQueues notes what changed about each listener. Of a sample that does not follow
// the one before what was refused is no burst, and left out; a listener that is no more
// is unknown from then on.
func (k *Track) addQueues(listeners []model.Listener, at time.Time, follows bool) {
	for i := range k.queues {
		q := &k.queues[i]
		if n := len(q.Steps); n > 0 && !math.IsNaN(float64(q.Steps[n-1].depth)) && model.ListenerAt(listeners, q.Listener.Place()) == nil {
			q.Steps = append(q.Steps, Step{at: at.UnixMilli(), depth: unknown(), limit: unknown(), refused: unknown()})
		}
	}
	for i := range listeners {
		l := &listeners[i]
		s := l.Worst()
		now := Step{at: at.UnixMilli(), depth: count(s.Depth), limit: count(s.Limit), refused: count(l.Window.Overflows)}
		if !follows {
			now.refused = unknown()
		}
		q := k.queue(l)
		if q == nil {
			continue
		}
		if n := len(q.Steps); n > 0 {
			was := q.Steps[n-1]
			if same(was.depth, now.depth) && same(was.limit, now.limit) && !(was.refused > 0) && !(now.refused > 0) {
				continue
			}
		}
		q.Steps = append(q.Steps, now)
	}
}

func same(a, b float32) bool { return a == b || a != a && b != b }

func (k *Track) queue(l *model.Listener) *Queue {
	for i := range k.queues {
		if k.queues[i].Listener.Place() == l.Place() {
			return &k.queues[i]
		}
	}
	if len(k.queues) == maxQueues {
		return nil
	}
	k.queues = append(k.queues, Queue{Listener: model.Listener{Address: l.Address, Interface: l.Interface, Port: l.Port, Role: l.Role}})
	return &k.queues[len(k.queues)-1]
}

// drop forgets what is older than a time. Of a queue the newest step before it
// stays, since it says how the queue was from then on.
func (k *Track) drop(before int64) {
	// Not with every sample: moving a thousand points a second is work for nothing.
	const batch = 60
	if len(k.points) > batch && k.points[batch].at < before {
		n := batch
		for n < len(k.points) && k.points[n].at < before {
			n++
		}
		k.points = slices.Delete(k.points, 0, n)
	}
	for i := range k.queues {
		q := &k.queues[i]
		if len(q.Steps) <= batch+1 || q.Steps[batch+1].at >= before {
			continue
		}
		m := batch
		for m+1 < len(q.Steps) && q.Steps[m+1].at < before {
			m++
		}
		q.Steps = slices.Delete(q.Steps, 0, m)
	}
}
