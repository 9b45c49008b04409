package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// quietFor is how long waiting may take before it is talked about: with a probe
// that already runs the figures are there sooner.
const quietFor = 1500 * time.Millisecond

// progress tells on stderr what the pods that have no figures yet are doing.
type progress struct {
	out   io.Writer
	now   func() time.Time
	limit time.Duration
	begun time.Time
	last  string
	line  bool // out is a terminal: one line that is rewritten
}

func newProgress(out io.Writer, now func() time.Time, limit time.Duration) *progress {
	_, _, terminal := terminalSize(out)
	return &progress{out: out, now: now, limit: limit, begun: now(), line: terminal}
}

// show tells the stages when they have changed, and on a terminal every second.
func (p *progress) show(s model.Snapshot) {
	elapsed := p.now().Sub(p.begun)
	text := stages(s)
	if elapsed < quietFor || text == "" {
		return
	}
	if p.line {
		text = fmt.Sprintf("%s (%ds of %ds)", text, int(elapsed.Seconds()), int(p.limit.Seconds()))
	}
	if text == p.last {
		return
	}
	p.last = text
	if p.line {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.out, text)
}

// looking tells how far a look of known length has come: on a terminal only.
func (p *progress) looking(elapsed, window time.Duration) {
	if !p.line || elapsed >= window {
		return
	}
	text := fmt.Sprintf("looking for %s: verdicts need a history (%ds)", window, int(elapsed.Seconds()))
	if text != p.last {
		p.last = text
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	}
}

// done takes the line back.
func (p *progress) done() {
	if p.line && p.last != "" {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// stages counts the pods that wait, by what they wait for, and names the first.
func stages(s model.Snapshot) string {
	order := []model.Stage{model.StageAsking, model.StagePulling, model.StageStarting, model.StageWaiting}
	words := map[model.Stage]string{
		model.StageAsking: "asking for the probe", model.StagePulling: "pulling its image",
		model.StageStarting: "starting it", model.StageWaiting: "waiting for its first figures",
	}
	var parts []string
	waiting, example := 0, ""
	for _, stage := range order {
		n := 0
		for _, p := range s.Pods {
			if p.Collection.Stage == stage {
				n++
				if example == "" {
					example = podName(p)
					if p.Collection.Message != "" {
						example += ": " + p.Collection.Message
					}
				}
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[stage]))
		}
		waiting += n
	}
	if waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d pods: %s; %s", waiting, len(s.Pods), strings.Join(parts, ", "), render.Clean(example))
}
