package tui

import (
	"errors"
	"io"
	"time"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/textinput"
	"github.com/charmbracelet/bubbles/viewport"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// page is what the screen shows.
type page int

const (
	listPage page = iota
	detailPage
	helpPage
)

// app is the whole screen. Its fields change in Update only, by messages only.
type app struct {
	title  string
	poller *poller
	styles styles
	keys   keyMap
	help   help.Model
	width  int
	height int

	// now is the newest time that a message brought along.
	now   time.Time
	polls uint64 // the number of the poll that is waited for
	ticks uint64 // the number of the tick that is waited for

	// live is the newest snapshot, shown what is on the screen: an older one
	// while the screen is paused.
	live, shown model.Snapshot
	timeline    *timeline.Timeline // of live
	rows        map[string]row     // of shown, by key
	counted     []counted
	spaces      bool // the pods of shown are of more than one namespace
	err         error
	ended       bool
	paused      time.Time // since when; zero when not

	past   Past
	moment moment
	replay *Replay
	whole  bool // timeline is of the whole recording
	// resting says that no poll is waited for: a recording waits while it is paused.
	resting bool
	mark    mark

	keeper    Keeper
	writing   bool   // something is being written
	recording string // path of the recording that runs
	said      said

	orders   []order
	orderAt  int
	reversed bool
	sortedAt time.Time
	all      []string // keys of all rows in order
	visible  []string // those that the filter keeps

	filter    textinput.Model
	filtering bool

	renew    func() // asks for new probes; nil when that is not possible
	renewFor time.Duration
	asking   bool // whether to do so

	page     page
	back     page // where the help page was opened from
	selected string
	touched  bool // the user has moved the selection
	top      int  // first visible line of the list
	detail   string
	scroll   viewport.Model
}

func newApp(o Options, p *poller, r *lipgloss.Renderer) *app {
	st := newStyles(r)
	a := &app{
		past: o.Past, replay: o.Replay, keeper: o.Keeper, recording: o.Keeper.Recording,
		title: o.Title, renew: o.Renew, renewFor: o.RenewFor, poller: p, styles: st, keys: newKeys(), help: help.New(),
		width: 80, height: 24, now: o.Now(), polls: 1, ticks: 1,
		timeline: timeline.New(timeline.Options{Reach: reach}), rows: map[string]row{}, orders: orders(), filter: textinput.New(),
		scroll: viewport.New(80, 20),
	}
	a.help.Styles = st.help()
	a.help.ShortSeparator = "  "
	a.filter.Prompt = "filter: "
	a.filter.PromptStyle, a.filter.TextStyle, a.filter.PlaceholderStyle = st.bold, st.plain, st.dim
	a.filter.Cursor.Style, a.filter.Cursor.TextStyle = r.NewStyle(), r.NewStyle()
	a.filter.Placeholder = "name, node, workload, listener or state"
	a.filter.CharLimit = 100
	// A blinking cursor would redraw the line for ever; pasting through the
	// clipboard would start a program.
	a.filter.Cursor.SetMode(cursor.CursorStatic)
	a.filter.KeyMap.Paste.SetEnabled(false)
	return a
}

// Init starts the first poll and the clock.
func (a *app) Init() tea.Cmd {
	return tea.Batch(a.poller.poll(a.polls, 0), a.poller.clock(a.ticks), a.readAll())
}

// Update takes one message in.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = max(1, msg.Width), max(1, msg.Height)
		a.filter.Width = max(1, a.width-40)
	case clockMsg:
		if msg.seq != a.ticks {
			return a, nil
		}
		a.ticks++
		a.setNow(msg.at)
		a.layout()
		return a, a.poller.clock(a.ticks)
	case snapshotMsg:
		return a, a.take(msg)
	case pastMsg:
		a.takePast(msg)
	case indexMsg:
		a.takeIndex(msg)
	case keptMsg:
		a.takeKept(msg)
	case tea.KeyMsg:
		a.said = said{}
		var cmds []tea.Cmd
		for _, k := range single(msg) {
			cmds = append(cmds, a.press(k))
		}
		a.layout()
		return a, tea.Batch(cmds...)
	}
	a.layout()
	return a, nil
}

func (a *app) setNow(t time.Time) {
	if t.After(a.now) {
		a.now = t
	}
}

// viewNow is the time that ages are told by: it stands still while paused.
func (a *app) viewNow() time.Time {
	switch {
	case !a.paused.IsZero():
		return a.paused
	case a.replay != nil && !a.shown.Time.IsZero():
		return a.shown.Time
	}
	return a.now
}

// take shows what a poll brought and starts the next one.
func (a *app) take(msg snapshotMsg) tea.Cmd {
	if msg.seq != a.polls {
		return nil // of a poll that nobody waits for any more
	}
	a.polls++
	a.setNow(msg.at)
	a.err = msg.err
	if errors.Is(msg.err, io.EOF) {
		a.err, a.ended = nil, true
		return nil
	}
	if msg.err == nil {
		a.live = msg.snapshot
		if !a.whole {
			a.timeline.Add(msg.snapshot)
		}
		if a.paused.IsZero() {
			a.show()
		}
	}
	a.layout()
	if a.replay != nil && !a.paused.IsZero() {
		a.resting = true
		return nil
	}
	return a.poller.poll(a.polls, a.poller.pauseAfter(msg))
}

// show puts the newest snapshot on the screen, or the one that is held.
func (a *app) show() {
	a.shown = a.live
	if a.moment.held {
		a.shown = a.moment.snapshot
	}
	a.rows = make(map[string]row, len(a.shown.Pods))
	before := pending(a.counted)
	a.counted, a.spaces = count(a.shown), false
	for _, p := range a.shown.Pods {
		a.spaces = a.spaces || p.Meta.Namespace != a.shown.Pods[0].Meta.Namespace
		r := newRow(p, a.timeline.Track(p.Key()).Points())
		a.rows[r.key] = r
	}
	// While the first frames come in nothing has a place yet, unless the user has
	// chosen one.
	settling := !a.touched && pending(a.counted) != before
	if settling || a.now.Sub(a.sortedAt) >= resortAfter {
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
			a.visible = append(a.visible, key)
		}
	}
	switch {
	case len(a.visible) == 0:
		a.selected = ""
	case !a.touched:
		a.selected = a.visible[0]
	case a.index() < 0: // its pod is gone: the neighbour that took its place
		a.selected = a.visible[min(max(0, before), len(a.visible)-1)]
	}
}

// index is the selected row's place among the visible ones, -1 when it has none.
func (a *app) index() int {
	for i, key := range a.visible {
		if key == a.selected {
			return i
		}
	}
	return -1
}
