package tui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// Keeper writes to files what the screen has seen. Each function is called outside
// of Update, one at a time, and gives the path that somebody is told. One that is nil
// is not offered.
type Keeper struct {
	// Record begins a recording, or ends the one that runs.
	Record func(ctx context.Context, on bool) (path string, err error)
	// Recording says that one runs from the start, to this path.
	Recording string
	// Report writes what was seen so far as a report.
	Report func(ctx context.Context) (path string, err error)
	// Evidence saves everything about one pod.
	Evidence func(ctx context.Context, pod model.Pod) (path string, err error)
	// Save writes a text that was copied, since nobody can see whether the terminal
	// took it.
	Save func(name, text string) (path string, err error)
	// Problem says what went wrong with what is written all the time, empty while
	// nothing did, and whether a recording has ended by that.
	Problem func() (text string, stopped bool)
}

// keptMsg is what became of something that was to be written.
type keptMsg struct {
	what string // "report", "evidence of NAME", "recording"
	on   bool   // of a recording: it runs
	path string
	err  error
}

// keepKey acts on the keys that write files.
func (a *app) keepKey(msg tea.KeyMsg) (tea.Cmd, bool) {
	k := a.keys
	switch {
	case key.Matches(msg, k.record):
		return a.toggleRecord(), true
	case key.Matches(msg, k.report):
		return a.write("report", "writing the report…", a.keeper.Report), true
	case key.Matches(msg, k.evidence):
		return a.saveEvidence(), true
	case key.Matches(msg, k.mark):
		a.setMark()
		return nil, true
	case key.Matches(msg, k.unmark):
		a.mark = mark{}
		return nil, true
	}
	return nil, false
}

func (a *app) toggleRecord() tea.Cmd {
	if a.keeper.Record == nil {
		a.say("there is nothing to record here: this is a recording")
		return nil
	}
	on := a.recording == ""
	record := a.keeper.Record
	cmd := a.write("recording", "", func(ctx context.Context) (string, error) { return record(ctx, on) })
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		msg := cmd()
		if m, ok := msg.(keptMsg); ok {
			m.on = on
			return m
		}
		return msg
	}
}

// selectedPod is the pod that a key means: the page's, or the selected row's.
func (a *app) selectedPod() (model.Pod, bool) {
	r := a.chosen()
	if a.page == detailPage {
		r = a.rows[a.detail]
	}
	if r == nil {
		return model.Pod{}, false
	}
	return *r.pod, true
}

func (a *app) saveEvidence() tea.Cmd {
	p, ok := a.selectedPod()
	if !ok {
		a.say("choose a pod first")
		return nil
	}
	if a.keeper.Evidence == nil {
		a.say("evidence cannot be saved here")
		return nil
	}
	evidence := a.keeper.Evidence
	name := render.Clean(p.Meta.Name)
	return a.write("evidence of "+name, "saving the evidence of "+name+"…", func(ctx context.Context) (string, error) {
		return evidence(ctx, p)
	})
}

// write does one thing at a time.
func (a *app) write(what, saying string, do func(context.Context) (string, error)) tea.Cmd {
	switch {
	case do == nil:
		a.say("a " + what + " cannot be written here")
		return nil
	case a.writing:
		a.say("still writing, one moment")
		return nil
	}
	a.writing = true
	if saying != "" {
		a.say(saying)
	}
	p := a.poller
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		path, err := do(p.ctx)
		return keptMsg{what: what, path: path, err: err}
	}
}

// takeKept tells what became of it.
func (a *app) takeKept(msg keptMsg) {
	a.writing = false
	switch {
	case msg.err != nil:
		a.say("writing the " + msg.what + ": " + msg.err.Error())
	case msg.what == "recording" && msg.on:
		a.recording = msg.path
		a.say("recording to " + msg.path)
	case msg.what == "recording":
		a.recording = ""
		a.say("recorded: " + msg.path)
	default:
		a.say(msg.what + ": " + msg.path)
	}
	if msg.err != nil && msg.what == "recording" {
		a.recording = ""
	}
}

// sayFor is how long a message stands in the last line.
const sayFor = 8 * time.Second

// said is a message of the screen itself.
type said struct {
	text string
	at   time.Time
}

// say puts a message into the last line until it is old, or a key is pressed.
func (a *app) say(text string) { a.said = said{text, a.now} }

// saying is the message that stands there now.
func (a *app) saying() string {
	if a.said.text == "" || a.now.Sub(a.said.at) > sayFor {
		return ""
	}
	return a.said.text
}
