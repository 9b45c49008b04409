package tui

import (
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// grade says in one letter how a pod stands, so that a list can be read without
// colour and counted at a glance.
type grade int

// The grades, in the order in which they are counted.
const (
	gradeCritical grade = iota
	gradeWarning
	gradeUnknown  // the queue is not known, or no longer
	gradeStarting // nothing has been seen yet
	gradeOK
	gradeGone
	grades // how many there are
)

// letter stands before a pod's name.
func (g grade) letter() string { return [grades]string{"C", "W", "?", " ", " ", "x"}[g] }

// short stands before a number in the counts, word behind it where there is room.
func (g grade) short() string { return [grades]string{"C", "W", "?", "start", "ok", "x"}[g] }

func (g grade) word() string {
	return [grades]string{"critical", "warning", "unknown", "starting", "ok", "gone"}[g]
}

func (s styles) grade(g grade) lipgloss.Style {
	return [grades]lipgloss.Style{s.bad, s.warn, s.info, s.info, s.good, s.dim}[g]
}

// gradeOf gives a row's grade. Figures that no longer arrive prove nothing of the
// present: neither a fault nor health.
func gradeOf(r *row, old bool) grade {
	switch c := r.pod.Collection; c.Stage {
	case model.StageGone:
		return gradeGone
	case model.StageAsking, model.StagePulling, model.StageStarting, model.StageWaiting:
		return gradeStarting
	case model.StageStale, model.StageEnded:
		return gradeUnknown
	}
	if old {
		return gradeUnknown
	}
	if v := r.verdict; v != nil {
		switch {
		case v.Class == model.ClassStarting:
			return gradeStarting
		case v.Over, v.Class == model.ClassHealthy, v.Class == model.ClassHistory:
			return gradeOK
		case v.Severity == model.SeverityCritical:
			return gradeCritical
		case v.Severity == model.SeverityWarning:
			return gradeWarning
		}
		return gradeUnknown
	}
	switch r.state {
	case model.StateOK:
		return gradeOK
	case model.StateUnknown:
		return gradeUnknown
	case model.StatePending:
		return gradeStarting
	case model.StateGone:
		return gradeGone
	}
	return gradeWarning // it looks bad, nobody has judged it yet
}

// counts are how many pods there are of each grade.
type counts [grades]int

// pods are those that still exist.
func (c counts) pods() int {
	n := 0
	for g, of := range c {
		if grade(g) != gradeGone {
			n += of
		}
	}
	return n
}

// text is "C3 W14 ?1 ok65", or with words "3 critical  14 warning …".
func (c counts) text(st styles, words bool) string {
	var parts []string
	for i, n := range c {
		g := grade(i)
		switch {
		case n == 0:
		case words:
			parts = append(parts, st.grade(g).Render(strconv.Itoa(n)+" "+g.word()))
		default:
			parts = append(parts, st.grade(g).Render(g.short()+strconv.Itoa(n)))
		}
	}
	sep := " "
	if words {
		sep = "  "
	}
	return strings.Join(parts, st.plain.Render(sep))
}

// tally is what the header says of all pods, or of those of the namespace that is
// shown.
type tally struct {
	counts
	rate   model.Value[float64] // overflows per second of those whose figures are current
	oldest time.Time            // when the oldest figures came among those that arrive
	stages map[model.Stage]int  // of those that have no figures yet
	probes int                  // that run, and until when the first of them does
	until  time.Time
	ended  int // pods whose probe has ended, of all namespaces
}

// tallied counts the rows anew, as they stand at the time on the screen: figures
// that have become old meanwhile count as unknown.
func (a *app) tallied() {
	t := tally{stages: map[model.Stage]int{}, rate: model.Unknown[float64]("nothing was seen yet")}
	for _, r := range a.inTurn {
		c := &r.pod.Collection
		old := a.isOld(r.pod)
		r.grade = gradeOf(r, old)
		if c.Stage == model.StageEnded && c.Probe != "" {
			t.ended++
		}
		if a.space != "" && r.pod.Meta.Namespace != a.space {
			continue
		}
		t.counts[r.grade]++
		if r.grade == gradeStarting && c.Stage != model.StageOK {
			t.stages[c.Stage]++
		}
		if f, ok := r.rate.Get(); ok && !old && r.grade != gradeGone {
			t.rate = model.Known(t.rate.Or(0) + f)
		}
		if at := r.pod.Sample.Arrived; c.Stage == model.StageOK && !at.IsZero() && (t.oldest.IsZero() || at.Before(t.oldest)) {
			t.oldest = at
		}
		if !c.Until.IsZero() && (c.Stage == model.StageOK || c.Stage == model.StageStale) {
			t.probes++
			if t.until.IsZero() || c.Until.Before(t.until) {
				t.until = c.Until
			}
		}
	}
	a.tally = t
	a.gather()
}

// narrowing is a choice of grades, by the key that goes through them.
type narrowing struct {
	name string
	has  func(grade) bool
}

func narrowings() []narrowing {
	return []narrowing{
		{"", func(grade) bool { return true }},
		{"warning and worse", func(g grade) bool { return g <= gradeWarning }},
		{"critical only", func(g grade) bool { return g == gradeCritical }},
		{"unknown only", func(g grade) bool { return g == gradeUnknown }},
	}
}
