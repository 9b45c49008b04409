package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// podNotes are what is to be said of pods. Pods of which the same is to be said
// share a line: fifty that were refused for one reason are one finding.
type podNotes struct {
	texts []string
	names map[string][]string
}

func (n *podNotes) add(pod model.Pod, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if n.names == nil {
		n.names = map[string][]string{}
	}
	if len(n.names[text]) == 0 {
		n.texts = append(n.texts, text)
	}
	n.names[text] = append(n.names[text], podName(pod))
}

// namesShown is how many pods are named before the others are counted.
const namesShown = 3

// lines are the notes in the order in which they came up.
func (n *podNotes) lines() []string {
	lines := make([]string, len(n.texts))
	for i, text := range n.texts {
		names := n.names[text]
		who := "pod " + names[0]
		if len(names) > 1 {
			who = "pods " + strings.Join(names[:min(len(names), namesShown)], ", ")
		}
		if more := len(names) - namesShown; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		lines[i] = who + ": " + text
	}
	return lines
}

func podName(p model.Pod) string {
	if p.Meta.Namespace == "" {
		return p.Meta.Name
	}
	return p.Meta.Namespace + "/" + p.Meta.Name
}

func (o *getOptions) note(text string) {
	fmt.Fprintf(o.ErrOut, "%s\n", render.Clean(text))
}

// reportFailures tells on stderr what could not be read, and whether anything
// could not.
func (o *getOptions) reportFailures(s model.Snapshot) bool {
	for _, note := range slices.Concat(s.Notes, s.Problems) {
		o.note(note)
	}
	var notes podNotes
	failed := len(s.Problems) > 0
	finished := 0
	for _, p := range s.Pods {
		if p.Collection.Stage == model.StageGone && len(o.args) == 0 {
			finished++
			continue
		}
		failed = o.noteOn(&notes, p) || failed
	}
	for _, line := range notes.lines() {
		o.note(line)
	}
	if finished > 0 {
		o.note(fmt.Sprintf("finished pods left out: %d", finished))
	}
	return failed
}

// noteOn says what is missing of a pod, and whether that is a failure: under
// auto a pod whose proxy tells of its workers is none, and under --via metrics
// nothing else was asked for.
func (o *getOptions) noteOn(notes *podNotes, p model.Pod) (failed bool) {
	c := p.Collection
	switch {
	case p.HostNetwork:
		notes.add(p, "%s", model.ReasonHostNetwork)
	case c.Stage == model.StageFailed && o.via == "metrics" && p.Runtime.Workers.IsKnown():
	case c.Stage == model.StageFailed && o.via == "metrics":
		notes.add(p, "%s", p.Runtime.Workers.Reason())
		return true
	case c.Stage == model.StageFailed && c.Via == model.ViaMetrics:
		notes.add(p, "queues are unknown, only the proxy's own figures are shown: %s", c.Message)
		noteMetrics(notes, p)
	case c.Stage == model.StageFailed || c.Stage == model.StageGone || c.Stage == model.StageEnded:
		notes.add(p, "%s", c.Message)
		return true
	case c.Stage != model.StageOK && c.Stage != model.StageStale:
		notes.add(p, "no figures within %s (%s) %s", o.timeout, c.Stage, c.Message)
		return true
	default:
		noteMetrics(notes, p)
	}
	return false
}

// noteMetrics says why the proxy's metrics are missing. Its workers may be known
// without them, from its log.
func noteMetrics(notes *podNotes, p model.Pod) {
	switch {
	case p.Collection.Metrics == "":
	case p.Runtime.Workers.IsKnown():
		notes.add(p, "the busy ratio is unknown: %s", p.Collection.Metrics)
	default:
		notes.add(p, "workers and busy ratio are unknown: %s", p.Collection.Metrics)
	}
}

// teller says what comes up while get goes on watching, each thing once.
func (o *getOptions) teller(first model.Snapshot) func(model.Snapshot) {
	told := map[string]bool{}
	for _, note := range first.Notes {
		told[note] = true
	}
	return func(s model.Snapshot) {
		notes := slices.Clone(s.Notes)
		for _, p := range s.Pods {
			if p.Collection.Stage == model.StageEnded {
				notes = append(notes, "pod "+podName(p)+": "+p.Collection.Message)
			}
		}
		for _, note := range notes {
			if len(told) >= maxToldNotes {
				clear(told)
			}
			if !told[note] {
				told[note] = true
				o.note(note)
			}
		}
	}
}

// maxToldNotes bounds what is remembered of the notes that were told.
const maxToldNotes = 1000
