package render

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Verdict is the pod's verdict in a word: the worst class, the next one of at
// least a warning behind a comma, and how many more there are. Unknown where not
// enough was seen, NotApplicable where there is nothing to judge.
func Verdict(p model.Pod) string {
	if len(p.Verdicts) == 0 || p.Collection.Stage == model.StageGone {
		return NotApplicable
	}
	first := p.Verdicts[0]
	old := p.Collection.Stage == model.StageStale || p.Collection.Stage == model.StageEnded
	if old && first.Class == model.ClassHealthy {
		return Unknown // figures that no longer arrive may tell of a fault, never of health
	}
	if first.Class == model.ClassTooEarly {
		if p.Sockets.IsKnown() && p.Sockets.Or(1) == 0 {
			return NotApplicable
		}
		return Unknown
	}
	words := []string{string(first.Class)}
	more := 0
	for _, v := range p.Verdicts[1:] {
		switch {
		case !v.Severity.AtLeast(model.SeverityWarning):
		case len(words) == 2:
			more++
		default:
			words = append(words, string(v.Class))
		}
	}
	text := Clean(strings.Join(words, ","))
	if more > 0 {
		text += "+" + strconv.Itoa(more)
	}
	return text
}

// verdictOf is what was judged of one listener; what concerns the whole pod
// stands on each.
func verdictOf(p model.Pod, l *model.Listener) string {
	if l == nil {
		return Verdict(p)
	}
	only := p
	only.Verdicts = nil
	for _, v := range p.Verdicts {
		if v.Port == 0 || v.Port == l.Port {
			only.Verdicts = append(only.Verdicts, v)
		}
	}
	if len(only.Verdicts) == 0 && len(p.Verdicts) > 0 {
		return string(model.ClassHealthy) // another listener has the verdict
	}
	return Verdict(only)
}

// ShortClass is a class in at most eleven characters, for narrow screens.
func ShortClass(c model.Class) string {
	switch c {
	case model.ClassAcceptStalled:
		return "stalled"
	case model.ClassFDExhausted:
		return "no-fds"
	case model.ClassSaturated:
		return "saturated"
	case model.ClassAcceptSlow:
		return "slow-accept"
	case model.ClassImbalance:
		return "imbalance"
	case model.ClassSomaxconnCap:
		return "somaxconn"
	case model.ClassFixedBacklog:
		return "fixed-limit"
	case model.ClassBurst:
		return "burst"
	case model.ClassConfigDrift:
		return "drift"
	case model.ClassNotAttributable:
		return "unowned"
	case model.ClassHistory:
		return "history"
	case model.ClassTooEarly:
		return Unknown
	}
	return Clean(string(c)) // app-backlog, cpu-starved, syn-queue, undecided, starting, healthy
}
