package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/tui"
)

const topExample = `  # Watch the pods of a deployment: who refuses connections, and whose workers are full
  kubectl backlog top -n shop deploy/server

  # Everything that is meshed in the namespace
  kubectl backlog top

  # This machine, no cluster
  kubectl backlog top --local

  # What was seen yesterday, four times as fast
  kubectl backlog top --replay incident.jsonl.gz --speed 4

  # Not on a terminal: ten tables, one every two seconds
  kubectl backlog top deploy/server --interval 2s --count 10 | tee incident.txt`

// startLimit is how long tables wait for the first figures of all pods.
const startLimit = time.Minute

// topOptions are those of `top`.
type topOptions struct {
	selection
	genericiooptions.IOStreams
	count   int
	failOn  failOn
	screen  screenOptions
	version string
	// recordTo is where everything is recorded from the start; empty for nowhere.
	recordTo       string
	flightRecorder bool
	speed          float64
	openSource     func(context.Context) (source.Source, error)
}

func newTop(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams, version string) *cobra.Command {
	o := &topOptions{selection: newSelection(flags), IOStreams: streams, version: version}
	o.window, o.interval = 10*time.Second, 0
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "top [POD | TYPE/NAME | IP[:PORT]]...",
		Short:   "Watch queues, drops and workers of pods on a screen",
		Long:    "Watch queues, drops and workers of pods: a screen on a terminal, a repeated table otherwise.",
		Example: topExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	o.failOn.addFlag(c)
	o.screen.addFlags(c)
	o.replay.addFlag(c)
	o.replay.addMoment(c)
	c.Flags().Lookup("at").Usage = "With --replay: the moment to begin at, as in 12:00:05, +5m or -10m"
	c.Flags().Float64Var(&o.speed, "speed", 0, "With --replay: how many times faster than it was (default 1 on the screen, as fast as possible for tables)")
	c.Flags().StringVar(&o.recordTo, "record", "", "Record everything to `FILE` from the start (R on the screen begins and ends a recording)")
	c.Flags().BoolVar(&o.flightRecorder, "flight-recorder", true, "Keep the last 50 MB of what the screen saw in a file, so that the time before somebody thought of recording is there too")
	c.Flags().DurationVar(&o.interval, "interval", 0, fmt.Sprintf("Time between two looks (default %s on the screen, %s for tables); probes speak once a second", screenInterval, tableInterval))
	c.Flags().IntVar(&o.count, "count", 0, "Without a terminal: how many tables to print (0 goes on until interrupted)")
	return c
}

func (o *topOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	switch {
	case o.interval != 0 && (o.interval < 200*time.Millisecond || o.interval > time.Minute):
		return usageError{fmt.Errorf("--interval must be between 200ms and 1m")}
	case o.failOn.validate() != nil:
		return o.failOn.validate()
	case o.screen.validate() != nil:
		return o.screen.validate()
	case o.speed < 0 || o.speed > 1000:
		return usageError{fmt.Errorf("--speed must be between 0 and 1000")}
	case o.replay.given() && o.recordTo != "":
		return usageError{fmt.Errorf("--replay looks at a recording: there is nothing to --record")}
	case o.count < 0:
		return usageError{fmt.Errorf("--count must not be negative")}
	case o.recordTo != "":
		return notThere(o.recordTo)
	}
	return nil
}

// Without --interval. A probe speaks once a second, and what it said is shown
// until the next look: a little less than a second between two looks keeps every
// row of the screen under two seconds old.
const (
	screenInterval = 900 * time.Millisecond
	tableInterval  = time.Second
)

func (o *topOptions) run(ctx context.Context) error {
	if o.replay.given() {
		return o.watchRecording(ctx)
	}
	_, _, terminal := terminalSize(o.Out)
	usual := tableInterval
	if terminal {
		usual = screenInterval
	}
	o.interval = cmp.Or(o.interval, usual)
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	if !terminal {
		seen := &lastSeen{Source: o.judge(src)}
		if err := o.tables(ctx, seen); err != nil {
			return err
		}
		return o.failOn.judge(seen.snapshot)
	}
	return o.watch(ctx, src)
}

