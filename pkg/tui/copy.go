package tui

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// copiedMsg says what became of a copy.
type copiedMsg struct {
	what, path string
	// osc and file are what went wrong with either of the two ways.
	osc, file error
}

// maxCopied is what terminals take of OSC 52 at least.
const maxCopied = 70_000

// copy gives a text to the terminal's clipboard (OSC 52, in one write, so that nothing
// is drawn in between) and to a file: nobody can see whether the terminal took it.
func (a *app) copy(what, name, text string) tea.Cmd {
	out, save, p := a.out, a.keeper.Save, a.poller
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		msg := copiedMsg{what: what}
		switch {
		case out == nil:
			msg.osc = errors.New("there is no terminal")
		case len(text) > maxCopied:
			msg.osc = errors.New("it is too long for a terminal")
		default:
			_, msg.osc = io.WriteString(out, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
		}
		msg.file = errors.New("there is nowhere to save it")
		if save != nil {
			msg.path, msg.file = save(name, text+"\n")
		}
		return msg
	}
}

func (a *app) takeCopied(msg copiedMsg) {
	switch {
	case msg.osc != nil && msg.file != nil:
		a.say("copying " + msg.what + ": " + msg.osc.Error() + "; " + msg.file.Error())
	case msg.osc != nil:
		a.say(msg.what + " is in " + msg.path + "; not copied: " + msg.osc.Error())
	case msg.file != nil:
		a.say("copied " + msg.what + ", if the terminal takes it; not saved: " + msg.file.Error())
	default:
		a.say("copied " + msg.what + "; also in " + msg.path)
	}
}

// copyCommand copies a command of the worst verdict that has one; pressed again, the
// next one.
func (a *app) copyCommand(part string) tea.Cmd {
	r, ok := a.rows[a.detail]
	if !ok {
		return nil
	}
	var texts, of []string
	for _, v := range r.pod.Verdicts {
		actions := v.Now
		if part == "FIX" {
			actions = v.Fix
		}
		for _, action := range actions {
			for _, text := range commandsOf(action) {
				texts, of = append(texts, text), append(of, string(v.Class))
			}
		}
	}
	if len(texts) == 0 {
		a.say("there is no command for " + part + " here")
		return nil
	}
	if a.copied != part+a.detail {
		a.copied, a.copyAt = part+a.detail, 0
	}
	at := a.copyAt % len(texts)
	a.copyAt++
	what := "the " + part + " command"
	if len(texts) > 1 {
		what = fmt.Sprintf("%s command %d of %d", part, at+1, len(texts))
	}
	what += " for " + of[at]
	if a.moment.held {
		what += ", as of " + a.shown.Time.UTC().Format("15:04:05Z")
	}
	return a.copy(what, "command-"+r.pod.Meta.Name, texts[at])
}

// commandsOf is what can be copied of a remedy: the command as it is typed, or the
// lines for a manifest.
func commandsOf(action model.Action) []string {
	var texts []string
	// A clipboard is pasted into a shell: a command is one line, whatever it holds.
	if action.Command != "" {
		texts = append(texts, render.Clean(action.Command))
	}
	if action.Values != "" {
		lines := strings.Split(action.Values, "\n")
		for i := range lines {
			lines[i] = render.Clean(lines[i])
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return texts
}

// copySummary copies the lines for an incident channel.
func (a *app) copySummary() tea.Cmd {
	p, ok := a.selectedPod()
	if !ok {
		a.say("choose a pod first")
		return nil
	}
	var b bytes.Buffer
	kube := a.title
	if i := strings.LastIndexByte(kube, '/'); i >= 0 {
		kube = kube[:i] // a context may have slashes of its own
	}
	if a.moment.held {
		fmt.Fprintf(&b, "As of %s:  \n", a.shown.Time.UTC().Format("2006-01-02 15:04:05Z"))
	}
	if err := render.PrintSummary(&b, p, render.PageOptions{Now: a.viewNow(), Context: kube, Markdown: true, Alike: a.alike(p)}); err != nil {
		a.say(err.Error())
		return nil
	}
	return a.copy("the summary", "summary-"+p.Meta.Name, strings.TrimSpace(b.String()))
}

// alike names the other pods of the workload with the same verdict.
func (a *app) alike(p model.Pod) []string {
	if p.Workload.Name == "" || len(p.Verdicts) == 0 {
		return nil
	}
	var names []string
	for _, o := range a.shown.Pods {
		if o.Key() != p.Key() && o.Workload == p.Workload && o.Meta.Namespace == p.Meta.Namespace && render.Verdict(o) == render.Verdict(p) {
			names = append(names, o.Meta.Name)
		}
	}
	return names
}
