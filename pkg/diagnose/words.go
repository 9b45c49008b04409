package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// num writes a count with commas: 3,911.
func num(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if neg {
		return "-" + s
	}
	return s
}

func count(n int64, what string) string { return num(n) + " " + what }

func rate(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return num(int64(math.Round(x)))
}

func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// secs writes a time: 0.8s, 12s, 3m05s.
func secs(s float64) string {
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + "s"
	case s < 60:
		return strconv.FormatFloat(s, 'f', 0, 64) + "s"
	}
	return fmt.Sprintf("%dm%02ds", int(s)/60, int(s)%60)
}

// nextPower is the next power of two that is not below n.
func nextPower(n int64) int64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(uint64(n-1))
}

// sentence makes one of words.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

func do(kind model.ActionKind, text string) model.Action {
	u := model.Unknown[int64]("")
	return model.Action{Kind: kind, From: u, To: u, Text: text}
}

func (f *facts) evidence(name, text string, figure float64, unit, source string) model.Evidence {
	return model.Evidence{Name: name, Text: text, Figure: model.Known(figure), Unit: unit, Window: f.seconds, Source: source}
}

// queueEvidence are the figures of a listener that every verdict on it shows.
func (f *facts) queueEvidence(l *listener) []model.Evidence {
	out := make([]model.Evidence, 0, 10)
	if n, ok := l.overflows.Get(); ok {
		text := "+" + num(n) + " on " + l.name()
		if hidden := f.before(); hidden != "" {
			text += "; " + hidden
		}
		out = append(out, f.evidence("refused packets", text, float64(n), "packets", "nstat, ss d"))
	}
	if e, ok := f.proxyView(l); ok {
		out = append(out, e)
	}
	if d, ok := l.depth.Get(); ok {
		text := num(d)
		if lim, ok := l.limit.Get(); ok {
			text += "/" + num(lim)
		}
		text += " now"
		if p, ok := l.peak.Get(); ok {
			text += ", at most " + num(p) + " in " + count(int64(l.n), "samples")
			if n := l.overflows.Or(0); n > 0 && p <= l.limit.Or(-1) {
				text += "; at least " + num(l.limit.Or(0)+1) + " inferred from the refusals"
			}
		}
		out = append(out, f.evidence("queue", text, float64(d), "connections", "ss"))
	}
	if a, ok := f.acceptedPerSecond().Get(); ok {
		text := rate(a) + " per second in the pod's namespace"
		if d, ok := l.depth.Get(); ok && a > 0 && d > 0 {
			text += fmt.Sprintf("; the last in the queue waits about %s", secs(float64(d)/a))
		}
		out = append(out, f.evidence("accepted", text, a, "connections/s", "nstat, ss"))
	}
	if l.pressed() {
		if e, ok := f.arrivals(); ok {
			out = append(out, e)
		}
	}
	if e, ok := f.slots(); ok {
		out = append(out, e)
	}
	if s, ok := f.last.Counters.Somaxconn.Get(); ok {
		if lim, ok := l.limit.Get(); ok {
			text := fmt.Sprintf("in force %s, somaxconn %s", num(lim), num(s))
			if k := f.backlogKnob(l); k != nil && k.Asked.IsKnown() {
				text = "asked " + num(k.Asked.Or(0)) + ", " + text
			}
			// Equal ones may both bind: which, only what was asked for would tell.
			switch {
			case lim < s:
				text += ": the program's own value binds"
			case lim == s:
				text += ": somaxconn binds"
			}
			out = append(out, model.Evidence{
				Name: "limit", Text: text, Figure: model.Known(float64(lim)), Unit: "connections",
				Window: model.Unknown[float64]("a figure of one moment"), Source: "ss, /proc",
			})
		}
	}
	return append(out, l.w.words...)
}

// before is what the counters said before the first sample: history, unless the
// pod is young.
func (f *facts) before() string {
	n, ok := f.samples[0].Counters.ListenOverflows.Get()
	if !ok || n == 0 {
		return ""
	}
	if age, ok := f.age.Get(); ok {
		return num(n) + " before the first sample, all within this pod's " + secs(age)
	}
	return num(n) + " before the first sample, at an unknown time"
}

// unknowns are what a verdict on a listener did not know.
func (f *facts) unknowns(l *listener) []string {
	var out []string
	add := func(what string, known bool, reason string) {
		if !known {
			out = append(out, what+": "+cmp.Or(reason, "not read"))
		}
	}
	add("limit of "+l.name(), l.limit.IsKnown(), l.limit.Reason())
	add("overflows of "+l.name(), l.overflows.IsKnown(), l.overflows.Reason())
	add("accepted connections", f.total.Accepted.IsKnown(), f.total.Accepted.Reason())
	return append(out, l.w.unknown...)
}

// backlogKnob is the setting that sizes a listener's queue: that of its role, or
// that of its port.
func (f *facts) backlogKnob(l *listener) *model.Knob {
	byRole, byPort := string(l.role)+" backlog", "backlog of port "+strconv.Itoa(int(l.port))
	for i := range f.last.Knobs {
		k := &f.last.Knobs[i]
		if k.Name == byPort || k.Name == byRole || k.Name == "backlog" && (l.role == "" || l.role == model.RoleApp) || strings.HasSuffix(k.Name, " "+byPort) {
			return k
		}
	}
	return nil
}
