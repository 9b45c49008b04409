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
	// Refused is the pod's clock when packets were last refused, where the samples do
	// not reach back so far.
	Refused model.Value[float64]
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
			out = append(out, f.finish(v, nil))
			// What is set is known without a history.
			if r.class == model.ClassTooEarly && f.last != nil {
				if d, ok := configDrift(f, nil); ok {
					out = []model.Verdict{f.finish(d, nil), out[0]}
				}
			}
			return out
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
	return v
}
