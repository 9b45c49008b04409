package timeline

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// side is a minute and more of some pods of one workload: of each second, how many
// packets the pods refuse and how many connections they accept.
type side struct {
	seconds           int
	refused, accepted func(second int) int64
	workers           int64
	busy              float64
	limit             int64
	class             model.Class
	severity          model.Severity
	pods              func(second int) []string // "server-0" when nil
	name              string                    // the workload's; "server" when empty
}

func every(n int, packets int64) func(int) int64 {
	return func(second int) int64 {
		if n > 0 && second%n == 0 {
			return packets
		}
		return 0
	}
}

func steady(n int64) func(int) int64 { return func(int) int64 { return n } }

func (s side) timeline() *Timeline {
	line := New(Options{})
	refused, accepted := map[string]int64{}, map[string]int64{}
	for second := range s.seconds {
		names := []string{"server-0"}
		if s.pods != nil {
			names = s.pods(second)
		}
		snapshot := model.Snapshot{Time: noon.Add(time.Duration(second) * time.Second)}
		for _, name := range names {
			refused[name] += s.refused(second)
			accepted[name] += s.accepted(second)
			p := sample(float64(second), refused[name], name)
			p.Meta = model.Meta{Name: name, Namespace: "shop", UID: name}
			p.Workload = model.Workload{Kind: "Deployment", Name: "server"}
			if s.name != "" {
				p.Workload, p.Meta.Name = model.Workload{}, s.name
			}
			p.Counters.PassiveOpens = model.Known(accepted[name])
			p.Listeners[0].Sockets[0].Depth = model.Known(int64(second % 3))
			p.Listeners[0].Sockets[0].Limit = model.Known(s.limit)
			p.Runtime.Workers, p.Runtime.Window.Busy = model.Known(s.workers), model.Known(s.busy)
			p.Verdicts = []model.Verdict{{Class: s.class, Severity: s.severity}}
			snapshot.Pods = append(snapshot.Pods, p)
		}
		line.Add(snapshot)
	}
	return line
}

// well refuses nothing under a load of a hundred a second.
func well() side {
	return side{
		seconds: 121, refused: steady(0), accepted: steady(100), workers: 2, busy: 0.4, limit: 128,
		class: model.ClassHealthy, severity: model.SeverityInfo,
	}
}

func bad(refused func(int) int64) side {
	s := well()
	s.refused, s.class, s.severity = refused, model.ClassBurst, model.SeverityWarning
	return s
}

