package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/record"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

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
