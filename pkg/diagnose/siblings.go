package diagnose

import (
	"cmp"
	"slices"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Siblings says how the other pods of the same workload do.
type Siblings struct {
	// Total others that were judged, of which Healthy have a healthy verdict and Alike
	// the same class as this one's worst.
	Total, Healthy, Alike int
	// AcceptedMin and AcceptedMax are the accepted connections a second of the
	// healthy ones.
	AcceptedMin, AcceptedMax model.Value[float64]
}

// AddSiblings adds how the other pods do to the evidence of all verdicts that
// are more than information: whether one pod is ill or all are decides what to do.
func AddSiblings(vs []model.Verdict, s Siblings) {
	if s.Total <= 0 {
		return
	}
	text := count(int64(s.Healthy), "of "+num(int64(s.Total))+" others healthy")
	if s.Alike > 0 {
		text += ", " + num(int64(s.Alike)) + " like this one"
	}
	if lo, ok := s.AcceptedMin.Get(); ok {
		if hi, ok := s.AcceptedMax.Get(); ok {
			text += "; they accept " + rate(lo) + " to " + rate(hi) + " per second"
			if s.Healthy == 1 {
				text = "the other one is healthy; it accepts " + rate(hi) + " per second"
			}
		}
	}
	for i := range vs {
		if vs[i].Severity == model.SeverityInfo {
			continue
		}
		vs[i].Evidence = append(vs[i].Evidence, model.Evidence{
			Name: "siblings", Text: text, Figure: model.Known(float64(s.Healthy)), Unit: "pods",
			Window: vs[i].Window, Source: "the other pods of the workload",
		})
	}
}

// siblingsOf tells of each pod of a workload how the others do.
func siblingsOf(pods []*model.Pod) []Siblings {
	out := make([]Siblings, len(pods))
	var judged, healthy int
	classes := map[model.Class]int{}
	var rates []ratedPod
	for i, p := range pods {
		if len(p.Verdicts) == 0 || p.Verdicts[0].Class == model.ClassTooEarly {
			continue
		}
		judged++
		classes[p.Verdicts[0].Class]++
		if p.Verdicts[0].Class != model.ClassHealthy {
			continue
		}
		healthy++
		if a, ok := p.Window.PerSecond(p.Window.Accepted).Get(); ok {
			rates = append(rates, ratedPod{i, a})
		}
	}
	slices.SortFunc(rates, func(a, b ratedPod) int { return cmp.Compare(a.accepted, b.accepted) })
	for i, p := range pods {
		if len(p.Verdicts) == 0 {
			continue
		}
		class := p.Verdicts[0].Class
		s := Siblings{Total: judged, Healthy: healthy}
		if class != model.ClassTooEarly {
			s.Total--
			if class == model.ClassHealthy {
				s.Healthy--
			} else {
				s.Alike = classes[class] - 1
			}
		}
		s.AcceptedMin, s.AcceptedMax = model.Unknown[float64]("no other is healthy"), model.Unknown[float64]("no other is healthy")
		lowest, highest := 0, len(rates)-1
		if lowest < len(rates) && rates[lowest].pod == i {
			lowest++
		}
		if highest >= 0 && rates[highest].pod == i {
			highest--
		}
		if lowest <= highest {
			s.AcceptedMin, s.AcceptedMax = model.Known(rates[lowest].accepted), model.Known(rates[highest].accepted)
		}
		out[i] = s
	}
	return out
}

type ratedPod struct {
	pod      int
	accepted float64
}
