package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

const recordExample = `  # Record the pods of a deployment until ctrl-c
  kubectl backlog record -n shop deploy/server -o incident.jsonl.gz

  # Ten minutes at most, and only until something is refused
  kubectl backlog record -n shop deploy/server -o incident.jsonl.gz --for 10m --until overflow

  # A part of a recording
  kubectl backlog record cut incident.jsonl.gz --from 12:00:00 --to 12:05:00 -o part.jsonl.gz

  # Without names and addresses, to show it to others
  kubectl backlog record redact incident.jsonl.gz -o public.jsonl.gz`

// recordOptions are those of `record`.
type recordOptions struct {
	selection
	genericiooptions.IOStreams
	version string

	to      string
	lasts   time.Duration
	until   string
	maxSize string
	maxAge  time.Duration
	bytes   int64
	redact  bool

	openSource func(context.Context) (source.Source, error)
}

func newRecord(flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams, version string) *cobra.Command {
	o := &recordOptions{selection: newSelection(flags), IOStreams: streams, version: version}
	o.window = 10 * time.Second
	o.openSource = func(ctx context.Context) (source.Source, error) { return o.open(ctx, streams) }
	c := &cobra.Command{
		Use:     "record [POD | TYPE/NAME | IP[:PORT]]... -o FILE",
		Short:   "Record what top would show, without a screen",
		Long:    "Record what top would show, without a screen. ctrl-c ends a recording well: the exit code is then 0.",
		Example: recordExample,
		RunE:    inSteps(o),
	}
	o.addFlags(c)
	f := c.Flags()
	f.StringVarP(&o.to, "output", "o", "", "The `FILE` to write; compressed unless it ends in .jsonl")
	f.DurationVar(&o.lasts, "for", 0, "How long to record (0: until ctrl-c)")
	f.StringVar(&o.until, "until", "", "Record until something happens, and a few seconds more: overflow, warning or critical")
	f.StringVar(&o.maxSize, "max-size", "1Gi", "The most that the file may have, as in 500Mi")
	f.DurationVar(&o.maxAge, "max-age", 24*time.Hour, "The longest time that one file may hold")
	f.BoolVar(&o.redact, "redact", false, "Write no names and addresses: they get other ones (see record redact)")
	c.AddCommand(newRecordCut(streams), newRecordRedact(streams))
	return c
}

func (o *recordOptions) validate() error {
	if err := o.selection.validate(); err != nil {
		return err
	}
	size, err := resource.ParseQuantity(o.maxSize)
	switch {
	case o.to == "":
		return usageError{errors.New("-o names the file to write")}
	case o.lasts < 0:
		return usageError{errors.New("--for must not be negative")}
	case !slices.Contains([]string{"", "overflow", "warning", "critical"}, o.until):
		return usageError{fmt.Errorf("--until must be overflow, warning or critical, not %q", o.until)}
	case err != nil || size.Value() < 100_000:
		return usageError{fmt.Errorf("--max-size must be a size of at least 100k, as in 500Mi, not %q", o.maxSize)}
	case o.maxAge <= 0:
		return usageError{errors.New("--max-age must be positive")}
	}
	o.bytes = size.Value()
	return notThere(o.to)
}

// notThere keeps a recording from being overwritten by the same command, typed again.
func notThere(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return usageError{fmt.Errorf("%s exists: name another file to record to, or remove it", path)}
	}
	return nil
}

// afterwards is how long a recording goes on behind what it waited for.
const afterwards = 10 * time.Second