func TestCompare(t *testing.T) {
	with := func(s side, change func(*side)) side { change(&s); return s }
	one := func(from, to int) func(int) int64 {
		return func(second int) int64 {
			if second >= from && second < to {
				return 50
			}
			return 0
		}
	}
	for _, c := range []struct {
		name          string
		before, after side
		outcome       Outcome
		says          []string
	}{
		{"nothing is refused any more", bad(every(5, 20)), well(), OutcomeBetter, []string{
			"better: nothing is refused any more: 240.0 refused packets a minute before, 0.0 after", "worst verdict burst-overflow -> healthy",
		}},
		{"it was never bad", well(), well(), OutcomeSame, []string{"Nothing was refused at either time"}},
		{"fewer, not none", bad(steady(30)), bad(every(5, 2)), OutcomeBetter, []string{"better: 1800.0 refused packets a minute before, 24.0 after"}},
		{"it got worse", well(), bad(every(5, 20)), OutcomeWorse, []string{"worse: 0.0 refused packets a minute before, 240.0 after"}},
		{"one burst of many seconds is one burst", bad(one(30, 40)), well(), OutcomeUnclear, []string{"comes by chance in about"}},
		{"half the load proves nothing", bad(every(5, 20)), with(well(), func(s *side) { s.accepted = steady(50) }), OutcomeUnclear, []string{
			"unclear: 240.0 refused", "the load was smaller after (100.0 accepted a second before, 50.0 after): that alone may be the reason",
		}},
		{"more load, fewer refused", bad(every(5, 20)), with(well(), func(s *side) { s.accepted = steady(500) }), OutcomeBetter, []string{"better"}},
		{"more load, more refused", well(), with(bad(every(5, 20)), func(s *side) { s.accepted = steady(500) }), OutcomeUnclear, []string{"the load was larger after"}},
		{"no difference", bad(every(5, 20)), bad(every(5, 20)), OutcomeUnclear, []string{"100 of 100 cases"}},
		{"too short", with(bad(steady(50)), func(s *side) { s.seconds = 21 }), with(well(), func(s *side) { s.seconds = 21 }), OutcomeUnclear, []string{"look longer"}},
		{"what was changed is told", bad(every(5, 20)), with(well(), func(s *side) { s.workers, s.limit, s.busy = 4, 512, 0.1 }), OutcomeBetter, []string{
			"workers 2 -> 4, limit 128 -> 512, busy 0.40 -> 0.10",
		}},
		{"a verdict without refusals", with(well(), func(s *side) {
			s.class, s.severity, s.busy = model.ClassSaturated, model.SeverityWarning, 0.99
		}), well(), OutcomeBetter, []string{"better: nothing was refused at either time: busy 0.99 -> 0.40, worst verdict workers-saturated -> healthy"}},
		{"other lengths", with(bad(every(5, 20)), func(s *side) { s.seconds = 601 }), well(), OutcomeBetter, []string{"the times are of different length: 10m0s and 2m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Compare(Side{Timeline: c.before.timeline()}, Side{Timeline: c.after.timeline()})
			if len(got.Rows) != 1 || got.Rows[0].Outcome != c.outcome {
				t.Fatalf("outcome %+v, want %s", got.Rows, c.outcome)
			}
			all := strings.Join(append(got.Findings, got.Caveats...), "\n")
			for _, s := range c.says {
				if !strings.Contains(all, s) {
					t.Errorf("does not say %q:\n%s", s, all)
				}
			}
		})
	}
}

// Pods of a rollout replace each other: the load of the workload stays what it was.
func TestRatesOfARollout(t *testing.T) {
	s := well()
	s.refused = every(1, 1)
	s.pods = func(second int) []string { return []string{fmt.Sprintf("server-%d", second/40)} }
	row := Compare(Side{Timeline: s.timeline()}, Side{Timeline: well().timeline()}).Rows[0]
	if row.Before.Pods != 4 || row.Before.Accepted.Or(0) != 100 || row.Before.Refused.Or(0) != 60 {
		t.Errorf("%+v", row.Before)
	}
	both := well()
	both.pods = func(int) []string { return []string{"a", "b"} }
	if n := Compare(Side{Timeline: both.timeline()}, Side{Timeline: well().timeline()}).Rows[0].Before.Accepted.Or(0); n != 200 {
		t.Errorf("two pods at once accept %v", n)
	}
}

// Two times of one recording.
func TestCompareTimes(t *testing.T) {
	s := bad(func(second int) int64 {
		if second < 300 {
			return 10
		}
		return 0
	})
	s.seconds = 600
	line := s.timeline()
	at := func(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }
	c := Compare(Side{line, time.Time{}, at(299)}, Side{line, at(300), time.Time{}})
	if c.Rows[0].Outcome != OutcomeBetter || c.Rows[0].Before.Refused.Or(0) != 600 || c.Rows[0].After.Refused.Or(-1) != 0 {
		t.Errorf("%+v", c.Rows[0])
	}
	if !c.Before.To.Equal(at(299)) || !c.After.From.Equal(at(300)) || !c.After.To.Equal(at(599)) {
		t.Errorf("%+v %+v", c.Before, c.After)
	}
}

// What was seen at one time alone cannot be compared; a log's pod is named by its file.
func TestWhatIsCompared(t *testing.T) {
	named := func(name string, s side) Side { s.name = name; return Side{Timeline: s.timeline()} }
	c := Compare(named("before", bad(every(5, 20))), named("after", well()))
	if len(c.Rows) != 1 || c.Rows[0].Name != "Pod/before, then Pod/after" || c.Rows[0].Outcome != OutcomeBetter {
		t.Errorf("%+v", c.Rows)
	}
	two := well()
	two.pods = func(int) []string { return []string{"a", "b"} }
	line := two.timeline()
	line.Track("b").Workload.Name = "other"
	c = Compare(Side{Timeline: well().timeline()}, Side{Timeline: line})
	if len(c.Rows) != 2 || c.Rows[0].Outcome != OutcomeUnknown || c.Rows[0].Before.Refused.IsKnown() || !strings.Contains(strings.Join(c.Caveats, "\n"), "other was not seen before") {
		t.Errorf("%+v %q", c.Rows, c.Caveats)
	}
	c = Compare(Side{Timeline: New(Options{})}, Side{Timeline: well().timeline()})
	if c.Findings[0] != "There is nothing here that can be compared." {
		t.Errorf("%q", c.Findings)
	}
}

