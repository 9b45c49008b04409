package diagnose

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// Keep carries over from the verdicts before since when each has held: one that
// held already, of the same class and listener, goes on. A clock that went back
// is another sandbox's, and starts afresh.
func Keep(before, now []model.Verdict) []model.Verdict {
	for i := range now {
		v := &now[i]
		since, ok := v.Since.Get()
		if !ok {
			continue
		}
		held, _ := v.Held.Get()
		to := since + held
		for j := range before {
			o := &before[j]
			was, ok := o.Since.Get()
			if !ok || o.Class != v.Class || o.Listener != v.Listener || was > since {
				continue
			}
			// It must have held until the window began, at least.
			if oheld, ok := o.Held.Get(); !ok || was+oheld < since || was+oheld > to {
				continue
			}
			v.Since, v.Held, v.Longer = o.Since, model.Known(to-was), o.Longer
			break
		}
	}
	return now
}
