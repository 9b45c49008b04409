package tui

import (
	"bytes"
	"encoding/base64"
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
	err        error
}

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
		if out != nil {
			_, msg.err = io.WriteString(out, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\a")
		}
		if save != nil {
			path, err := save(name, text+"\n")
			if msg.path = path; err != nil {
				msg.path, msg.err = "", err
			}
		}
		return msg
	}
}

func (a *app) takeCopied(msg copiedMsg) {
	switch {
	case msg.err != nil && msg.path == "":
		a.say("copying " + msg.what + ": " + msg.err.Error())
	case msg.path != "":
		a.say("copied " + msg.what + "; also in " + msg.path)
	default:
		a.say("copied " + msg.what)
	}
}

// copyCommand copies a command of the worst verdict that has one; pressed again, the
// next one.
func (a *app) copyCommand(part string) tea.Cmd {
	r, ok := a.rows[a.detail]
	if !ok {
		return nil
	}
	var texts []string
	for _, v := range r.pod.Verdicts {
		actions := v.Now
		if part == "FIX" {
			actions = v.Fix
		}
		for _, action := range actions {
			texts = append(texts, commandsOf(action)...)
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
	return a.copy(what, "command-"+r.pod.Meta.Name, texts[at])
}

// commandsOf is what can be copied of a remedy: the command as it is typed, or the
// lines for a manifest.
func commandsOf(action model.Action) []string {
	var texts []string
	for _, text := range []string{action.Command, action.Values} {
		if text == "" {
			continue
		}
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = render.Clean(lines[i]) // a clipboard is pasted into a shell
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
	kube, _, _ := strings.Cut(a.title, "/")
	if err := render.PrintSummary(&b, p, render.PageOptions{Now: a.viewNow(), Context: kube, Markdown: true}); err != nil {
		a.say(err.Error())
		return nil
	}
	return a.copy("the summary", "summary-"+p.Meta.Name, strings.TrimSpace(b.String()))
}
