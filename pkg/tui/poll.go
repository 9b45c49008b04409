package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// snapshotMsg is the answer to one poll. Its number tells a late one from the
// one that is waited for.
type snapshotMsg struct {
	seq      uint64
	snapshot model.Snapshot
	err      error
	// trouble is what went wrong with what is written all the time; stopped says that
	// a recording has ended by that.
	trouble string
	stopped bool
	// began and at are when the poll began and ended.
	began, at time.Time
}

// clockMsg moves the time on the screen, once a second.
type clockMsg struct {
	seq uint64
	at  time.Time
}

// errorPause is the least time between two polls when the first one failed.
const errorPause = time.Second

// poll asks the Source for the next snapshot, no sooner than the pause.
func (p *poller) poll(seq uint64, pause time.Duration) tea.Cmd {
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		if !p.sleep(pause) {
			return nil
		}
		began := p.now()
		s, err := p.source.Next(p.ctx)
		if p.ctx.Err() != nil {
			return nil
		}
		msg := snapshotMsg{seq: seq, snapshot: s, err: err, began: began, at: p.now()}
		if p.trouble != nil {
			msg.trouble, msg.stopped = p.trouble()
		}
		return msg
	}
}

// pauseAfter is how long to wait after a poll, so that a Source that does not
// pace itself is not asked without end.
func (p *poller) pauseAfter(m snapshotMsg) time.Duration {
	least := p.interval
	if m.err != nil {
		least = max(least, errorPause)
	}
	return min(least, max(0, least-m.at.Sub(m.began)))
}

// clock waits a second. tea.Tick would go on after the screen has ended.
func (p *poller) clock(seq uint64) tea.Cmd {
	return func() tea.Msg {
		if !p.begin() {
			return nil
		}
		defer p.calls.Done()
		if !p.sleep(time.Second) {
			return nil
		}
		return clockMsg{seq: seq, at: p.now()}
	}
}

// sleep is false when the screen ended meanwhile.
func (p *poller) sleep(d time.Duration) bool {
	if d <= 0 {
		return p.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}
