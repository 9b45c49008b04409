package diagnose

import (
	"cmp"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// History is what is known of one pod.
type History struct {
	// Samples, oldest first. They may go back further than any rule looks; those of
	// another sandbox are left out.
	Samples []model.Pod
	// Siblings are the other pods of the workload, if any are looked at.
	Siblings Siblings
}

// Siblings says how the other pods of the same workload do.
type Siblings struct {
	// Total others, of which Healthy have a healthy verdict.
	Total, Healthy int
	// AcceptedMin and AcceptedMax are their accepted connections a second.
	AcceptedMin, AcceptedMax model.Value[float64]
}

// Options of Judge.
type Options struct {
	// Window in seconds to look back; 0 for the usual half minute.
	Window float64
}

// Judge gives the verdicts on a pod, worst first. There is always at least one;
// the same history gives the same verdicts.
func Judge(h History, o Options) []model.Verdict {
	if o.Window <= 0 {
		o.Window = window
	}
	f := newFacts(&h, o.Window)
	out := make([]model.Verdict, 0, 4)
	for _, r := range podFirst() {
		if v, ok := r.judge(f); ok {
			return []model.Verdict{f.finish(v, nil)}
		}
	}
	for i := range f.listeners {
		l := &f.listeners[i]
		for _, r := range listenerRules() {
			if v, ok := r.judge(f, l); ok {
				out = append(out, f.finish(v, l))
				break
			}
		}
	}
	out = merge(out)
	for _, r := range podRules() {
		if v, ok := r.judge(f, out); ok {
			out = append(out, f.finish(v, nil))
		}
	}
	slices.SortStableFunc(out, func(a, b model.Verdict) int {
		return cmp.Compare(a.Severity.Rank(), b.Severity.Rank())
	})
	return out
}

// merge makes one verdict of those that say the same of several listeners: the
// most severe one, which names the others.
func merge(vs []model.Verdict) []model.Verdict {
	var out []model.Verdict
	for _, v := range vs {
		i := slices.IndexFunc(out, func(o model.Verdict) bool { return o.Class == v.Class })
		if i < 0 {
			out = append(out, v)
			continue
		}
		if v.Severity.Rank() < out[i].Severity.Rank() {
			v, out[i] = out[i], v
		}
		out[i].Evidence = append(out[i].Evidence, model.Evidence{
			Name: "also", Text: "the same on " + v.Listener, Figure: model.Known(float64(v.Port)), Unit: "port",
			Window: v.Window, Source: "ss",
		})
	}
	return out
}

// finish fills in what all verdicts have.
func (f *facts) finish(v model.Verdict, l *listener) model.Verdict {
	if l != nil && v.Listener == "" {
		v.Listener, v.Port, v.Role = l.name(), l.port, l.role
	}
	v.Window = f.seconds
	if !v.Since.IsKnown() && v.Since.Reason() == "" {
		v.Since = f.from
		v.Longer = true
	}
	v.Held = model.Unknown[float64]("it is unknown since when")
	if since, ok := v.Since.Get(); ok {
		if to, ok := f.to.Get(); ok {
			v.Held = model.Known(max(0, to-since))
		}
		if from, ok := f.from.Get(); ok && since <= from {
			v.Longer = true
		}
	}
	if e, ok := f.siblings(); ok && v.Severity != model.SeverityInfo {
		v.Evidence = append(v.Evidence, e)
	}
	return v
}

// siblings is how the other pods do, as evidence.
func (f *facts) siblings() (model.Evidence, bool) {
	s := f.h.Siblings
	if s.Total <= 0 {
		return model.Evidence{}, false
	}
	text := count(int64(s.Healthy), "of "+num(int64(s.Total))+" others healthy")
	if lo, ok := s.AcceptedMin.Get(); ok {
		if hi, ok := s.AcceptedMax.Get(); ok {
			text += "; they accept " + rate(lo) + " to " + rate(hi) + " per second"
		}
	}
	return model.Evidence{
		Name: "siblings", Text: text, Figure: model.Known(float64(s.Healthy)), Unit: "pods",
		Window: f.seconds, Source: "the other pods of the workload",
	}, true
}
