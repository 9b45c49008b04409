package tui

import (
	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// standing is the verdict that stands for a pod in the list; nil where too little
// was seen, or nothing can be judged, so that its state is the word.
func standing(p *model.Pod) *model.Verdict {
	switch p.Collection.Stage {
	case model.StageOK, model.StageStale, model.StageEnded, model.StageFailed: // failed: the proxy may tell alone
	default:
		return nil
	}
	if len(p.Verdicts) == 0 || p.Verdicts[0].Class == model.ClassTooEarly {
		return nil
	}
	return &p.Verdicts[0]
}

// judged is the same as a value.
func judged(p model.Pod) (model.Verdict, bool) {
	if v := standing(&p); v != nil {
		return *v, true
	}
	return model.Verdict{}, false
}

// severity colours a verdict.
func (s styles) severity(v model.Verdict) lipgloss.Style {
	switch {
	case v.Class == model.ClassHealthy:
		return s.good
	case v.Over:
		return s.dim
	case v.Severity == model.SeverityCritical:
		return s.bad
	case v.Severity == model.SeverityWarning:
		return s.warn
	}
	return s.info
}

// classWord is a class as long as the column allows.
func classWord(c model.Class, width int) string {
	if word := render.Clean(string(c)); len(word) <= width {
		return word
	}
	return render.ShortClass(c)
}
