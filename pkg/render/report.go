package render

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// Report is what was seen of some pods over a time, for whoever reads it tomorrow.
type Report struct {
	// Title names context and namespace, Tool the version of the program.
	Title, Tool string
	// From and To are the first and the last moment, Generated when it was written.
	From, To, Generated time.Time
	// Notes concern the whole: what could not be looked at, that a recording was cut off.
	Notes []string
	// Pods are ordered by the worst that was seen of them.
	Pods []ReportPod
	// Events of all pods, oldest first.
	Events []timeline.Event
}

// ReportPod is one pod of a Report.
type ReportPod struct {
	// Pod as it was last seen.
	Pod model.Pod
	// Worst are the verdicts of a warning or more that were seen, worst first, else the
	// last ones.
	Worst []WorstVerdict
	// Track is its history, Sum what happened over all of it.
	Track *timeline.Track
	Sum   timeline.Sum
}

// WorstVerdict is a verdict at its fullest, with when it was seen first and last.
type WorstVerdict struct {
	model.Verdict
	First, Last time.Time
}

// Reporter makes a Report out of judged snapshots. It is for one user at a time.
type Reporter struct {
	title string
	tool  string
	line  *timeline.Timeline
	pods  map[string]*ReportPod
	notes []string
}

// reportStep makes one point of all within it: pictures are no finer.
const reportStep = 2 * time.Second

// mostReported bounds the pods that are remembered: jobs come and go by the thousand.
const mostReported = 5000

// NewReporter begins with nothing.
func NewReporter(title, tool string) *Reporter {
	return &Reporter{
		title: title, tool: tool, pods: map[string]*ReportPod{},
		line: timeline.New(timeline.Options{Step: reportStep, Events: 20_000}),
	}
}

// Note adds a note on the whole.
func (r *Reporter) Note(text string) {
	if text != "" && !slices.Contains(r.notes, text) && len(r.notes) < 100 {
		r.notes = append(r.notes, text)
	}
}

// Add takes a snapshot in.
func (r *Reporter) Add(s model.Snapshot) {
	r.line.Add(s)
	for _, text := range s.Problems {
		r.Note(text)
	}
	for i := range s.Pods {
		p := s.Pods[i]
		p.Raw, p.Earlier = nil, nil
		known := r.pods[p.Key()]
		if known == nil {
			if len(r.pods) == mostReported {
				r.Note(fmt.Sprintf("more than %d pods were seen; those that came later are left out", mostReported))
				continue
			}
			known = &ReportPod{}
			r.pods[p.Key()] = known
		}
		known.Pod = p
		known.add(s.Time, p.Verdicts)
	}
}

// add keeps verdicts of a warning or more.
func (k *ReportPod) add(at time.Time, verdicts []model.Verdict) {
	for _, v := range verdicts {
		if !v.Severity.AtLeast(model.SeverityWarning) {
			continue
		}
		i := slices.IndexFunc(k.Worst, func(w WorstVerdict) bool { return w.Class == v.Class && w.Listener == v.Listener })
		if i < 0 {
			k.Worst = append(k.Worst, WorstVerdict{Verdict: v, First: at, Last: at})
			continue
		}
		w := &k.Worst[i]
		w.Last = at
		// One that is over tells less than while it held.
		if v.Severity.AtLeast(w.Severity) && (!v.Over || w.Over) {
			w.Verdict = v
		}
	}
}

// Report gives what was seen up to now.
func (r *Reporter) Report(now time.Time) Report {
	out := Report{Title: r.title, Tool: r.tool, Generated: now.UTC(), Notes: slices.Clone(r.notes), Events: slices.Clone(r.line.Events())}
	out.From, out.To = r.line.Span()
	for key, k := range r.pods {
		p := *k
		p.Track = r.line.Track(key)
		if p.Track != nil {
			p.Sum = p.Track.Sum(time.Time{}, time.Time{})
		}
		p.Worst = slices.Clone(k.Worst)
		if len(p.Worst) == 0 {
			for _, v := range p.Pod.Verdicts {
				p.Worst = append(p.Worst, WorstVerdict{Verdict: v, First: out.To, Last: out.To})
			}
		}
		slices.SortStableFunc(p.Worst, func(a, b WorstVerdict) int {
			return cmp.Or(cmp.Compare(a.fleeting(), b.fleeting()), cmp.Compare(a.Severity.Rank(), b.Severity.Rank()))
		})
		out.Pods = append(out.Pods, p)
	}
	slices.SortFunc(out.Pods, func(a, b ReportPod) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Sum.Refused.Or(-1), a.Sum.Refused.Or(-1)),
			cmp.Compare(a.Pod.Meta.Namespace, b.Pod.Meta.Namespace), cmp.Compare(a.Pod.Meta.Name, b.Pod.Meta.Name), cmp.Compare(a.Pod.Key(), b.Pod.Key()),
		)
	})
	return out
}

// fleeting is 1 for a verdict that stood for a moment only, as long as too little was
// seen: one that stood longer tells more.
func (w WorstVerdict) fleeting() int {
	if w.Last.Sub(w.First) < 3*time.Second {
		return 1
	}
	return 0
}

func (k *ReportPod) rank() int {
	if len(k.Worst) == 0 {
		return model.SeverityInfo.Rank()
	}
	return k.Worst[0].Severity.Rank()
}

// bad are the pods of which a warning or more was seen.
func (r Report) bad() []ReportPod {
	n := 0
	for n < len(r.Pods) && r.Pods[n].rank() < model.SeverityInfo.Rank() {
		n++
	}
	return r.Pods[:n]
}

