package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// Past gives the screen as it was.
type Past interface {
	// At gives the newest snapshot at or before a time, judged as it was then. It is
	// the oldest one there is when the time is before that. It returns soon after ctx
	// ends.
	At(ctx context.Context, at time.Time) (model.Snapshot, error)
	// Span is the time that it covers; both are zero while there is nothing.
	Span() (from, to time.Time)
}

// moment is what the screen shows of the past.
type moment struct {
	// seq numbers the looks back: a late answer is not the one that is waited for.
	seq uint64
	// seeking is the time that is being looked for; zero when none is.
	seeking time.Time
	// snapshot was shown at its own time. held says that it is not the live one.
	snapshot model.Snapshot
	held     bool
}

// pastMsg is the answer to a look back.
type pastMsg struct {
	seq      uint64
	snapshot model.Snapshot
	err      error
}

// timeKey acts on the keys that move in time.
func (a *app) timeKey(msg tea.KeyMsg) (tea.Cmd, bool) {
	k := a.keys
	for _, step := range []struct {
		key key.Binding
		by  time.Duration
	}{
		{k.back10, -10 * time.Second},
		{k.forward10, 10 * time.Second},
		{k.back60, -time.Minute},
		{k.forward60, time.Minute},
		{k.back1, -a.tick()},
		{k.forward1, a.tick()},
	} {
		if key.Matches(msg, step.key) {
			return a.jump(a.cursor().Add(step.by)), true
		}
	}
	switch {
	case key.Matches(msg, k.prevEvent):
		return a.jumpToEvent(-1), true
	case key.Matches(msg, k.nextEvent):
		return a.jumpToEvent(1), true
	}
	return nil, false
}

// tick is the time between two samples, as far as the screen can tell.
func (a *app) tick() time.Duration { return max(time.Second, a.poller.interval) }

// cursor is the time from which a step is taken: the moment that is shown, or that
// was asked for last.
func (a *app) cursor() time.Time {
	switch {
	case !a.moment.seeking.IsZero():
		return a.moment.seeking
	case a.shown.Time.IsZero():
		return a.viewNow()
	}
	return a.shown.Time
}

// jump shows the screen as it was at a time: the newest moment that is remembered
// ends the look back, a time before the oldest shows the oldest.
func (a *app) jump(at time.Time) tea.Cmd {
	if a.past == nil {
		a.say("nothing is remembered of the time before")
		return nil
	}
	from, to := a.past.Span()
	switch {
	case from.IsZero():
		a.say("nothing is remembered yet")
		return nil
	case at.After(to) && a.replay == nil:
		return a.goLive()
	case at.After(to):
		at = to
	case at.Before(from):
		at = from
		a.say("this is the oldest moment that is remembered")
	}
	if a.paused.IsZero() {
		a.paused = a.shown.Time
	}
	a.moment.seq++
	a.moment.seeking = at
	return a.poller.lookBack(a.past, a.moment.seq, at)
}

// lookBack asks for a moment of the past.
func (p *poller) lookBack(past Past, seq uint64, at time.Time) tea.Cmd {
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		s, err := past.At(p.ctx, at)
		if p.ctx.Err() != nil {
			return nil
		}
		return pastMsg{seq: seq, snapshot: s, err: err}
	}
}

// takePast shows a moment of the past.
func (a *app) takePast(msg pastMsg) {
	if msg.seq != a.moment.seq || a.moment.seeking.IsZero() {
		return
	}
	a.moment.seeking = time.Time{}
	if msg.err != nil {
		a.say("looking back: " + msg.err.Error())
		return
	}
	a.moment.snapshot, a.moment.held = msg.snapshot, true
	a.paused = msg.snapshot.Time
	a.show()
	a.sort()
}

// goLive ends a look back, or a pause.
func (a *app) goLive() tea.Cmd {
	at := a.paused
	a.moment = moment{seq: a.moment.seq + 1}
	a.paused = time.Time{}
	if a.replay == nil {
		a.show()
		return nil
	}
	// A recording goes on from the moment that is shown.
	a.replay.Seek(at)
	if !a.ended && !a.resting {
		return nil
	}
	a.ended, a.resting = false, false
	return a.poller.poll(a.polls, 0)
}

// jumpToEvent goes to the event before or after the moment that is shown: those
// that somebody would look for, of the pod whose page is open, or of all.
func (a *app) jumpToEvent(direction int) tea.Cmd {
	at := a.cursor()
	var found *timeline.Event
	events := a.timeline.Events()
	for i := range events {
		e := &events[i]
		if a.page == detailPage && e.Pod != a.detail || e.Severity == model.SeverityInfo {
			continue
		}
		// The moment that an event is shown at is the snapshot's that brought it.
		if direction < 0 && e.Time.Before(at) {
			found = e
		}
		if direction > 0 && e.Time.After(at) {
			found = e
			break
		}
	}
	if found == nil {
		word := "after"
		if direction < 0 {
			word = "before"
		}
		a.say("no event " + word + " this moment")
		return nil
	}
	a.say(fmt.Sprintf("%s  %s: %s", found.Time.UTC().Format("15:04:05Z"), found.Name, found.Text))
	if a.page == listPage {
		a.selected, a.touched = found.Pod, true
	}
	return a.jump(found.Time)
}

// events are those up to the moment that is shown, oldest first.
func (a *app) events() []timeline.Event {
	all := a.timeline.Events()
	now := a.viewNow()
	n := len(all)
	for n > 0 && all[n-1].Time.After(now) {
		n--
	}
	return all[:n]
}

// whenWord says which time the screen shows, where that is not the present.
func (a *app) whenWord() string {
	const form = "15:04:05Z"
	switch {
	case !a.moment.seeking.IsZero():
		return "looking back to " + a.moment.seeking.UTC().Format(form) + "…"
	case a.moment.held:
		text := "PAST " + a.moment.snapshot.Time.UTC().Format(form)
		if ago := a.now.Sub(a.moment.snapshot.Time); ago > 0 && a.replay == nil {
			text += " (" + agoWord(ago) + " ago)"
		}
		return text
	case !a.paused.IsZero():
		return "PAUSED " + a.paused.UTC().Format(form)
	}
	return ""
}

func agoWord(d time.Duration) string {
	d = d.Round(time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}