func (o *recordOptions) run(ctx context.Context) error {
	o.interval = 500 * time.Millisecond // no frame may be missed
	src, err := o.openSource(ctx)
	if err != nil {
		return o.nothing(err, o.ErrOut)
	}
	defer src.Close()
	header := record.Header{Tool: o.version, Title: o.title(), Started: o.now().UTC()}
	shape := func(s model.Snapshot) model.Snapshot { return s }
	if o.redact {
		redactor := record.NewRedactor()
		header, shape = redactor.Header(header), redactor.Snapshot
	}
	file, err := record.Create(o.to, record.FileOptions{Header: header, MaxBytes: o.bytes, MaxAge: o.maxAge})
	if err != nil {
		return err
	}
	r := recorder{options: o, file: file, shape: shape, begun: o.now(), happened: happened{overflows: map[string]model.Value[int64]{}, sandboxes: map[string]string{}}}
	err = r.run(ctx, o.judge(src))
	r.clear()
	if closed := file.Close(); err == nil {
		err = closed
	}
	fmt.Fprintln(o.ErrOut, r.summary())
	var full *record.FullError
	switch {
	case errors.As(err, &full):
		fmt.Fprintln(o.ErrOut, "note:", full.Why)
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return errStopped // as tcpdump has it: ctrl-c is how one ends a recording
	}
	return err
}

// recorder is a recording on its way.
type recorder struct {
	options *recordOptions
	file    *record.File
	shape   func(model.Snapshot) model.Snapshot // as it is written
	begun   time.Time
	happened
	told  bool // a line of progress stands there
	spoke time.Time
	pods  int
}

// happened is what was seen meanwhile.
type happened struct {
	at        time.Time // when what --until waits for happened; zero before
	refused   int64
	overflows map[string]model.Value[int64]
	sandboxes map[string]string
	worst     model.Verdict
	on        string
}

func (r *recorder) run(ctx context.Context, src *judged) error {
	o := r.options
	for {
		s, err := src.Next(ctx)
		if err != nil {
			return err
		}
		if err := r.file.Add(r.shape(s)); err != nil {
			return err
		}
		r.take(s)
		now := o.now()
		r.progress(now)
		switch {
		case o.lasts > 0 && now.Sub(r.begun) >= o.lasts:
			return nil
		case !r.at.IsZero() && now.Sub(r.at) >= afterwards:
			return nil
		}
	}
}

// take notes what happened.
func (r *recorder) take(s model.Snapshot) {
	r.pods = max(r.pods, len(s.Pods))
	until := r.options.until
	for _, p := range s.Pods {
		if p.HostNetwork || !p.Sample.Uptime.IsKnown() {
			continue
		}
		key := p.Key()
		if r.sandboxes[key] == p.Sample.Sandbox {
			if n, ok := model.Growth(r.overflows[key], p.Counters.ListenOverflows).Get(); ok && n > 0 {
				r.refused += n
				r.happens(until == "overflow")
			}
		}
		r.sandboxes[key], r.overflows[key] = p.Sample.Sandbox, p.Counters.ListenOverflows
		for _, v := range p.Verdicts {
			if v.Over || !v.Severity.AtLeast(model.SeverityWarning) {
				continue
			}
			r.happens(until != "" && until != "overflow" && v.Severity.AtLeast(model.Severity(until)))
			if r.worst.Class == "" || v.Severity.Rank() < r.worst.Severity.Rank() {
				r.worst, r.on = v, render.PodName(p)
			}
		}
	}
}

func (r *recorder) happens(yes bool) {
	if yes && r.at.IsZero() {
		r.at = r.options.now()
	}
}

// progress shows life on a terminal, once a second.
func (r *recorder) progress(now time.Time) {
	if _, _, terminal := terminalSize(r.options.ErrOut); !terminal || now.Sub(r.spoke) < time.Second {
		return
	}
	r.spoke, r.told = now, true
	fmt.Fprintf(r.options.ErrOut, "\r\x1b[K%s", r.words()+"  ctrl-c ends")
}

func (r *recorder) clear() {
	if r.told {
		fmt.Fprint(r.options.ErrOut, "\r\x1b[K")
	}
}

func (r *recorder) words() string {
	text := fmt.Sprintf("%s, %s, %s", r.options.now().Sub(r.begun).Round(time.Second), render.Plural(r.pods, "pod"), bytesWord(r.file.Size()))
	if r.refused > 0 {
		text += fmt.Sprintf(", +%d refused", r.refused)
	}
	if r.worst.Class != "" {
		text += ", " + render.Clean(string(r.worst.Class)) + " on " + r.on
	}
	return text
}

