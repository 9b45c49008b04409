package tui

import (
	"cmp"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// kind of a line of the list.
type kind int

const (
	podLine   kind = iota
	groupLine      // the header of a workload
	restLine       // pods of a workload with the same verdict, in one line
)

// line is one line of the list.
type line struct {
	key  string
	kind kind
	// row is the pod; of a header the first of its pods, of a rest the one in the
	// middle, by what it accepts.
	row    *row
	group  *group // nil outside of a workload with several pods
	under  string // the key of the header or rest that holds it
	folded bool
	pods   int    // of a rest, or those of a workload that the filters leave
	word   string // what these have in common
}

// likeness is what decides whether a row is folded together with others: as it was
// when the rows were last sorted, so that nothing moves in between.
type likeness struct {
	word     string
	well     bool // two of these are one line already
	ill      bool // a warning: all alike, they are one line
	starting bool
}

func likenessOf(r *row) likeness {
	switch {
	case r.grade == gradeStarting:
		return likeness{word: "starting", starting: true}
	case r.grade == gradeOK && (r.verdict == nil || r.verdict.Class == model.ClassHealthy):
		return likeness{word: string(model.ClassHealthy), well: true}
	case r.grade == gradeUnknown && r.verdict == nil:
		return likeness{word: cmp.Or(render.Clean(r.pod.Collection.Message), string(r.state))}
	case r.verdict != nil && r.grade != gradeGone:
		return likeness{word: render.Clean(string(r.verdict.Class)), ill: r.grade == gradeWarning}
	}
	return likeness{word: string(r.state)}
}

const (
	// shownAlike is how many rows with the same verdict a workload shows before the
	// others are one line; leastFolded is how many that one line is worth.
	shownAlike  = 3
	leastFolded = 2
)

// lines are the list's lines for the rows that the filters leave, in their order.
func (a *app) lines(left []*row) []line {
	out := make([]line, 0, len(left)+len(a.groups))
	if !a.grouping {
		for _, r := range left {
			out = append(out, line{key: r.key, row: r})
		}
		return out
	}
	members := make(map[*group][]*row, len(a.groups))
	for _, r := range left {
		if r.group != nil {
			members[r.group] = append(members[r.group], r)
		}
	}
	for _, r := range left {
		g := r.group
		if g == nil || len(g.rows) < 2 {
			out = append(out, line{key: r.key, row: r})
			continue
		}
		rows, first := members[g]
		if !first {
			continue // its group has been written
		}
		delete(members, g)
		folded := a.isFolded(g, rows)
		out = append(out, line{key: g.key, kind: groupLine, row: rows[0], group: g, folded: folded, pods: len(rows)})
		if !folded {
			out = a.body(out, g, rows)
		}
	}
	return out
}

// isFolded says whether a workload is its header alone: as the user wants it, or
// where its pods would say nothing more: all are well, or all have the same warning.
func (a *app) isFolded(g *group, left []*row) bool {
	if folded, chosen := a.folds[g.key]; chosen {
		return folded
	}
	if a.searched() {
		return false // what was looked for is shown
	}
	if a.touched && slices.ContainsFunc(left, func(r *row) bool { return r.key == a.selected }) {
		return false
	}
	var of likeness
	for _, r := range g.rows {
		is := a.likeness[r.key]
		switch {
		case r.grade == gradeGone && r.pod.Counters.ListenOverflows.Or(0) == 0:
			continue // it left in good order
		case of == likeness{}:
			of = is
		case of != is:
			return false
		}
	}
	return of.well || of.ill
}

// body appends the rows of a group, those that are alike in one line.
func (a *app) body(out []line, g *group, rows []*row) []line {
	alike := map[likeness][]*row{}
	for _, r := range rows {
		is := a.likeness[r.key]
		alike[is] = append(alike[is], r)
	}
	seen := map[likeness]int{}
	for _, r := range rows {
		is := a.likeness[r.key]
		from := shownAlike
		if is.well {
			from = 0
		}
		rest := alike[is][min(from, len(alike[is])):]
		at := seen[is]
		seen[is]++
		if at < from || len(rest) < leastFolded || is.starting || a.searched() {
			out = append(out, line{key: r.key, row: r, group: g, under: g.key})
			continue
		}
		key := g.key + " " + is.word
		folded := true
		if chosen, ok := a.folds[key]; ok {
			folded = chosen
		}
		if at == from {
			out = append(out, line{
				key: key, kind: restLine, row: middleOf(rest), group: g, under: g.key, folded: folded, pods: len(rest),
				word: orElse(is.well, "", "more ") + is.word,
			})
		}
		if !folded || a.touched && r.key == a.selected {
			out = append(out, line{key: r.key, row: r, group: g, under: key})
		}
	}
	return out
}

// middleOf is the pod that stands for several: the one in the middle by what it
// accepts.
func middleOf(rows []*row) *row {
	accepted := func(r *row) float64 { return r.pod.Window.PerSecond(r.pod.Window.Accepted).Or(-1) }
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(x, y *row) int { return cmp.Compare(accepted(x), accepted(y)) })
	return rows[len(rows)/2]
}

// setFold folds or unfolds a header or a rest.
func (a *app) setFold(key string, folded bool) {
	a.folds[key] = folded
	a.sift()
}

// foldHere folds what the selected line belongs to, and selects that.
func (a *app) foldHere() {
	l := a.at(a.index())
	switch {
	case l == nil || l.group == nil:
		return
	case l.kind != podLine && !l.folded:
		a.touched = true
		a.setFold(l.key, true)
		return
	case l.under == "":
		return
	}
	a.selected, a.touched = l.under, true
	if i := a.index(); i >= 0 {
		a.setFold(l.under, true)
	}
}

// unfoldHere opens what the selected line holds; where it is open already the
// selection goes in.
func (a *app) unfoldHere() {
	l := a.at(a.index())
	switch {
	case l == nil || l.kind == podLine:
		return
	case l.folded:
		a.touched = true
		a.setFold(l.key, false)
	default:
		a.move(1)
	}
}

// toggleFold is what Enter and a click do to a header or a rest.
func (a *app) toggleFold(l *line) {
	a.selected, a.touched = l.key, true
	a.setFold(l.key, !l.folded)
}

// at is a visible line, nil when there is none of that number.
func (a *app) at(i int) *line {
	if i < 0 || i >= len(a.visible) {
		return nil
	}
	return &a.visible[i]
}
