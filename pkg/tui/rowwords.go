package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// staleAfter is the age from which figures count as old on the screen.
const staleAfter = 3 * time.Second

// isOld says whether a pod's figures are no longer those of the present.
func (a *app) isOld(p *model.Pod) bool {
	switch p.Collection.Stage {
	case model.StageOK, model.StageStale, model.StageEnded:
	default:
		return false
	}
	if p.Sample.Arrived.IsZero() {
		return false
	}
	limit := staleAfter + max(0, a.poller.interval-time.Second)
	return p.Collection.Stage != model.StageOK || a.viewNow().Sub(p.Sample.Arrived) > limit
}

// stateWord is the pod's verdict, or its state where there is none yet; old
// figures say how old they are instead.
func (a *app) stateWord(r *row, width int) (string, lipgloss.Style) {
	if a.isOld(r.pod) {
		age := render.Age(a.viewNow(), r.pod.Sample.Arrived)
		if r.pod.Collection.Stage == model.StageEnded {
			return "ended " + age, a.styles.warn
		}
		return "stale " + age, a.styles.warn
	}
	if v := r.verdict; v != nil {
		return classWord(v.Class, width), a.styles.severity(*v)
	}
	if r.pod.Collection.Stage == model.StageFailed && r.state == model.StateUnknown {
		return orElse(width >= 13, "no queue data", "no queue"), a.styles.info
	}
	return string(r.state), a.styles.state(r.state)
}

// heldWord is how long the verdict has held, or how long ago a deleted pod was seen.
func (a *app) heldWord(r *row) string {
	switch v := r.verdict; {
	case r.state == model.StateGone && !r.pod.Sample.Arrived.IsZero():
		return render.Age(a.viewNow(), r.pod.Sample.Arrived)
	case v == nil || v.Over || a.isOld(r.pod) || v.Class == model.ClassHealthy || v.Class == model.ClassHistory:
		return ""
	default:
		return heldFor(v)
	}
}

// heldFor is how long a verdict has held in four characters; >6m when it held
// already before anything was seen.
func heldFor(v *model.Verdict) string {
	held, ok := v.Held.Get()
	if !ok || held < 0 {
		return ""
	}
	text := fmt.Sprintf("%.0fs", held)
	switch {
	case held >= 99.5*3600:
		text = fmt.Sprintf("%.0fd", min(99, held/86400))
	case held >= 5940:
		text = fmt.Sprintf("%.0fh", held/3600)
	case held >= 99.5:
		text = fmt.Sprintf("%.0fm", held/60)
	}
	return orElse(v.Longer, ">", "") + text
}

// whyWord is what follows the state where there is room.
func (a *app) whyWord(r *row) string {
	why := render.Clean(r.why)
	if r.state == model.StateGone || r.state == model.StatePending || a.stageText(r) != "" {
		return "" // the row says it already
	}
	if v := r.verdict; v != nil && v.Class != model.ClassHealthy {
		why = render.Clean(v.Sentence)
	}
	if a.isOld(r.pod) {
		why = strings.TrimSuffix("was "+string(r.state)+": "+why, ": ")
		if m := render.Clean(r.pod.Collection.Message); m != "" {
			why = m + "; " + why
		}
	}
	return why
}

// stageText stands instead of figures while there are none: how far the probe
// has come, or what the kubelet says.
func (a *app) stageText(r *row) string {
	c := r.pod.Collection
	message := render.Clean(c.Message)
	with := func(text string) string {
		if message != "" {
			return text + ": " + message
		}
		return text
	}
	switch c.Stage {
	case model.StageAsking:
		return with("asking for a probe…")
	case model.StagePulling:
		return with("pulling the probe's image…")
	case model.StageStarting:
		return with("starting the probe…")
	case model.StageWaiting:
		return with("waiting for the first frame…")
	case model.StageFailed:
		if len(r.pod.Listeners) == 0 {
			message = orElse(message != "", message, "the queue could not be read")
			return orElse(c.Via == model.ViaMetrics, "metrics only: ", "") + message
		}
	case model.StageGone:
		if len(r.pod.Listeners) == 0 {
			return orElse(message != "", message, "gone")
		}
	}
	if r.pod.HostNetwork {
		return "hostNetwork: the queues are the node's, none is attributed"
	}
	return ""
}
