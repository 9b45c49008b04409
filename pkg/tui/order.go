package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// resortAfter is how long rows keep their places: a list that moves under the
// eyes cannot be read.
const resortAfter = 5 * time.Second

// row is a pod as the list shows it: what sorting, folding and drawing need, made
// once of each snapshot.
type row struct {
	key      string
	pod      *model.Pod
	state    model.State
	why      string
	verdict  *model.Verdict // the one that stands for the pod; nil where there is none yet
	listener model.Listener // the worst one; only when has is set
	has      bool
	rate     model.Value[float64] // the pod's overflows per second
	points   []timeline.Point

	rank  int     // how bad it is; less is worse
	fill  float64 // of the worst queue; -1 when unknown
	grade grade
	group *group // nil for a pod that nothing owns
}

// newRow makes a pod's row in the place of the one before, if there is one.
func newRow(r *row, p *model.Pod, points []timeline.Point) *row {
	if r == nil {
		r = &row{}
	}
	*r = row{key: p.Key(), pod: p, points: points, rate: p.Window.PerSecond(p.Window.Overflows), fill: -1}
	r.state, r.why = model.StateOf(p)
	r.verdict = standing(p)
	r.listener, r.has = render.Worst(*p)
	if r.has {
		if fill, ok := render.Fill(r.listener.Worst()); ok {
			r.fill = fill
		}
	}
	r.rank = rankOf(r)
	return r
}

// moreThanStates lets a verdict's severity decide before any state does.
const moreThanStates = 100

// rankOf orders rows by how bad they are. Figures that no longer arrive prove
// nothing: a pod that was well then ranks as unknown now.
func rankOf(r *row) int {
	severity := model.SeverityInfo.Rank()
	if r.verdict != nil && !r.verdict.Over {
		severity = r.verdict.Severity.Rank()
	}
	state := r.state
	if v := r.verdict; v != nil && state == model.StateOK {
		switch v.Class {
		case model.ClassStarting:
			state = model.StatePending
		case model.ClassNotAttributable, model.ClassUndecided:
			state = model.StateUnknown
		}
	}
	rank := state.Rank() + severity*moreThanStates
	switch r.pod.Collection.Stage {
	case model.StageStale, model.StageEnded:
		return min(rank, model.StateUnknown.Rank()+model.SeverityInfo.Rank()*moreThanStates)
	}
	return rank
}

// label is the word that the row is counted under.
func label(p model.Pod) model.State {
	switch p.Collection.Stage {
	case model.StageStale, model.StageEnded:
		return model.State(p.Collection.Stage)
	}
	if v, ok := judged(p); ok && v.Class != model.ClassHealthy {
		return model.State(v.Class)
	}
	state, _ := p.Condition()
	return state
}

// order is one way of sorting the rows.
type order struct {
	name    string
	compare func(a, b *row) int
}

// orders are all ways of sorting, in the order in which the key cycles through
// them. Unknown figures come last.
func orders() []order {
	byRate := func(a, b *row) int { return cmp.Compare(b.rate.Or(-1), a.rate.Or(-1)) }
	return []order{
		{"worst", func(a, b *row) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), byRate(a, b))
		}},
		{"name", func(*row, *row) int { return 0 }},
		{"overflows", func(a, b *row) int {
			return cmp.Or(byRate(a, b), cmp.Compare(b.pod.Counters.ListenOverflows.Or(-1), a.pod.Counters.ListenOverflows.Or(-1)))
		}},
		{"busy", func(a, b *row) int {
			return cmp.Compare(b.pod.Runtime.Window.Busy.Or(-1), a.pod.Runtime.Window.Busy.Or(-1))
		}},
		{"depth", func(a, b *row) int { return cmp.Compare(b.fill, a.fill) }},
	}
}

func byName(a, b *row) int {
	return cmp.Or(
		strings.Compare(a.pod.Meta.Namespace, b.pod.Meta.Namespace),
		strings.Compare(a.pod.Meta.Name, b.pod.Meta.Name),
		strings.Compare(a.key, b.key),
	)
}

// sorted gives the keys of the rows in order.
func sorted(rows map[string]*row, o order, reverse bool) []string {
	list := make([]*row, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *row) int {
		c := o.compare(a, b)
		if c == 0 {
			c = byName(a, b)
		}
		if reverse {
			return -c
		}
		return c
	})
	keys := make([]string, len(list))
	for i, r := range list {
		keys[i] = r.key
	}
	return keys
}

// kept gives the old order without the pods that are gone; new pods go to the
// end, by name, until the rows are sorted the next time.
func kept(old []string, rows map[string]*row) []string {
	if len(old) == len(rows) && !slices.ContainsFunc(old, func(key string) bool { return rows[key] == nil }) {
		return old
	}
	keys := make([]string, 0, len(rows))
	placed := make(map[string]bool, len(rows))
	for _, key := range old {
		if _, ok := rows[key]; ok {
			keys = append(keys, key)
			placed[key] = true
		}
	}
	rest := make(map[string]*row)
	for key, r := range rows {
		if !placed[key] {
			rest[key] = r
		}
	}
	return append(keys, sorted(rest, order{compare: func(*row, *row) int { return 0 }}, false)...)
}

// matches says whether a filter's words, in lower case, are all found in what names
// the pod: namespace, name, node, workload, listeners, state.
func (r *row) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	var b strings.Builder
	p := r.pod
	for _, s := range []string{
		p.Meta.Namespace + "/" + p.Meta.Name, p.Node, p.Workload.Kind + "/" + p.Workload.Name,
		kindWord(p.Workload.Kind) + "/" + p.Workload.Name,
		string(r.state), string(p.Collection.Stage), render.Verdict(*p),
	} {
		b.WriteString(strings.ToLower(s))
		b.WriteByte('\n')
	}
	for _, l := range p.Listeners {
		b.WriteString(render.Listener(l))
		b.WriteByte('\n')
	}
	hay := b.String()
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(hay, word) })
}
