package cmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// past is what is remembered, and judged again when somebody looks back.
type past struct {
	tape  *record.Tape
	judge func(source.Source) *judged
}

// Span is the time that is remembered.
func (p *past) Span() (from, to time.Time) { return p.tape.Span() }

// At gives the newest snapshot at or before a time, judged from what came before it.
func (p *past) At(ctx context.Context, at time.Time) (model.Snapshot, error) {
	var found model.Snapshot
	have := false
	err := p.each(ctx, at.Add(-lookBack), func(s model.Snapshot) bool {
		if have && s.Time.After(at) {
			return false
		}
		found, have = s, true
		return true
	})
	if err == nil && !have {
		err = errors.New("nothing is remembered of that time")
	}
	return found, err
}

// each gives the remembered snapshots from about a time on, judged, until it is told
// that it was enough.
func (p *past) each(ctx context.Context, from time.Time, take func(model.Snapshot) bool) error {
	player, err := p.tape.Seek(from)
	if err != nil {
		return err
	}
	defer player.Close()
	again := p.judge(playerSource{player})
	for {
		s, err := again.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !take(s):
			return nil
		}
	}
}

// playerSource is a source that gives a recording's snapshots as fast as it is asked.
type playerSource struct{ player *record.Player }

// Next gives the next one; io.EOF behind the last.
func (p playerSource) Next(ctx context.Context) (model.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return model.Snapshot{}, err
	}
	return p.player.Next()
}

// Close does nothing: the player is closed by whoever opened it.
func (p playerSource) Close() {}

// report makes a report of what is remembered, of the pods that are wanted.
func (p *past) report(ctx context.Context, header record.Header, want func(model.Pod) bool, now time.Time) (render.Report, error) {
	reporter := render.NewReporter(header.Title, header.Tool)
	err := p.each(ctx, time.Time{}, func(s model.Snapshot) bool {
		if want != nil {
			s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p model.Pod) bool { return !want(p) })
		}
		reporter.Add(s)
		return true
	})
	return reporter.Report(now), err
}
