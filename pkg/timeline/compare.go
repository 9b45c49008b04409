package timeline

import (
	"fmt"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// last is what of a pod's last sample and snapshot is compared with the next.
type last struct {
	// seen says that there was a sample.
	seen      bool
	uptime    float64
	sandbox   string
	listeners []model.Listener
	counters  model.Counters

	shown   bool // there was a snapshot
	stage   model.Stage
	ready   bool
	class   model.Class
	on      string // the verdict's listener
	pending pending
	start   model.Value[float64]
	refused time.Time // when packets were last refused
}

// quietBefore is how long nothing may have been refused so that the next refusal is
// an event of its own: one burst after another is one.
const quietBefore = 10 * time.Second

// compare tells what happened to a pod since the snapshot before.
func (t *Timeline) compare(at time.Time, k *Track, p *model.Pod) {
	was := k.last
	if sandboxChanged(was, p) {
		t.event(at, p, KindRestart, model.SeverityWarning, "another sandbox or probe: counters start afresh")
	}
	if start, ok := p.Runtime.Start.Get(); ok && was.start.IsKnown() && start-was.start.Or(0) > 1 {
		t.event(at, p, KindRestart, model.SeverityWarning, "the proxy has restarted")
	}
	if n, ok := model.Growth(was.counters.ListenOverflows, p.Counters.ListenOverflows).Get(); ok && n > 0 && was.seen && was.sandbox == p.Sample.Sandbox && !p.HostNetwork {
		if at.Sub(was.refused) > quietBefore {
			t.event(at, p, KindRefused, model.SeverityWarning, fmt.Sprintf("+%d refused%s", n, sinceBefore(was, p)))
		}
		k.last.refused = at
	}
	if !was.shown { // how it stood when it was first looked at is no event
		k.last.class, k.last.on, _, _ = worst(p)
		return
	}
	t.compareStage(at, was, p)
	if was.ready != p.Ready && p.Collection.Stage != model.StageGone {
		if p.Ready {
			t.event(at, p, KindReady, model.SeverityInfo, "ready")
		} else {
			t.event(at, p, KindReady, model.SeverityWarning, "not ready any more")
		}
	}
	t.compareVerdict(at, k, p)
}

func sandboxChanged(was last, p *model.Pod) bool {
	return was.seen && p.Sample.Uptime.IsKnown() && p.Sample.Sandbox != was.sandbox
}

// sinceBefore tells in which time it was.
func sinceBefore(was last, p *model.Pod) string {
	if d := p.Sample.Uptime.Or(0) - was.uptime; d > 0 {
		return fmt.Sprintf(" in %.0f s", max(1, d))
	}
	return ""
}

func (t *Timeline) compareStage(at time.Time, was last, p *model.Pod) {
	c := p.Collection
	if was.stage == c.Stage {
		return
	}
	because := func(text string) string {
		if c.Message != "" {
			return text + ": " + c.Message
		}
		return text
	}
	switch c.Stage {
	case model.StageGone:
		t.event(at, p, KindGone, model.SeverityWarning, because("gone"))
	case model.StageFailed:
		t.event(at, p, KindProbe, model.SeverityWarning, because("cannot be looked at"))
	case model.StageStale:
		t.event(at, p, KindProbe, model.SeverityWarning, because("figures have stopped"))
	case model.StageEnded:
		t.event(at, p, KindProbe, model.SeverityInfo, because("the probe has ended"))
	case model.StageOK:
		if was.stage == model.StageStale {
			t.event(at, p, KindProbe, model.SeverityInfo, "figures arrive again")
		} else {
			t.event(at, p, KindProbe, model.SeverityInfo, "first figures")
		}
	}
}

// standsFor is how long another verdict must stand before it is told of: at the
// beginning of a burst the judge may say this and that for a few seconds.
const standsFor = 2500 * time.Millisecond

// pending is a verdict that was not told of yet.
type pending struct {
	class    model.Class
	on       string
	since    time.Time // zero for none
	severity model.Severity
	text     string
}

// compareVerdict tells of another verdict, once it has stood, at the time when it
// began to. One that comes or goes because too little was seen is no news.
func (t *Timeline) compareVerdict(at time.Time, k *Track, p *model.Pod) {
	l := &k.last
	class, on, severity, sentence := worst(p)
	switch {
	case class == "":
		return
	case class == l.class && on == l.on:
		l.pending = pending{}
		return
	case l.class == "" && class == model.ClassHealthy:
		l.class, l.on, l.pending = class, on, pending{}
		return
	case l.pending.class != class || l.pending.on != on || l.pending.since.IsZero():
		l.pending = pending{class: class, on: on, since: at}
	}
	l.pending.severity, l.pending.text = severity, string(class)
	if on != "" {
		l.pending.text += " on " + on
	}
	if sentence != "" {
		l.pending.text += ": " + sentence
	}
	if at.Sub(l.pending.since) < standsFor {
		return
	}
	t.event(l.pending.since, p, KindVerdict, l.pending.severity, l.pending.text)
	l.class, l.on, l.pending = class, on, pending{}
}

// worst is the class, listener, severity and sentence of the verdict that stands for
// a pod; empty where there is none that says something.
func worst(p *model.Pod) (model.Class, string, model.Severity, string) {
	if len(p.Verdicts) == 0 || p.Verdicts[0].Class == model.ClassTooEarly {
		return "", "", "", ""
	}
	v := p.Verdicts[0]
	return v.Class, v.Listener, v.Severity, v.Sentence
}

// note keeps what the next snapshot is compared with; the sample's part is kept by
// Track.sample.
func (k *Track) note(p *model.Pod) {
	l := &k.last
	l.shown, l.stage, l.ready = true, p.Collection.Stage, p.Ready
	if p.Runtime.Start.IsKnown() {
		l.start = p.Runtime.Start
	}
}
