package diagnose

import (
	"fmt"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Ledger keeps what Judge needs of each pod from one snapshot to the next. It is
// for one reader at a time.
type Ledger struct {
	options Options
	pods    map[string]*account
}

// account is the history of one pod.
type account struct {
	samples []model.Pod
	// refused is the pod's clock when packets were last refused, as far as was seen,
	// in the sandbox of the newest sample.
	refused  model.Value[float64]
	verdicts []model.Verdict
	seen     bool
}

// spareSeconds is how much longer than the window samples are kept, in seconds of
// the pod's clock: a window begins at a sample at or before its start.
const spareSeconds = 2.0

// maxSamples bounds the history of a pod whose clock misbehaves.
const maxSamples = 512

// NewLedger starts with no history.
func NewLedger(o Options) *Ledger {
	if o.Window <= 0 {
		o.Window = window
	}
	return &Ledger{options: o, pods: map[string]*account{}}
}

// Judge adds a snapshot to the history and fills in the verdicts of its pods.
// Pods that are no longer in it are forgotten.
func (l *Ledger) Judge(s *model.Snapshot) {
	workloads := map[string][]*model.Pod{}
	var order []string
	for i := range s.Pods {
		p := &s.Pods[i]
		l.judge(p)
		if p.Workload.Name == "" {
			continue
		}
		key := p.Meta.Namespace + "/" + p.Workload.Kind + "/" + p.Workload.Name
		if workloads[key] == nil {
			order = append(order, key)
		}
		workloads[key] = append(workloads[key], p)
	}
	for _, key := range order {
		pods := workloads[key]
		for i, siblings := range siblingsOf(pods) {
			AddSiblings(pods[i].Verdicts, siblings)
		}
	}
	for key, a := range l.pods {
		if !a.seen {
			delete(l.pods, key)
		}
		a.seen = false
	}
}

// judge judges one pod. A tick without a new sample leaves the verdicts as they
// are: time that passes here is not time seen there.
func (l *Ledger) judge(p *model.Pod) {
	a := l.pods[p.Key()]
	if a == nil {
		a = &account{}
		l.pods[p.Key()] = a
	}
	a.seen = true
	if a.add(p, l.options.Window) {
		a.verdicts = Keep(a.verdicts, Judge(History{Samples: a.samples, Refused: a.refused}, l.options))
	}
	p.Verdicts = cloned(a.verdicts)
}

// add takes a pod as it is now, with the samples since the snapshot before, and
// says whether there is news.
func (a *account) add(p *model.Pod, window float64) bool {
	for i := range p.Earlier {
		e := &p.Earlier[i]
		sample := *p
		sample.Sample, sample.Listeners, sample.Counters, sample.Process = e.Sample, e.Listeners, e.Counters, e.Process
		// What the proxy said then was said in an earlier snapshot, or to nobody.
		sample.Runtime = model.UnknownRuntime("of an earlier frame")
		a.append(sample, window)
	}
	return a.append(*p, window)
}

// append adds a sample behind the others, or in the place of the last when it is
// the same frame.
func (a *account) append(sample model.Pod, window float64) bool {
	sample.Verdicts, sample.Earlier, sample.Raw = nil, nil, nil
	if !sample.Sample.Uptime.IsKnown() && len(sample.Listeners) == 0 && sample.Runtime.Clock.IsKnown() {
		// Without frames the proxy's own clock is the only one there is.
		sample.Sample.Uptime = sample.Runtime.Clock
		sample.Sample.Sandbox = fmt.Sprintf("process %v", sample.Runtime.Start.Or(0))
	}
	n := len(a.samples)
	up, ok := sample.Sample.Uptime.Get()
	if n > 0 && a.samples[n-1].Sample.Uptime == sample.Sample.Uptime && a.samples[n-1].Sample.Sandbox == sample.Sample.Sandbox {
		// The proxy's figures and the pod itself may be newer. They are judged with the
		// next frame, or here where there are no frames at all.
		a.samples[n-1] = sample
		return !ok
	}
	if n > 0 {
		a.compare(&a.samples[n-1], &sample)
		lighten(&a.samples[n-1])
	}
	if n == cap(a.samples) {
		// A pod has two kilobytes: doubling the room would cost more than what is in it.
		a.samples = append(make([]model.Pod, 0, n+4), a.samples...)
	}
	a.samples = append(a.samples, sample)
	from := 0
	for ok && from < len(a.samples)-1 && up-a.samples[from].Sample.Uptime.Or(up) > window+spareSeconds {
		from++
	}
	from = max(from, len(a.samples)-maxSamples)
	if from > 0 {
		a.samples = slices.Delete(a.samples, 0, from)
	}
	return true
}

// compare notes what happened between two samples, and lets them share what is
// the same in both.
func (a *account) compare(before, now *model.Pod) {
	if before.Sample.Sandbox != now.Sample.Sandbox {
		a.refused = model.Unknown[float64]("nothing was refused since it was first looked at")
	} else if n, ok := model.Growth(before.Counters.ListenOverflows, now.Counters.ListenOverflows).Get(); ok && n > 0 {
		a.refused = now.Sample.Uptime
	}
	if slices.EqualFunc(before.Listeners, now.Listeners, sameListener) {
		before.Listeners = now.Listeners
	}
}

// sameListener says whether nothing changed about a listener: most are idle.
func sameListener(a, b model.Listener) bool {
	return a.Place() == b.Place() && a.Role == b.Role && a.Window == b.Window && a.Waiting == nil && b.Waiting == nil &&
		slices.EqualFunc(a.Sockets, b.Sockets, func(s, t model.Socket) bool {
			return s.Inode == t.Inode && s.Depth == t.Depth && s.Limit == t.Limit && s.Drops == t.Drops
		})
}

// lighten takes from a sample that is no longer the newest what is looked at in
// the newest alone: it is made anew with every snapshot, and would be kept for a
// minute.
func lighten(p *model.Pod) {
	p.Knobs, p.Notes, p.Manifest = nil, nil, model.Manifest{}
	p.Proxy.Env, p.Runtime.Configured, p.Process.Children = nil, nil, nil
	if !slices.ContainsFunc(p.Listeners, func(l model.Listener) bool { return l.Waiting != nil }) {
		return
	}
	p.Listeners = slices.Clone(p.Listeners) // the snapshot that it came in is somebody else's
	for i := range p.Listeners {
		p.Listeners[i].Waiting = nil
	}
}

// cloned keeps what siblings add to one snapshot out of the next.
func cloned(vs []model.Verdict) []model.Verdict {
	out := slices.Clone(vs)
	for i := range out {
		out[i].Evidence = slices.Clip(out[i].Evidence)
	}
	return out
}
