package timeline

import (
	"cmp"
	"fmt"
	"math"
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
}

// Total is what happened to the pods of a workload in a time. Figures are unknown
// where no pod of it was seen.
type Total struct {
	Pods int `json:"pods"`
	// Refused packets a minute and accepted connections a second, of all pods.
	Refused  model.Value[float64] `json:"refusedPerMinute"`
	Accepted model.Value[float64] `json:"acceptedPerSecond"`
	// Peak of the fullest queue, and its limit.
	Peak  model.Value[float64] `json:"peak"`
	Limit model.Value[float64] `json:"limit"`
	// Busy is the mean of all pods, MaxBusy the highest of any.
	Busy    model.Value[float64] `json:"busy"`
	MaxBusy model.Value[float64] `json:"maxBusy"`
	Workers model.Value[float64] `json:"workers"`
	// Severity is the worst of any verdict; empty for none.
	Severity model.Severity `json:"severity,omitempty"`
	// Samples, and in how many of them something was refused.
	Samples  int `json:"samples"`
	Refusing int `json:"refusingSamples"`
}

// Compare gives what differs.
func Compare(before, after Side) Comparison {
	c := Comparison{Before: before.span(), After: after.span()}
	a, b := before.totals(), after.totals()
	var keys []workloadKey
	for k := range a {
		keys = append(keys, k)
	}
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
	if len(c.Findings) == 0 {
		c.Findings = []string{"Nothing was refused at either time."}
	}
	return c
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
	out := map[workloadKey]*Total{}
	busy := map[workloadKey][]float64{}
	from := s.From
	if !from.IsZero() {
		from = from.Add(-time.Millisecond) // the bound itself is in it
	}
	for _, key := range s.Timeline.Keys() {
		t := s.Timeline.Track(key)
		sum := t.Sum(from, s.To)
		if sum.Samples == 0 {
			continue
		}
		k := workloadKey{t.Meta.Namespace, t.Workload.Kind + "/" + t.Workload.Name}
		if t.Workload.Name == "" {
			k.name = "Pod/" + t.Meta.Name
		}
		total := out[k]
		if total == nil {
			total = nothing()
			out[k] = total
		}
		total.add(sum)
		if b, ok := sum.Busy.Get(); ok {
			busy[k] = append(busy[k], b)
		}
	}
	for k, list := range busy {
		mean := 0.0
		for _, b := range list {
			mean += b / float64(len(list))
		}
		out[k].Busy = model.Known(mean)
	}
	return out
}

func nothing() *Total {
	u := model.Unknown[float64]("no pod of it was seen")
	return &Total{Refused: u, Accepted: u, Peak: u, Limit: u, Busy: u, MaxBusy: u, Workers: u}
}

func orNothing(t *Total) Total {
	if t == nil {
		return *nothing()
	}
	return *t
}

func (t *Total) add(s Sum) {
	t.Pods++
	t.Samples += s.Samples
	t.Refusing += s.Refusing
	if seconds := s.Seconds.Or(0); seconds > 0 {
		if n, ok := s.Refused.Get(); ok {
			t.Refused = model.Known(t.Refused.Or(0) + 60*n/seconds)
		}
		if n, ok := s.Accepted.Get(); ok {
			t.Accepted = model.Known(t.Accepted.Or(0) + n/seconds)
		}
	}
	if p, ok := s.Peak.Get(); ok && p > t.Peak.Or(-1) {
		t.Peak, t.Limit = s.Peak, s.Limit
	}
	if b, ok := s.MaxBusy.Get(); ok && b > t.MaxBusy.Or(-1) {
		t.MaxBusy = s.MaxBusy
	}
	if s.Workers.IsKnown() {
		t.Workers = s.Workers
	}
	if t.Severity == "" || s.Severity != "" && s.Severity.Rank() < t.Severity.Rank() {
		t.Severity = s.Severity
	}
}

const (
	// chance is how likely a difference may be by chance and still be told.
	chance = 0.05
	// otherLoad is how much accepted connections may differ and still be the same load.
	otherLoad = 0.7
)

// judge tells what changed about a workload.
func (c *Comparison) judge(r *Comparable) {
	name := strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
	a, b := &r.Before, &r.After
	refusedA, okA := a.Refused.Get()
	refusedB, okB := b.Refused.Get()
	switch {
	case a.Pods == 0:
		c.Caveats = append(c.Caveats, name+" was not seen before: there is nothing to compare it with")
		return
	case b.Pods == 0:
		c.Caveats = append(c.Caveats, name+" was not seen after: there is nothing to compare it with")
		return
	case !okA || !okB:
		c.Caveats = append(c.Caveats, "what was refused by "+name+" is not known at both times")
		return
	case refusedA == 0 && refusedB == 0:
		return
	}
	figures := fmt.Sprintf("%.1f refused packets a minute before, %.1f after (in %d of %d samples, then in %d of %d)",
		refusedA, refusedB, a.Refusing, a.Samples, b.Refusing, b.Samples)
	p := byChance(a.Refusing, a.Samples, b.Refusing, b.Samples)
	switch {
	case p > chance:
		c.Findings = append(c.Findings, name+": no clear difference: "+figures)
		c.Caveats = append(c.Caveats, fmt.Sprintf("%s: such a difference comes by chance in about %.0f of 100 cases; look longer", name, p*100))
	case refusedB == 0:
		c.Findings = append(c.Findings, name+": better: nothing is refused any more: "+figures)
	case refusedB < refusedA:
		c.Findings = append(c.Findings, name+": better, not well: "+figures)
	default:
		c.Findings = append(c.Findings, name+": worse: "+figures)
	}
	c.judgeLoad(name, a, b)
}

// judgeLoad says when another load may be the reason.
func (c *Comparison) judgeLoad(name string, a, b *Total) {
	x, okA := a.Accepted.Get()
	y, okB := b.Accepted.Get()
	switch {
	case !okA || !okB:
		c.Caveats = append(c.Caveats, name+": the load is not known at both times, and may be the reason")
	case x <= 0 && y <= 0:
	case y < otherLoad*x:
		c.Caveats = append(c.Caveats, fmt.Sprintf("%s: the load was smaller after (%.0f accepted a second, before %.0f): that alone may be the reason", name, y, x))
	case x < otherLoad*y:
		c.Caveats = append(c.Caveats, fmt.Sprintf("%s: the load was larger after (%.0f accepted a second, before %.0f)", name, y, x))
	}
	if a.Pods != b.Pods {
		c.Caveats = append(c.Caveats, fmt.Sprintf("%s had %d pods before and %d after", name, a.Pods, b.Pods))
	}
}

// byChance is how likely a share of hits at least as different as the one seen is when
// nothing has changed: given all hits, those of the second time are binomial. Packets
// are no measure of that, since one burst refuses hundreds.
func byChance(hitsA, ofA, hitsB, ofB int) float64 {
	n := hitsA + hitsB
	if n == 0 || ofA == 0 || ofB == 0 {
		return 1
	}
	q := float64(ofB) / float64(ofA+ofB)
	seen := binomial(n, hitsB, q)
	p := 0.0
	for k := range n + 1 {
		if x := binomial(n, k, q); x <= seen*(1+1e-9) {
			p += x
		}
	}
	return min(1, p)
}

func binomial(n, k int, q float64) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(q) + float64(n-k)*math.Log(1-q))
}