// watch shows the screen.
func (o *topOptions) watch(ctx context.Context, src source.Source) error {
	kept := newKeeping(src, o.judge)
	header := record.Header{Tool: o.version, Title: o.title(), Started: o.now().UTC()}
	if o.flightRecorder {
		o.startFlight(kept, header)
	}
	screen := tui.Options{
		Source: kept, In: o.In, Out: o.Out, Title: o.title(), Interval: o.interval, Now: o.now,
		Past: kept, Keeper: o.keeper(kept, header),
	}
	if o.recordTo != "" {
		if _, err := kept.record(o.recordTo, true, header); err != nil {
			return err
		}
		screen.Keeper.Recording = o.recordTo
	}
	o.screen.fill(&screen, o.world)
	if c, ok := src.(interface{ Renew() }); ok && !o.readOnly && o.via != "metrics" {
		screen.Renew, screen.RenewFor = c.Renew, o.ttl
	}
	err := tui.Run(ctx, screen)
	for _, note := range kept.close() {
		fmt.Fprintln(o.ErrOut, render.Clean(note))
	}
	if err != nil {
		return err
	}
	if err := tellRoles(o.ErrOut, missingRights(kept.newest())); err != nil {
		return err
	}
	return o.failOn.judge(kept.newest())
}

// startFlight begins the flight recorder. One that cannot begin is no reason not to
// look at pods.
func (o *topOptions) startFlight(kept *keeping, header record.Header) {
	dir, err := o.world.flightDir()
	if err == nil {
		kept.flight, err = record.StartFlight(dir, record.FlightOptions{Header: header, Now: o.now})
	}
	if err != nil {
		kept.trouble = fmt.Errorf("there is no flight recorder: %w", err)
	}
}

// keeper writes files into the working directory, or where that cannot be written to
// into the one for temporary files.
func (o *topOptions) keeper(kept *keeping, header record.Header) tui.Keeper {
	saver := evidence{past: kept.past, player: kept.player, header: header, now: o.now}
	if _, client, err := o.connectAgain(); err == nil {
		saver.client = client
	}
	k := o.fileKeeper(kept.past, header)
	k.Problem = kept.problem
	k.Record = func(_ context.Context, on bool) (string, error) {
		return kept.record(filepath.Join(writableDir(), fileName(o.fileTitle(), o.now())+".jsonl.gz"), on, header)
	}
	k.Evidence = func(ctx context.Context, p model.Pod) (string, error) { return saver.save(ctx, writableDir(), p) }
	return k
}

// fileKeeper writes what needs no cluster.
func (o *topOptions) fileKeeper(seen *past, header record.Header) tui.Keeper {
	return tui.Keeper{
		Report: func(ctx context.Context) (string, error) {
			r, err := seen.report(ctx, header, nil, o.now())
			if err != nil {
				return "", err
			}
			return writeReport(filepath.Join(writableDir(), fileName(o.fileTitle(), o.now())), r)
		},
		Save: func(name, text string) (string, error) {
			path := filepath.Join(os.TempDir(), fileName(name, o.now())+".txt")
			// Commands name clusters and pods: for nobody else's eyes.
			return path, os.WriteFile(path, []byte(text), 0o600)
		},
	}
}

// fileTitle begins the names of files.
func (o *topOptions) fileTitle() string {
	switch {
	case o.replay.given():
		return "replay"
	case o.local:
		return "local"
	}
	return o.namespace
}

// connectAgain gives a client for what the screen asks for itself.
func (o *topOptions) connectAgain() (*rest.Config, kubernetes.Interface, error) {
	if o.local {
		return nil, nil, errors.New("no cluster")
	}
	return o.connect()
}

// writeReport writes both forms and names the one to open.
func writeReport(path string, r render.Report) (string, error) {
	err := writeFile(path+".html", func(w io.Writer) error { return render.WriteHTML(w, r) })
	if err == nil {
		err = writeFile(path+".md", func(w io.Writer) error { return render.WriteMarkdown(w, r) })
	}
	return path + ".html and .md", err
}

// writableDir is the working directory, or else the one for temporary files.
func writableDir() string {
	f, err := os.CreateTemp(".", ".backlog-*")
	if err != nil {
		return os.TempDir()
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return "."
}

// tables prints again and again. The screen shows what starting probes do; a
// table of nothing but "?" is no use to a file, so that it waits for them.
func (o *topOptions) tables(ctx context.Context, src source.Source) error {
	progress := newProgress(o.ErrOut, o.now, startLimit)
	_, err := until(ctx, src, o.now, startLimit, func(s model.Snapshot) bool {
		progress.show(s)
		return settled(s)
	})
	progress.done()
	if err != nil {
		return err
	}
	return tui.Repeat(ctx, src, o.Out, tui.RepeatOptions{
		Count: o.count, Namespaces: o.manyNamespaces(), Wide: o.local, Notes: o.ErrOut,
	})
}

// lastSeen keeps the newest snapshot, for what is to be said after the screen.
type lastSeen struct {
	source.Source
	snapshot model.Snapshot
}

// Next is the Source's. The screen has ended, and with it every call, before the
// snapshot is read.
func (l *lastSeen) Next(ctx context.Context) (model.Snapshot, error) {
	s, err := l.Source.Next(ctx)
	if err == nil {
		l.snapshot = s
	}
	return s, err
}
