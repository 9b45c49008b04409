package tui

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	"github.com/charmbracelet/x/ansi"
)

// listing is the state of the list page. What is drawn is made of each snapshot,
// filter and fold when these change, never while drawing.
type listing struct {
	rows   map[string]*row // of the snapshot on the screen, by the pod's key
	inTurn []*row          // the same in the snapshot's order
	groups map[owner]*group
	tally  tally
	spaces []string          // the namespaces of the pods, in order
	nodes  map[string]string // what is shown of the nodes' names

	orders   []order
	orderAt  int
	reversed bool
	sortedAt time.Time
	all      []string            // keys of all rows in order
	likeness map[string]likeness // of the rows when they were sorted, by key
	visible  []line              // what filters and folds leave

	grouping       bool // by workload
	groupingChosen bool // by the user
	folds          map[string]bool

	filter      textinput.Model
	filtering   bool
	narrowings  []narrowing
	narrowingAt int
	space       string // the namespace that is shown; empty for all

	columns []column
	wanted  map[string]bool // columns that were chosen or put away, by title
	widths  map[string]int  // what the columns' texts need, where that differs
	longest int             // of the names
	// longestGroup is that of the headers' names.
	longestGroup int
	chooser      *chooser // what lies over the list; nil for nothing

	selected string // the key of a line
	touched  bool   // the user has moved the selection
	top      int    // first visible line of the list
	mouseOn  bool
}

func newListing(o Options, st styles) listing {
	l := listing{
		rows: map[string]*row{}, likeness: map[string]likeness{}, folds: map[string]bool{}, wanted: wantedColumns(o.Columns),
		orders: orders(), narrowings: narrowings(), columns: columns(), filter: textinput.New(), mouseOn: o.Mouse,
	}
	plainInput(&l.filter, st)
	l.filter.Prompt = "filter: "
	l.filter.Placeholder = "name, node, workload, listener or state"
	return l
}

// plainInput makes a line to type into one that is drawn only when it changes.
func plainInput(f *textinput.Model, st styles) {
	f.PromptStyle, f.TextStyle, f.PlaceholderStyle = st.bold, st.plain, st.dim
	f.Cursor.Style, f.Cursor.TextStyle = st.plain, st.plain
	f.CharLimit = 100
	// A blinking cursor would redraw the line for ever; pasting through the
	// clipboard would start a program.
	f.Cursor.SetMode(cursor.CursorStatic)
	f.KeyMap.Paste.SetEnabled(false)
}

// build makes the list of the snapshot on the screen.
func (a *app) build() {
	before := a.tally.counts[gradeStarting]
	rows := make(map[string]*row, len(a.shown.Pods))
	a.inTurn = a.inTurn[:0]
	spaces := map[string]bool{}
	for i := range a.shown.Pods {
		p := &a.shown.Pods[i]
		key := p.Key()
		if rows[key] != nil {
			continue
		}
		r := newRow(a.rows[key], p, a.timeline.Track(key).Points())
		rows[key] = r
		a.inTurn = append(a.inTurn, r)
		if i == 0 || p.Meta.Namespace != a.shown.Pods[i-1].Meta.Namespace {
			spaces[p.Meta.Namespace] = true
		}
	}
	a.rows = rows
	a.spaces = slices.Sorted(maps.Keys(spaces))
	if a.space != "" && !spaces[a.space] {
		a.space = "" // its last pod is gone
	}
	a.tallied()
	// While the first frames come in nothing has a place yet, unless the user has
	// chosen one.
	settling := !a.touched && a.tally.counts[gradeStarting] != before
	if settling || a.now.Sub(a.sortedAt) >= resortAfter {
		a.sort()
		return
	}
	a.all = kept(a.all, a.rows)
	for _, key := range a.all {
		if _, known := a.likeness[key]; !known {
			a.likeness[key] = likenessOf(a.rows[key])
		}
	}
	a.sift()
}

// grow counts and folds anew what is on the screen: time has passed for figures
// although nothing arrived, or another namespace is shown.
func (a *app) grow() {
	if len(a.shown.Pods) > 0 {
		a.tallied()
		a.sift()
	}
}

// sort orders the rows anew, and sees anew which of them are alike.
func (a *app) sort() {
	a.all = sorted(a.rows, a.orders[a.orderAt], a.reversed)
	a.sortedAt = a.now
	a.likeness = make(map[string]likeness, len(a.rows))
	for key, r := range a.rows {
		a.likeness[key] = likenessOf(r)
	}
	a.measure()
	a.sift()
}

// searched says whether the list is filtered by words.
func (a *app) searched() bool { return strings.TrimSpace(a.filter.Value()) != "" }

// sift applies filters and folds and keeps the selection on its pod. A selection
// that the user never moved stays on the first pod, so that the worst is in sight.
func (a *app) sift() {
	before := a.index()
	left := make([]*row, 0, len(a.all))
	words := strings.Fields(strings.ToLower(a.filter.Value()))
	has := a.narrowings[a.narrowingAt].has
	for _, key := range a.all {
		r := a.rows[key]
		if has(r.grade) && (a.space == "" || r.pod.Meta.Namespace == a.space) && r.matches(words) {
			left = append(left, r)
		}
	}
	a.visible = a.lines(left)
	a.longest, a.longestGroup = 0, 0
	for i := range a.visible {
		switch l := &a.visible[i]; l.kind {
		case podLine:
			a.longest = max(a.longest, ansi.StringWidth(a.lineName(l)))
		case restLine:
			a.longest = max(a.longest, 16) // "▸ 39 healthy,med"
		case groupLine:
			a.longestGroup = max(a.longestGroup, ansi.StringWidth(a.groupName(l.group)))
		}
	}
	switch {
	case len(a.visible) == 0:
		a.selected = ""
	case !a.touched:
		first := slices.IndexFunc(a.visible, func(l line) bool { return l.kind == podLine })
		a.selected = a.visible[max(0, first)].key
	case a.index() < 0:
		a.selected = a.visible[a.neighbour(before)].key
	}
}

// neighbour is the line to select when the one that was is not there any more: the
// one that holds its pod now, or that took its place.
func (a *app) neighbour(before int) int {
	if r := a.rows[a.selected]; r != nil && r.group != nil {
		at := slices.IndexFunc(a.visible, func(l line) bool { return l.group == r.group && l.folded })
		if at >= 0 {
			return at
		}
	}
	return min(max(0, before), len(a.visible)-1)
}

// index is the selected line's place among the visible ones, -1 when it has none.
func (a *app) index() int {
	return slices.IndexFunc(a.visible, func(l line) bool { return l.key == a.selected })
}

// chosen is the pod that the selected line stands for, nil when there is none: of a
// workload its first, of several in one line the one whose figures it shows.
func (a *app) chosen() *row {
	if l := a.at(a.index()); l != nil {
		return l.row
	}
	return nil
}
