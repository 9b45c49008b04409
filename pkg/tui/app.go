package tui

import (
	"errors"
	"io"
	"time"

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
	ascii  bool
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

	out   io.Writer
	pages map[string]*podPage // of pods whose page was opened
	// searching says that what is typed is searched for in the raw text.
	searching bool
	query     textinput.Model
	drawn     drawing // what the page's lines were made of
	shows     uint64  // how often another snapshot was shown
	copied    string  // what the last key copied, so that the next press takes the next one
	copyAt    int

	keeper    Keeper
	writing   bool   // something is being written
	recording string // path of the recording that runs
	said      said
	trouble   string // with what is written all the time

	listing

	renew    func() // asks for new probes; nil when that is not possible
	renewFor time.Duration
	asking   bool // whether to do so

	page   page
	back   page // where the help page was opened from
	detail string
	scroll viewport.Model
}

func newApp(o Options, p *poller, r *lipgloss.Renderer) *app {
	st := newStyles(r)
	a := &app{
		out: o.Out, pages: map[string]*podPage{}, query: newQuery(st, r),
		past: o.Past, replay: o.Replay, keeper: o.Keeper, recording: o.Keeper.Recording,
		title: o.Title, renew: o.Renew, renewFor: o.RenewFor, poller: p, styles: st, keys: newKeys(), help: help.New(),
		width: 80, height: 24, now: o.Now(), polls: 1, ticks: 1,
		timeline: timeline.New(timeline.Options{Reach: reach}), listing: newListing(o, st), scroll: viewport.New(80, 20),
	}
	if a.ascii = o.ASCII; a.ascii {
		a.keys.spell()
	}
	a.help.Styles = st.help()
	a.help.ShortSeparator = "  "
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
		a.filter.Width, a.query.Width = max(1, a.width-40), max(1, a.width-12)
	case clockMsg:
		if msg.seq != a.ticks {
			return a, nil
		}
		a.ticks++
		a.setNow(msg.at)
		a.grow()
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
	case copiedMsg:
		a.takeCopied(msg)
	case tea.MouseMsg:
		cmd := a.mouse(msg)
		a.layout()
		return a, cmd
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
	a.err, a.trouble = msg.err, msg.trouble
	if msg.stopped {
		a.recording = ""
	}
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
	a.shows++
	a.shown = a.live
	if a.moment.held {
		a.shown = a.moment.snapshot
	}
	a.build()
}
