package plan

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// Bursts keeps, for each listener of each pod, the most packets that were refused
// between two samples. The zero Bursts knows of none.
type Bursts struct {
	pods map[string]*seen
}

// seen is what is kept of one pod.
type seen struct {
	last    model.Pod
	biggest map[model.Place]int64
}

// Add takes the next snapshot of a pod; one that was seen already adds nothing.
func (b *Bursts) Add(p model.Pod) {
	if p.HostNetwork || !p.Sample.Uptime.IsKnown() {
		return
	}
	if b.pods == nil {
		b.pods = map[string]*seen{}
	}
	s := b.pods[p.Key()]
	if s == nil {
		b.pods[p.Key()] = &seen{last: p, biggest: map[model.Place]int64{}}
		return
	}
	if s.last.Sample.Seq == p.Sample.Seq && s.last.Sample.Sandbox == p.Sample.Sandbox {
		return
	}
	// The differences to the sample before, in place of the window's.
	step := model.Diff(s.last, p)
	for i := range step.Listeners {
		l := &step.Listeners[i]
		if n, ok := l.Window.Overflows.Get(); ok {
			s.biggest[l.Place()] = max(s.biggest[l.Place()], n)
		}
	}
	s.last = p
}

// Note tells of a burst that somebody else has seen between two samples that followed
// each other.
func (b *Bursts) Note(pod string, at model.Place, refused int64) {
	if b.pods == nil {
		b.pods = map[string]*seen{}
	}
	s := b.pods[pod]
	if s == nil {
		s = &seen{biggest: map[model.Place]int64{}}
		b.pods[pod] = s
	}
	s.biggest[at] = max(s.biggest[at], refused)
}

// Biggest is the most that was refused between two samples at one place; unknown
// where no two samples tell.
func (b Bursts) Biggest(pod string, at model.Place) model.Value[int64] {
	if s := b.pods[pod]; s != nil {
		if n, ok := s.biggest[at]; ok {
			return model.Known(n)
		}
	}
	return model.Unknown[int64]("no two samples tell what was refused here")
}