func (r *recorder) summary() string {
	return "recorded " + render.Clean(r.file.Path()) + ": " + r.words()
}

func bytesWord(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n/1_000_000)
	case n >= 100_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}

// cutOptions are those of `record cut`.
type cutOptions struct {
	genericiooptions.IOStreams
	replay   replaying
	out      string
	from, to moment
	redact   bool
}

func newRecordCut(streams genericiooptions.IOStreams) *cobra.Command {
	o := &cutOptions{IOStreams: streams}
	c := &cobra.Command{
		Use:   "cut FILE --from TIME --to TIME -o FILE",
		Short: "Write a part of a recording as one of its own",
		Example: `  # Five minutes of it
  kubectl backlog record cut incident.jsonl.gz --from 12:00:00 --to 12:05:00 -o part.jsonl.gz

  # The last ten minutes
  kubectl backlog record cut incident.jsonl.gz --from -10m -o part.jsonl.gz`,
		RunE: inSteps(o),
	}
	f := c.Flags()
	f.StringVarP(&o.out, "output", "o", "", "The `FILE` to write")
	f.StringVar((*string)(&o.from), "from", "", "First moment, as in 12:00:05, +5m or -10m (default: the beginning)")
	f.StringVar((*string)(&o.to), "to", "", "Last moment (default: the end)")
	f.BoolVar(&o.redact, "redact", false, "Write no names and addresses: they get other ones (see record redact)")
	return c
}

func (o *cutOptions) complete(args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("name one recording")}
	}
	o.replay.path = args[0]
	return nil
}

func (o *cutOptions) validate() error { return differentFiles(o.replay.path, o.out) }

// differentFiles keeps a recording from being overwritten while it is read.
func differentFiles(in, out string) error {
	if out == "" {
		return usageError{errors.New("-o names the file to write")}
	}
	a, errA := os.Stat(in)
	b, errB := os.Stat(out)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return usageError{errors.New("-o must be another file than the recording that is read")}
	}
	return nil
}

func (o *cutOptions) run(ctx context.Context) error {
	from, err := o.replay.moment(ctx, o.from)
	if err != nil {
		return err
	}
	to, err := o.replay.moment(ctx, o.to)
	if err != nil {
		return err
	}
	var redactor *record.Redactor
	if o.redact {
		redactor = record.NewRedactor()
	}
	ticks, notes, err := copyRecording(ctx, o.replay.path, o.out, redactor, func(s model.Snapshot) bool {
		return !s.Time.Before(from) && (to.IsZero() || !s.Time.After(to))
	})
	for _, n := range notes {
		fmt.Fprintln(o.ErrOut, "note:", render.Clean(n))
	}
	if err == nil && ticks == 0 {
		err = fmt.Errorf("cutting %s: it holds nothing of that time", o.replay.path)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(o.ErrOut, "wrote %s: %s\n", render.Clean(o.out), render.Plural(ticks, "tick"))
	return nil
}

// copyRecording copies the snapshots that take says yes to, by way of a redactor where
// there is one.
func copyRecording(ctx context.Context, in, out string, redactor *record.Redactor, take func(model.Snapshot) bool) (ticks int, notes []string, err error) {
	rec, err := source.OpenRecording(in)
	if err != nil {
		return 0, nil, err
	}
	defer rec.Close()
	header := record.Header{Title: rec.Title()}
	if p, ok := rec.(*record.Player); ok {
		header = p.Header()
	}
	if redactor != nil {
		header = redactor.Header(header)
	}
	file, err := record.Create(out, record.FileOptions{Header: header})
	if err != nil {
		return 0, nil, err
	}
	for {
		s, err := rec.Next()
		if errors.Is(err, io.EOF) {
			return ticks, rec.Notes(), file.Close()
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return ticks, nil, errors.Join(err, file.Close())
		}
		if !take(s) {
			continue
		}
		if redactor != nil {
			s = redactor.Snapshot(s)
		}
		ticks++
		err = file.Add(s)
		if err != nil {
			return ticks, nil, errors.Join(err, file.Close())
		}
	}
}