// Bounds of what a report shows in full.
const (
	maxReportPods   = 200
	maxReportRows   = 2000
	maxReportEvents = 500
)

// reportEvents are the newest events that are worth a line, and how many more there
// were. What is only said of probes that began is left out.
func (r Report) reportEvents() (events []timeline.Event, more int) {
	for _, e := range r.Events {
		if e.Kind == timeline.KindProbe && e.Severity == model.SeverityInfo {
			continue
		}
		events = append(events, e)
	}
	more = max(0, len(events)-maxReportEvents)
	return events[more:], more
}

// span is the time that it covers, in words.
func (r Report) span() string {
	if r.From.IsZero() {
		return "nothing was seen"
	}
	const form = "2006-01-02 15:04:05Z"
	to := r.To.UTC().Format(form)
	if r.From.UTC().Format("2006-01-02") == r.To.UTC().Format("2006-01-02") {
		to = r.To.UTC().Format("15:04:05Z")
	}
	return r.From.UTC().Format(form) + " to " + to + " (" + longAge(r.To.Sub(r.From)) + ")"
}

// summary is what one would paste into the channel: what, where, when, how bad.
func (r Report) summary() []string {
	bad := r.bad()
	if len(bad) == 0 {
		return []string{"Nothing of a warning or worse was seen of " + Plural(len(r.Pods), "pod") + "."}
	}
	worst := bad[0]
	v := worst.Worst[0]
	lines := []string{
		PodName(worst.Pod) + othersAlike(bad, v.Class) + ": " + verdictTitle(v.Verdict),
		v.Sentence,
		"seen from " + clock(v.First) + " to " + clock(v.Last),
	}
	refused, known := 0.0, false
	for _, p := range r.Pods {
		if n, ok := p.Sum.Refused.Get(); ok {
			refused, known = refused+n, true
		}
	}
	if known {
		lines = append(lines, "refused packets in all: "+Short(model.Known(int64(refused)))+", retransmits included")
	}
	for _, part := range []struct {
		name    string
		actions []model.Action
	}{{"NOW", v.Now}, {"FIX", v.Fix}, {"NOT", v.Not}} {
		if len(part.actions) > 0 {
			lines = append(lines, part.name+": "+part.actions[0].Text)
		}
	}
	return lines
}

// othersAlike says how many other pods had the same.
func othersAlike(bad []ReportPod, class model.Class) string {
	n := -1
	for _, p := range bad {
		if len(p.Worst) > 0 && p.Worst[0].Class == class {
			n++
		}
	}
	if n < 1 {
		return ""
	}
	return " and " + Plural(n, "other pod")
}

// reportRow is a pod's line in the table of all.
type reportRow struct {
	Name, Verdict, Severity, Refused, Accepted, Peak, Busy, Workers string
	Anchor                                                          string // empty where there is no part of its own
}

// peakOf is the highest depth of samples against the limit: where packets were refused
// the queue was full, whatever the samples saw.
func peakOf(peak, limit, refused model.Value[float64]) string {
	p, ok := peak.Get()
	l, known := limit.Get()
	if ok && known && refused.Or(0) > 0 && p <= l {
		return "≥" + figureWord(model.Known(l+1)) + "/" + figureWord(limit)
	}
	return figureWord(peak) + "/" + figureWord(limit)
}

// folded says whether the pod is one of many that are well, and has no line of its own:
// nothing was refused, and that is known.
func (r Report) folded(i, bad, detailed int) bool {
	refused := r.Pods[i].Sum.Refused
	return i >= max(bad, detailed) && len(r.Pods)-bad > mostWell && refused.IsKnown() && refused.Or(0) == 0
}

// mostWell is how many pods that are well have a line each.
const mostWell = 10

// detailed are the pods with a part of their own, as far as there are not too many.
func (r Report) detailed() []ReportPod {
	if bad := r.bad(); len(bad) > 0 {
		return bad
	}
	return r.Pods[:min(len(r.Pods), 3)] // nothing is wrong: a few show how it looked
}

// rows are the lines of the table of all pods; healthy is how many are folded into one
// line, more how many are left out.
func (r Report) rows() (rows []reportRow, healthy, more int) {
	bad, detailed := len(r.bad()), len(r.detailed())
	for i := range r.Pods {
		switch {
		case r.folded(i, bad, detailed):
			healthy++
		case len(rows) >= maxReportRows:
			more++
		default:
			row := r.Pods[i].row()
			if i < min(detailed, maxReportPods) {
				row.Anchor = anchorOf(i)
			}
			rows = append(rows, row)
		}
	}
	return rows, healthy, more
}

func (k *ReportPod) row() reportRow {
	s := k.Sum
	verdict := Unknown
	severity := ""
	if len(k.Worst) > 0 {
		verdict, severity = string(k.Worst[0].Class), string(k.Worst[0].Severity)
		if severity == string(model.SeverityInfo) {
			severity = ""
		}
	}
	accepted := Unknown
	if n, ok := s.Accepted.Get(); ok && s.Seconds.Or(0) > 0 {
		accepted = Rate(model.Known(n / s.Seconds.Or(1)))
	}
	return reportRow{
		Name: PodName(k.Pod), Verdict: Clean(verdict), Severity: severity, Refused: figureWord(s.Refused), Accepted: accepted,
		Peak: peakOf(s.Peak, s.Limit, s.Refused), Busy: Share(s.Busy), Workers: Workers(k.Pod),
	}
}
