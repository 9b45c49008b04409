package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/diagnose"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// outcome of one judgement against the truth.
type outcome string

const (
	right     outcome = "right"
	candidate outcome = "undecided"
	early     outcome = "early"
	wrong     outcome = "wrong"
)

// grade says whether the verdicts are right: the right class, on the right
// listener, with no second, wrong one as severe.
func (tr truth) grade(vs []model.Verdict) outcome {
	allowed := append(slices.Clone(tr.Right), tr.Also...)
	at, got := -1, wrong
	for i, v := range vs {
		switch {
		case tr.Port != 0 && v.Port != 0 && v.Port != tr.Port:
		case slices.Contains(tr.Right, v.Class):
			at, got = i, right
		case v.Class == model.ClassUndecided && at < 0 && len(v.Candidates) <= model.MaxCandidates &&
			slices.ContainsFunc(v.Candidates, func(c model.Class) bool { return slices.Contains(tr.Right, c) }):
			at, got = i, candidate
		case v.Class == model.ClassTooEarly && at < 0:
			at, got = i, early
		}
	}
	if at < 0 {
		return wrong
	}
	for i, v := range vs {
		if i != at && v.Severity.AtLeast(vs[at].Severity) && (!slices.Contains(allowed, v.Class) || tr.Port != 0 && v.Port != 0 && v.Port != tr.Port) {
			return wrong
		}
	}
	return got
}

func words(vs []model.Verdict) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%s %s %s %v: %s", v.Severity, v.Class, v.Listener, v.Candidates, v.Sentence))
	}
	return strings.Join(out, "\n      ")
}

// windows are all cuts of ten seconds within the phase; the end of a phase that
// is shorter, and the whole of a recording that is.
func (r *recording) windows() [][2]float64 {
	from, to := r.at[0], r.at[len(r.at)-1]
	if len(r.Phase) == 2 {
		from, to = max(from, r.Phase[0]), min(to, r.Phase[1])
	}
	const long = 10
	if r.at[len(r.at)-1]-r.at[0] < long {
		return [][2]float64{{r.at[0], r.at[len(r.at)-1]}}
	}
	if to-from < long {
		return [][2]float64{{to - long, to}}
	}
	var out [][2]float64
	for _, at := range r.at {
		if at >= from-0.02 && at+long <= to+0.02 {
			out = append(out, [2]float64{at, at + long})
		}
	}
	return out
}

// Every recording, whole: the right verdict, and no wrong one beside it that is
// as severe. With a phase, it is judged as it stands at the end of it.
func TestRecorded(t *testing.T) {
	for _, path := range recordings(t) {
		r := load(t, path, true)
		to := r.at[len(r.at)-1]
		if len(r.Phase) == 2 {
			to = min(to, r.Phase[1])
		}
		vs := diagnose.Judge(r.between(0, to), diagnose.Options{})
		if got := r.grade(vs); got != right {
			t.Errorf("%s is %v, judged %s:\n      %s", r.name, r.Right, got, words(vs))
		}
	}
}

// Every window of ten seconds: right, or said to be too short for a verdict, in
// at most a tenth of them. Without the process's figures a few candidates are
// enough, when the right one is among them.
func TestRecordedWindows(t *testing.T) {
	for _, path := range recordings(t) {
		for _, process := range []bool{true, false} {
			r := load(t, path, process)
			count := map[outcome]int{}
			all := r.windows()
			for _, w := range all {
				vs := diagnose.Judge(r.between(w[0], w[1]), diagnose.Options{})
				got := r.grade(vs)
				count[got]++
				if got == wrong || got == candidate && process {
					t.Errorf("%s is %v, from %.1f to %.1f s (process known: %v) judged %s:\n      %s", r.name, r.Right, w[0], w[1], process, got, words(vs))
				}
			}
			if len(all) == 0 || count[early]*10 > len(all) {
				t.Errorf("%s: too early for %d of %d windows", r.name, count[early], len(all))
			}
			t.Logf("%-45s process %-5v right %d undecided %d early %d wrong %d", r.name, process, count[right], count[candidate], count[early], count[wrong])
		}
	}
}
