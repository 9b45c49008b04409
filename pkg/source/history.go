package source

import (
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// history keeps the newest frames and metric readings of one pod, as far back
// as a window reaches.
type history struct {
	window   time.Duration
	frames   []frame
	readings []model.Runtime
	queues   queues
	threads  threads
	owners   owners
	// earlier are the frames since the last snapshot.
	earlier []frame
}

// frame is one sample of a pod's queues.
type frame struct {
	sample    model.Sample
	listeners []model.Listener
	sockets   model.Value[int64]
	counters  model.Counters
	notes     []string
	// process is what the threads did, in a frame that shows them.
	process *model.Process
	// raw are its sections as they came; of frames that were shown already, none.
	raw []model.RawText
}

// mostEarlier bounds the frames that are kept for the next snapshot.
const mostEarlier = 64

// addFrame keeps a frame and forgets those that no window reaches any more. A
// frame of another sandbox, or whose clock went back, starts the history afresh.
func (h *history) addFrame(f parse.Frame, sandbox string, arrived time.Time) {
	if n := len(h.frames); n > 0 {
		last := h.frames[n-1].sample
		if last.Sandbox != sandbox || f.Uptime.Or(0) < last.Uptime.Or(0) {
			h.frames, h.earlier = h.frames[:0], h.earlier[:0]
			h.queues, h.threads, h.owners = queues{}, threads{}, owners{}
		}
	}
	h.owners.take(&f)
	next := frame{
		sample:    model.Sample{Seq: f.Seq, Uptime: f.Uptime, Arrived: arrived, Sandbox: sandbox},
		listeners: model.GroupSockets(f.Sockets),
		sockets:   socketsOf(f),
		counters:  f.Counters,
		notes:     notesOf(f),
		raw:       rawOf(f),
	}
	if n := len(h.frames); n > 0 {
		h.frames[n-1].raw = nil // where nobody has seen it, it is among the earlier ones
	}
	h.frames = append(h.frames, next)
	h.queues.take(f, next.listeners)
	h.threads.take(f.Process)
	if f.Process != nil {
		p := h.threads.at(f.Uptime)
		next.process = &p
	}
	h.earlier = append(h.earlier, next)
	h.earlier = trim(h.earlier, len(h.earlier)-mostEarlier)
	// One frame more than the window, so that there is one at or before its start.
	keep := 0
	for keep+1 < len(h.frames) && next.sample.Uptime.Or(0)-h.frames[keep+1].sample.Uptime.Or(0) >= h.window.Seconds() {
		keep++
	}
	h.frames = trim(h.frames, keep)
}

// socketsOf counts the listening sockets. A frame that could not read them does
// not tell that nothing listens.
func socketsOf(f parse.Frame) model.Value[int64] {
	if !f.SocketsRead {
		return model.Unknown[int64]("the frame does not tell which sockets listen")
	}
	return model.Known(int64(len(f.Sockets)))
}

// rawOf gives the sections' own words.
func rawOf(f parse.Frame) []model.RawText {
	raw := make([]model.RawText, len(f.Sections))
	for i, s := range f.Sections {
		raw[i] = model.RawText{Name: strings.TrimSpace(s.Name + " " + s.Arg), Text: s.Text}
	}
	return raw
}

// notesOf gives what the sampler and the parsers had to say of a frame.
func notesOf(f parse.Frame) []string {
	notes := append([]string(nil), f.Notes...)
	for _, w := range f.Warnings {
		notes = append(notes, w.Error())
	}
	return notes
}

// addReading keeps a reading of the proxy's metrics.
func (h *history) addReading(r model.Runtime) {
	h.readings = append(h.readings, r)
	// A window begins at an observed refresh, which needs the reading before it:
	// keep a few seconds more than the window.
	reach := h.window.Seconds() + 4
	keep := 0
	for keep+2 < len(h.readings) && r.Clock.Or(0)-h.readings[keep+1].Clock.Or(0) >= reach {
		keep++
	}
	const most = 512
	keep = max(keep, len(h.readings)-most)
	h.readings = trim(h.readings, keep)
}

// trim forgets the first n elements without growing the backing array for ever.
func trim[T any](s []T, n int) []T {
	if n <= 0 {
		return s
	}
	kept := copy(s, s[n:])
	clear(s[kept:])
	return s[:kept]
}

// fill puts the newest frame and the window up to it into p.
func (h *history) fill(p *model.Pod) {
	if len(h.frames) == 0 {
		*p = model.NoWindow(*p, "no frame yet")
		p.Process, p.Sockets = model.UnknownProcess("no frame yet"), model.Unknown[int64]("no frame yet")
		return
	}
	newest := h.frames[len(h.frames)-1]
	p.Sample, p.Counters, p.Sockets = newest.sample, newest.counters, newest.sockets
	p.Earlier = h.takeEarlier()
	p.Raw = append(p.Raw, newest.raw...)
	p.Listeners = append([]model.Listener(nil), newest.listeners...)
	p.Notes = append(p.Notes, newest.notes...)
	oldest := h.frames[0]
	prev := model.Pod{Sample: oldest.sample, Listeners: oldest.listeners, Counters: oldest.counters}
	*p = model.Diff(prev, *p)
	p.Process = h.threads.at(newest.sample.Uptime)
	h.queues.fill(p.Listeners, newest.sample.Uptime)
	for i := range p.Listeners {
		for _, f := range h.frames {
			p.Listeners[i].Window.Peak = higher(p.Listeners[i].Window.Peak, depthOf(f.listeners, p.Listeners[i]))
		}
	}
}

// takeEarlier gives the frames since it was called last, without the newest.
func (h *history) takeEarlier() []model.Pod {
	n := len(h.earlier)
	if n == 0 {
		return nil
	}
	pods := make([]model.Pod, 0, n-1)
	for _, f := range h.earlier[:n-1] {
		p := model.Pod{
			Sample: f.sample, Sockets: f.sockets, Listeners: f.listeners, Counters: f.counters, Raw: f.raw,
			Process: model.UnknownProcess("the frame does not show the threads"),
		}
		if f.process != nil {
			p.Process = *f.process
		}
		pods = append(pods, p)
	}
	clear(h.earlier)
	h.earlier = h.earlier[:0]
	return pods
}

// depthOf is the depth of the fullest socket of a listener in an older frame.
func depthOf(listeners []model.Listener, l model.Listener) model.Value[int64] {
	best := model.Unknown[int64]("not listening then")
	if o := model.ListenerAt(listeners, l.Place()); o != nil {
		for _, s := range o.Sockets {
			best = higher(best, s.Depth)
		}
	}
	return best
}

func higher(a, b model.Value[int64]) model.Value[int64] {
	if !a.IsKnown() || b.Or(-1) > a.Or(-1) {
		if b.IsKnown() {
			return b
		}
	}
	return a
}
