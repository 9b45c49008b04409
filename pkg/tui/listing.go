package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
)

// listing is the state of the list page. All of it but the selection is made
// anew of the snapshot on the screen; nothing of it is made while drawing.
type listing struct {
	rows    map[string]*row // of the snapshot on the screen, by the pod's key
	counted []counted
	spaces  bool // the pods are of more than one namespace

	orders   []order
	orderAt  int
	reversed bool
	sortedAt time.Time
	all      []string // keys of all rows in order
	visible  []line   // what is left of them by filters and folds

	filter    textinput.Model
	filtering bool

	selected string // the key of a line
	touched  bool   // the user has moved the selection
	top      int    // first visible line of the list
}

// line is one line of the list.
type line struct {
	key string
}

func newListing(st styles) listing {
	l := listing{rows: map[string]*row{}, orders: orders(), filter: textinput.New()}
	f := &l.filter
	f.Prompt = "filter: "
	f.PromptStyle, f.TextStyle, f.PlaceholderStyle = st.bold, st.plain, st.dim
	f.Cursor.Style, f.Cursor.TextStyle = st.plain, st.plain
	f.Placeholder = "name, node, workload, listener or state"
	f.CharLimit = 100
	// A blinking cursor would redraw the line for ever; pasting through the
	// clipboard would start a program.
	f.Cursor.SetMode(cursor.CursorStatic)
	f.KeyMap.Paste.SetEnabled(false)
	return l
}

// build makes the list of the snapshot on the screen.
func (a *app) build() {
	a.rows = make(map[string]*row, len(a.shown.Pods))
	before := pending(a.counted)
	a.counted, a.spaces = count(a.shown), false
	for i := range a.shown.Pods {
		p := &a.shown.Pods[i]
		a.spaces = a.spaces || p.Meta.Namespace != a.shown.Pods[0].Meta.Namespace
		r := newRow(p, a.timeline.Track(p.Key()).Points())
		a.rows[r.key] = r
	}
	// While the first frames come in nothing has a place yet, unless the user has
	// chosen one.
	settling := !a.touched && pending(a.counted) != before
	if settling || a.now.Sub(a.sortedAt) >= resortAfter || a.now.Before(a.sortedAt) {
		a.sort()
		return
	}
	a.all = kept(a.all, a.rows)
	a.sift()
}

// sort orders the rows anew.
func (a *app) sort() {
	a.all = sorted(a.rows, a.orders[a.orderAt], a.reversed)
	a.sortedAt = a.now
	a.sift()
}

// sift applies the filter and keeps the selection on its pod. A selection that
// the user never moved stays on the first row, so that the worst pod is in sight.
func (a *app) sift() {
	before := a.index()
	a.visible = a.visible[:0:0]
	for _, key := range a.all {
		if a.rows[key].matches(a.filter.Value()) {
			a.visible = append(a.visible, line{key: key})
		}
	}
	switch {
	case len(a.visible) == 0:
		a.selected = ""
	case !a.touched:
		a.selected = a.visible[0].key
	case a.index() < 0: // its pod is gone: the neighbour that took its place
		a.selected = a.visible[min(max(0, before), len(a.visible)-1)].key
	}
}

// index is the selected line's place among the visible ones, -1 when it has none.
func (a *app) index() int {
	for i := range a.visible {
		if a.visible[i].key == a.selected {
			return i
		}
	}
	return -1
}

// chosen is the pod that the selected line stands for, nil when there is none.
func (a *app) chosen() *row { return a.rows[a.selected] }
