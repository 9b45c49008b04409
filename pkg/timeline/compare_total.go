package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// stretch is how much of the time counts as one observation. Samples are not: a burst
// fills many of them one behind the other, and is still one burst.
const stretch = 10 * time.Second

// adder makes a Total of the points of a workload's pods.
type adder struct {
	total Total
	// What was counted, and when: pods of a rollout replace each other, so that rates are
	// over the time in which any pod was looked at, not over the sum of all.
	refused, accepted   float64
	refusedIn, acceptIn []interval
	stretches           map[int64]float64
	busy                []float64 // the mean of each pod
	verdicts            map[judgement]int
}

// judgement is what a point was judged to be.
type judgement struct {
	severity model.Severity
	class    model.Class
}

// fleeting is in how many points a verdict must have stood to be one worth naming, where
// another was: one of a moment rests on less.
const fleeting = 3

func newAdder() *adder {
	return &adder{total: nothing(), stretches: map[int64]float64{}, verdicts: map[judgement]int{}}
}

// interval in milliseconds of Unix time.
type interval struct{ from, to int64 }

// add takes the points of a track in, those from one time to another; zero times are no
// bounds. It says whether there were any.
func (a *adder) add(t *Track, from, to time.Time) bool {
	seen := false
	busy, busyN := 0.0, 0.0
	for _, p := range t.Points() {
		at := p.Time()
		if !from.IsZero() && at.Before(from) || !to.IsZero() && at.After(to) {
			continue
		}
		seen = true
		a.count(p)
		a.levels(p)
		if b, ok := p.Busy().Get(); ok {
			busy, busyN = busy+b, busyN+1
		}
	}
	if seen {
		a.total.Pods++
	}
	if busyN > 0 {
		a.busy = append(a.busy, busy/busyN)
	}
	return seen
}

// count takes in what is counted since the point before.
func (a *adder) count(p Point) {
	seconds, ok := p.Seconds().Get()
	if !ok {
		return
	}
	over := interval{p.at - int64(seconds*1000), p.at}
	if n, ok := p.Accepted().Get(); ok {
		a.accepted += n
		a.acceptIn = append(a.acceptIn, over)
	}
	if n, ok := p.Refused().Get(); ok {
		a.refused += n
		a.refusedIn = append(a.refusedIn, over)
		// Where nobody looked for longer it counts for its part of that time.
		a.stretches[p.at/stretch.Milliseconds()] += n * min(1, stretch.Seconds()/seconds)
	}
}

// levels takes in what has a highest value.
func (a *adder) levels(p Point) {
	t := &a.total
	if d, ok := p.Depth().Get(); ok && d > t.Peak.Or(-1) {
		t.Peak, t.Limit = p.Depth(), p.Limit()
	}
	if b, ok := p.Busy().Get(); ok && b > t.MaxBusy.Or(-1) {
		t.MaxBusy = p.Busy()
	}
	if p.Workers().IsKnown() {
		t.Workers = p.Workers()
	}
	if s := p.Severity(); s != "" && p.Class() != model.ClassTooEarly {
		a.verdicts[judgement{s, p.Class()}]++
	}
}

// worst is the worst verdict that stood for more than a moment, else the worst of all.
func (a *adder) worst() judgement {
	var list []judgement
	for j := range a.verdicts {
		list = append(list, j)
	}
	brief := func(j judgement) int {
		if a.verdicts[j] < fleeting {
			return 1
		}
		return 0
	}
	slices.SortFunc(list, func(x, y judgement) int {
		return cmp.Or(
			cmp.Compare(brief(x), brief(y)), cmp.Compare(x.severity.Rank(), y.severity.Rank()),
			cmp.Compare(a.verdicts[y], a.verdicts[x]), cmp.Compare(x.class, y.class),
		)
	})
	if len(list) == 0 {
		return judgement{}
	}
	return list[0]
}

func (a *adder) sum() *Total {
	t := a.total
	w := a.worst()
	t.Severity, t.Class = w.severity, w.class
	if seconds := covered(a.refusedIn); seconds > 0 {
		t.Refused = model.Known(60 * a.refused / seconds)
	}
	if seconds := covered(a.acceptIn); seconds > 0 {
		t.Accepted = model.Known(a.accepted / seconds)
	}
	for _, n := range a.stretches {
		t.stretches = append(t.stretches, n)
		if t.Stretches++; n > 0 {
			t.Refusing++
		}
	}
	if len(a.busy) > 0 {
		mean := 0.0
		for _, b := range a.busy {
			mean += b / float64(len(a.busy))
		}
		t.Busy = model.Known(mean)
	}
	return &t
}

// covered is how many seconds are in any of the intervals. It sorts them.
func covered(list []interval) float64 {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	sum, until := int64(0), int64(0)
	for i, x := range list {
		if i == 0 || x.from > until {
			until = x.from
		}
		if x.to > until {
			sum += x.to - until
			until = x.to
		}
	}
	return float64(sum) / 1000
}
