package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Side is one of two times that are compared.
type Side struct {
	Timeline *Timeline
	// From and To bound it; zero times do not.
	From, To time.Time
}

// Comparison is what differs between two times, by workload: a rollout gives pods
// other names.
type Comparison struct {
	Before Span         `json:"before"`
	After  Span         `json:"after"`
	Rows   []Comparable `json:"workloads"`
	// Findings say in sentences what got better or worse, Caveats what cannot be told.
	Findings []string `json:"findings"`
	Caveats  []string `json:"caveats,omitempty"`
}

// Span is a time that was looked at.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Comparable is one workload at both times.
type Comparable struct {
	Namespace string `json:"namespace,omitempty"`
	// Name is "Deployment/server", or the pod's where nothing owns it.
	Name   string `json:"name"`
	Before Total  `json:"before"`
	After  Total  `json:"after"`
	// Outcome is what can be said of the change in one word, Chance how likely a
	// difference as large as that of the refused packets is when nothing has changed.
	Outcome Outcome              `json:"outcome"`
	Chance  model.Value[float64] `json:"chance"`
}

// Outcome of a change.
type Outcome string

// The outcomes. Where another load may be the reason it is unclear.
const (
	OutcomeBetter  Outcome = "better"
	OutcomeWorse   Outcome = "worse"
	OutcomeSame    Outcome = "same"
	OutcomeUnclear Outcome = "unclear"
	OutcomeUnknown Outcome = "unknown" // not seen at both times
)

// Total is what happened to the pods of a workload in a time. Figures are unknown
// where no pod of it was seen.
type Total struct {
	Pods int `json:"pods"`
	// Refused packets a minute and accepted connections a second, of all pods together,
	// while any of them was looked at.
	Refused  model.Value[float64] `json:"refusedPerMinute"`
	Accepted model.Value[float64] `json:"acceptedPerSecond"`
	// Peak of the fullest queue, and its limit.
	Peak  model.Value[float64] `json:"peak"`
	Limit model.Value[float64] `json:"limit"`
	// Busy is the mean of all pods, MaxBusy the highest of any.
	Busy    model.Value[float64] `json:"busy"`
	MaxBusy model.Value[float64] `json:"maxBusy"`
	Workers model.Value[float64] `json:"workers"`
	// Severity is the worst of any verdict, Class what it said; empty for none.
	Severity model.Severity `json:"severity,omitempty"`
	Class    model.Class    `json:"class,omitempty"`
	// Stretches of ten seconds that were looked at, and in how many of them something
	// was refused.
	Stretches int `json:"stretches"`
	Refusing  int `json:"refusingStretches"`

	// refused packets of each stretch
	stretches []float64
}

// Compare gives what differs.
func Compare(before, after Side) Comparison {
	c := Comparison{Before: before.span(), After: after.span()}
	a, b := before.totals(), after.totals()
	if pair, ok := onlyPair(a, b); ok {
		c.Rows = []Comparable{pair}
		a, b = nil, nil
	}
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y workloadKey) int {
		return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	})
	for _, k := range keys {
		c.Rows = append(c.Rows, Comparable{Namespace: k.namespace, Name: k.name, Before: orNothing(a[k]), After: orNothing(b[k])})
	}
	for i := range c.Rows {
		c.judge(&c.Rows[i])
	}
	if x, y := c.Before.To.Sub(c.Before.From), c.After.To.Sub(c.After.From); x > 0 && y > 0 && max(x, y) > 3*min(x, y) {
		c.Caveats = append(c.Caveats, fmt.Sprintf("the times are of different length: %s and %s", x.Round(time.Second), y.Round(time.Second)))
	}
	switch same := slices.ContainsFunc(c.Rows, func(r Comparable) bool { return r.Outcome == OutcomeSame }); {
	case len(c.Findings) > 0:
	case same:
		c.Findings = []string{"Nothing was refused at either time, and nothing else differs much."}
	default:
		c.Findings = []string{"There is nothing here that can be compared."}
	}
	return c
}

// onlyPair is the one workload of each side, where these have different names: logs and
// the raw form tell of one pod, whose name is the file's or another since a rollout.
func onlyPair(a, b map[workloadKey]*Total) (Comparable, bool) {
	if len(a) != 1 || len(b) != 1 {
		return Comparable{}, false
	}
	var r Comparable
	for k, t := range a {
		r.Namespace, r.Name, r.Before = k.namespace, k.name, *t
	}
	for k, t := range b {
		if k == (workloadKey{r.Namespace, r.Name}) {
			return Comparable{}, false
		}
		other := k.name
		if k.namespace != r.Namespace {
			other = strings.TrimPrefix(k.namespace+"/", "/") + k.name
		}
		r.Name += ", then " + other
		r.After = *t
	}
	return r, true
}

type workloadKey struct{ namespace, name string }

func (s Side) span() Span {
	from, to := s.Timeline.Span()
	if s.From.After(from) {
		from = s.From
	}
	if !s.To.IsZero() && s.To.Before(to) {
		to = s.To
	}
	return Span{from, to}
}

// totals adds up the pods of each workload.
func (s Side) totals() map[workloadKey]*Total {
	adders := map[workloadKey]*adder{}
	for _, key := range s.Timeline.Keys() {
		t := s.Timeline.Track(key)
		k := workloadKey{t.Meta.Namespace, t.Workload.Kind + "/" + t.Workload.Name}
		if t.Workload.Name == "" {
			k.name = "Pod/" + t.Meta.Name
		}
		a := adders[k]
		if a == nil {
			a = newAdder()
		}
		if a.add(t, s.From, s.To) {
			adders[k] = a
		}
	}
	out := map[workloadKey]*Total{}
	for k, a := range adders {
		out[k] = a.sum()
	}
	return out
}

func nothing() Total {
	u := model.Unknown[float64]("no pod of it was seen")
	return Total{Refused: u, Accepted: u, Peak: u, Limit: u, Busy: u, MaxBusy: u, Workers: u}
}

func orNothing(t *Total) Total {
	if t == nil {
		return nothing()
	}
	return *t
}
