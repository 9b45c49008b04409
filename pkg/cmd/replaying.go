package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// replaying is where a command looks at a recording instead of a cluster.
type replaying struct {
	path string // empty: at a cluster
	at   moment
}

func (r *replaying) given() bool { return r.path != "" }

func (r *replaying) addFlag(c *cobra.Command) {
	c.Flags().StringVar(&r.path, "replay", "", "Look at a recording instead of a cluster: a `FILE` of R, --record or record, a flight recorder's folder, or a probe's own log")
}

func (r *replaying) addMoment(c *cobra.Command) {
	c.Flags().StringVar((*string)(&r.at), "at", "", "With --replay: the moment to look at, as in 12:00:05, +5m or -10m (default: the end)")
}

// open opens the recording.
func (r *replaying) open() (source.Recording, error) {
	rec, err := source.OpenRecording(r.path)
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// title is what the recording is of, and the context in it, which the commands for
// what helps name.
func (r *replaying) title() (title, kubeContext string, err error) {
	rec, err := r.open()
	if err != nil {
		return "", "", err
	}
	title = rec.Title()
	if i := strings.LastIndexByte(title, '/'); i >= 0 {
		kubeContext = title[:i]
	}
	if err := rec.Close(); err != nil {
		return "", "", fmt.Errorf("closing %s: %w", r.path, err)
	}
	return title, kubeContext, nil
}

// judgeOf judges what a recording holds anew.
func judgeOf(kubeContext string) func(source.Source) *judged {
	return func(src source.Source) *judged {
		return &judged{Source: src, ledger: diagnose.NewLedger(diagnose.Options{}), remedy: remedy.Options{Context: kubeContext}}
	}
}

// bounds are the first and last moment of a recording.
func (r *replaying) bounds(ctx context.Context) (from, to time.Time, err error) {
	rec, err := r.open()
	if err != nil {
		return from, to, err
	}
	defer rec.Close()
	for {
		s, err := rec.Next()
		if errors.Is(err, io.EOF) {
			return from, to, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return from, to, err
		}
		if from.IsZero() {
			from = s.Time
		}
		to = s.Time
	}
}

// moment resolves a time of the recording.
func (r *replaying) moment(ctx context.Context, m moment) (time.Time, error) {
	if m == "" {
		return time.Time{}, nil
	}
	from, to, err := r.bounds(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return m.in(from, to)
}

// read gives the judged snapshots of the recording, those between two times, to take.
// Those before are judged too, since a verdict needs a history. Zero times are no
// bounds. The notes say what is wrong with the recording.
func (r *replaying) read(ctx context.Context, from, to time.Time, keep func(*model.Pod) bool, take func(model.Snapshot)) (notes []string, err error) {
	_, kubeContext, err := r.title()
	if err != nil {
		return nil, err
	}
	replay := source.NewReplay(source.ReplayOptions{Open: r.open, Keep: keep})
	defer replay.Close()
	src := judgeOf(kubeContext)(replay)
	seen := 0
	for {
		s, err := src.Next(ctx)
		if errors.Is(err, io.EOF) || err == nil && !to.IsZero() && s.Time.After(to) {
			if seen == 0 {
				return replay.Notes(), fmt.Errorf("reading %s: it holds nothing of that time", r.path)
			}
			return replay.Notes(), nil
		}
		if err != nil {
			return nil, err
		}
		if s.Time.Before(from) {
			continue
		}
		seen++
		take(s)
	}
}

// last is the newest snapshot at the moment that was asked for. Each that leads up to
// it is handed to seen, if that is not nil.
func (s *selection) last(ctx context.Context, errOut io.Writer, seen func(model.Snapshot)) (model.Snapshot, error) {
	to, err := s.replay.moment(ctx, s.replay.at)
	if err != nil {
		return model.Snapshot{}, err
	}
	var last model.Snapshot
	notes, err := s.replay.read(ctx, time.Time{}, to, s.wanted(), func(snapshot model.Snapshot) {
		last = snapshot
		if seen != nil {
			seen(snapshot)
		}
	})
	for _, n := range notes {
		fmt.Fprintln(errOut, "note:", render.Clean(n))
	}
	if err == nil && len(last.Pods) == 0 {
		err = fmt.Errorf("reading %s: no pod in it is one that was asked for", s.replay.path)
	}
	s.now = func() time.Time { return last.Time }
	if _, kubeContext, titleErr := s.replay.title(); titleErr == nil {
		s.context = kubeContext
	}
	return last, err
}

// wanted says which pods of a recording are meant: by name, by TYPE/NAME of what owns
// them, and by the namespace where one was given. It is nil for all.
func (s *selection) wanted() func(*model.Pod) bool {
	namespace := ""
	if s.flags.Namespace != nil && !s.allNamespaces {
		namespace = *s.flags.Namespace
	}
	if namespace == "" && len(s.args) == 0 {
		return nil
	}
	return func(p *model.Pod) bool {
		// A probe's log does not tell its pod's namespace: it may be that one.
		if namespace != "" && p.Meta.Namespace != "" && p.Meta.Namespace != namespace {
			return false
		}
		return len(s.args) == 0 || slices.ContainsFunc(s.args, func(arg string) bool { return means(arg, p) })
	}
}

// means says whether an argument means a pod.
func means(arg string, p *model.Pod) bool {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok {
		return arg == p.Meta.Name
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".") // statefulsets.apps
	kind = strings.TrimSuffix(kind, "s")
	for _, short := range [][2]string{
		{"po", "pod"}, {"deploy", "deployment"}, {"st", "statefulset"}, {"d", "daemonset"}, {"r", "replicaset"}, {"cj", "cronjob"},
	} {
		if kind == short[0] {
			kind = short[1]
		}
	}
	if kind == "pod" {
		return name == p.Meta.Name
	}
	return kind == strings.ToLower(p.Workload.Kind) && name == p.Workload.Name
}
