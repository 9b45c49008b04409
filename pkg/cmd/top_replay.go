package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

// replayed is a recording that plays, judged anew. A judge knows only what comes after
// it, so that each seek gets another one.
type replayed struct {
	replay *source.Replay
	judge  func(source.Source) *judged
	judged *judged
	runs   int
}

// Next gives the next snapshot that is to be shown.
func (r *replayed) Next(ctx context.Context) (model.Snapshot, error) {
	for {
		s, err := r.replay.Next(ctx)
		if err != nil {
			return s, err
		}
		if runs := r.replay.Runs(); runs != r.runs || r.judged == nil {
			r.judged, r.runs = r.judge(nil), runs
		}
		r.judged.fill(&s)
		if !r.replay.Warming() {
			return s, nil
		}
	}
}

// Close closes the recording.
func (r *replayed) Close() { r.replay.Close() }

// watchRecording shows the screen of a recording.
func (o *topOptions) watchRecording(ctx context.Context) error {
	title, kubeContext, err := o.replay.title()
	if err != nil {
		return err
	}
	from, err := o.replay.moment(ctx, o.replay.at)
	if err != nil {
		return err
	}
	judge := judgeOf(kubeContext)
	_, _, terminal := terminalSize(o.Out)
	speed := o.speed
	if speed == 0 && terminal {
		speed = 1
	}
	src := &replayed{
		judge:  judge,
		replay: source.NewReplay(source.ReplayOptions{Open: o.replay.open, Keep: o.wanted(), Speed: speed, From: from}),
	}
	defer src.Close()
	defer func() {
		for _, n := range src.replay.Notes() {
			fmt.Fprintln(o.ErrOut, "note:", render.Clean(n))
		}
	}()
	if !terminal {
		return tui.Repeat(ctx, src, o.Out, tui.RepeatOptions{Count: o.count, Namespaces: true, Notes: o.ErrOut})
	}
	whole := &past{tape: record.NewTape(record.TapeOptions{}), judge: judge}
	header := record.Header{Tool: o.version, Title: title, Started: o.now().UTC()}
	screen := tui.Options{
		Source: src, In: o.In, Out: o.Out, Title: title, Interval: time.Millisecond, Now: o.now, Past: whole,
		Replay: &tui.Replay{
			Read:     func(ctx context.Context) (*timeline.Timeline, error) { return o.index(ctx, whole) },
			Seek:     src.replay.Seek,
			SetSpeed: src.replay.SetSpeed,
			Speed:    speed,
		},
		Keeper: o.replayKeeper(whole, header),
	}
	o.screen.fill(&screen, o.world)
	return tui.Run(ctx, screen)
}

// index reads the whole recording: into memory, and what happened in it.
func (o *topOptions) index(ctx context.Context, whole *past) (*timeline.Timeline, error) {
	line := timeline.New(timeline.Options{})
	_, err := o.replay.read(ctx, time.Time{}, time.Time{}, o.wanted(), func(s model.Snapshot) {
		whole.tape.Add(s)
		line.Add(s)
	})
	return line, err
}

// replayKeeper writes what a recording's screen can write: nothing of a cluster.
func (o *topOptions) replayKeeper(whole *past, header record.Header) tui.Keeper {
	k := o.fileKeeper(whole, header)
	saver := evidence{past: whole, player: o.replay.open, header: header, now: o.now}
	k.Evidence = func(ctx context.Context, p model.Pod) (string, error) { return saver.save(ctx, writableDir(), p) }
	return k
}
