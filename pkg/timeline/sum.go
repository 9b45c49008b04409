package timeline

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Sum is what happened to a pod in a time.
type Sum struct {
	// Seconds that the counts are over, by the pod's own clock; unknown when no sample
	// of the time can be compared with another.
	Seconds model.Value[float64] `json:"seconds"`
	// Refused packets and Accepted connections.
	Refused  model.Value[float64] `json:"refused"`
	Accepted model.Value[float64] `json:"accepted"`
	// Peak is the highest depth in a sample, Limit the backlog of that queue; samples
	// miss bursts.
	Peak  model.Value[float64] `json:"peak"`
	Limit model.Value[float64] `json:"limit"`
	// Busy is the mean of the busy ratio, MaxBusy its highest.
	Busy    model.Value[float64] `json:"busy"`
	MaxBusy model.Value[float64] `json:"maxBusy"`
	// Workers in force at the end.
	Workers model.Value[float64] `json:"workers"`
	// Severity is the worst of any sample; empty where nobody judged.
	Severity model.Severity `json:"severity,omitempty"`
	// Samples of the time, and in how many of them packets were refused: bursts are
	// counted by these, since packets come with their retransmits.
	Samples  int `json:"samples"`
	Refusing int `json:"refusingSamples"`
}

// Sum gives what happened after from, up to and with to. A zero time is no bound.
func (k *Track) Sum(from, to time.Time) Sum {
	reason := "no sample of that time"
	none := model.Unknown[float64](reason)
	s := Sum{Seconds: none, Refused: none, Accepted: none, Peak: none, Limit: none, Busy: none, MaxBusy: none, Workers: none}
	var busy, busyN float64
	var severity uint8
	for _, p := range k.Points() {
		at := p.Time()
		if !from.IsZero() && !at.After(from) || !to.IsZero() && at.After(to) {
			continue
		}
		s.Samples++
		s.Seconds, s.Refused, s.Accepted = plus(s.Seconds, p.Seconds()), plus(s.Refused, p.Refused()), plus(s.Accepted, p.Accepted())
		if p.Refused().Or(0) > 0 {
			s.Refusing++
		}
		if d, ok := p.Depth().Get(); ok && d > s.Peak.Or(-1) {
			s.Peak, s.Limit = p.Depth(), p.Limit()
		}
		if b, ok := p.Busy().Get(); ok {
			busy, busyN = busy+b, busyN+1
			s.MaxBusy = model.Known(max(b, s.MaxBusy.Or(0)))
		}
		if p.Workers().IsKnown() {
			s.Workers = p.Workers()
		}
		if p.severity > severity {
			severity, s.Severity = p.severity, p.Severity()
		}
	}
	if busyN > 0 {
		s.Busy = model.Known(busy / busyN)
	}
	return s
}

func plus(a, b model.Value[float64]) model.Value[float64] {
	f, ok := b.Get()
	if !ok {
		return a
	}
	return model.Known(a.Or(0) + f)
}