// Of a verdict that stood for a moment no more is made than of one that stayed.
func TestWorstThatStayed(t *testing.T) {
	s := bad(every(5, 20))
	line := s.timeline()
	p := sample(500, 0, "server-0")
	p.Meta = model.Meta{Name: "server-0", Namespace: "shop", UID: "server-0"}
	p.Workload = model.Workload{Kind: "Deployment", Name: "server"}
	p.Verdicts = []model.Verdict{{Class: model.ClassUndecided, Severity: model.SeverityCritical}}
	line.Add(model.Snapshot{Time: noon.Add(500 * time.Second), Pods: []model.Pod{p}})
	if got := Compare(Side{Timeline: line}, Side{Timeline: line}).Rows[0].Before; got.Class != model.ClassBurst || got.Severity != model.SeverityWarning {
		t.Errorf("%+v", got)
	}
}

func TestByChance(t *testing.T) {
	list := func(n int, values ...float64) (out []float64) {
		for range n {
			out = append(out, values...)
		}
		return out
	}
	for _, c := range []struct {
		name      string
		a, b      []float64
		low, high float64
	}{
		{"nothing to compare", nil, list(9, 1), 1, 1},
		{"all equal", list(9, 0), list(9, 0), 1, 1},
		{"apart", list(6, 5, 7), list(12, 0), 0, 0.001},
		{"three against three are too few", list(3, 9), list(3, 0), 0.1, 0.1},
		{"one of twelve", append(list(11, 0), 900), list(12, 0), 1, 1},
		{"four of twelve", append(list(8, 0), 1, 2, 3, 900), list(12, 0), 0.05, 0.15},
		{"long lists apart", list(60, 5, 7), list(90, 0), 0, 1e-9},
		{"long lists, one differs", append(list(99, 0), 900), list(99, 0), 0.2, 0.6},
		{"long lists, all equal", list(99, 0), list(99, 0), 1, 1},
		{"the same", list(6, 1, 2, 3), list(6, 1, 2, 3), 0.9, 1},
	} {
		if p := byChance(c.a, c.b); p < c.low-1e-9 || p > c.high+1e-9 {
			t.Errorf("%s: %v, want %v to %v", c.name, p, c.low, c.high)
		}
		if p, q := byChance(c.a, c.b), byChance(c.b, c.a); math.Abs(p-q) > 1e-9 {
			t.Errorf("%s: %v one way, %v the other", c.name, p, q)
		}
	}
}

func TestCovered(t *testing.T) {
	for _, c := range []struct {
		list []interval
		want float64
	}{
		{nil, 0},
		{[]interval{{0, 1000}, {1000, 2000}}, 2},
		{[]interval{{5000, 6000}, {0, 3000}, {1000, 2000}, {2000, 4000}}, 5},
		{[]interval{{-2000, -1000}}, 1},
	} {
		if got := covered(c.list); got != c.want {
			t.Errorf("%v cover %v s, want %v", c.list, got, c.want)
		}
	}
}

// Every class fits into a point and comes out again.
func TestClassesOfPoints(t *testing.T) {
	for _, class := range classes() {
		var p Point
		p.judged([]model.Verdict{{Class: class, Severity: model.SeverityInfo}})
		if p.Class() != class {
			t.Errorf("%s became %q", class, p.Class())
		}
	}
	var p Point
	p.judged([]model.Verdict{{Class: "of-a-later-version", Severity: model.SeverityWarning}})
	if p.Class() != "" || p.Severity() != model.SeverityWarning {
		t.Errorf("%q %q", p.Class(), p.Severity())
	}
}
