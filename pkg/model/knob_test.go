package model

import "testing"

// The proxy's own formula; the rows are its documented behaviour.
func TestWorkers(t *testing.T) {
	n, none := Known[int64], Value[int64]{}
	r, noRatio := Known[float64], Value[float64]{}
	for _, c := range []struct {
		name      string
		rule      WorkerRule
		available int
		want      int
	}{
		{"nothing asked: one worker on a 64-core node", WorkerRule{none, none, noRatio}, 64, 1},
		{"max", WorkerRule{n(1), n(4), noRatio}, 16, 4},
		{"what is available caps all", WorkerRule{n(8), n(8), noRatio}, 4, 4},
		{"max beats ratio", WorkerRule{n(1), n(2), r(1)}, 16, 2},
		{"min beats max", WorkerRule{n(3), n(2), noRatio}, 16, 3},
		{"ratio", WorkerRule{n(1), none, r(0.25)}, 16, 4},
		{"ratio on the small node", WorkerRule{n(1), none, r(0.25)}, 4, 1},
		{"half is rounded away from zero", WorkerRule{n(1), none, r(0.35)}, 10, 4},
		{"a ratio that gives 0 gives one worker", WorkerRule{n(1), none, r(0.1)}, 2, 1},
		{"ratio at least min", WorkerRule{n(2), none, r(0.1)}, 4, 2},
		{"no CPUs known to be available: one", WorkerRule{n(2), none, noRatio}, 0, 1},
		{"absurd figures stay in range", WorkerRule{n(1 << 62), n(1 << 62), noRatio}, 8, 8},
	} {
		if got := c.rule.Workers(c.available); got != c.want {
			t.Errorf("%s: %d workers, want %d", c.name, got, c.want)
		}
	}
}

func TestDiffersOnlyWhenBothAreKnown(t *testing.T) {
	u := Unknown[int64]("node not readable")
	for want, knobs := range map[bool][]Knob{
		true:  {{Asked: Known[int64](2), InForce: Known[int64](1)}},
		false: {{Asked: u, InForce: Known[int64](1)}, {Asked: Known[int64](1), InForce: u}, {Asked: Known[int64](1), InForce: Known[int64](1)}},
	} {
		for _, k := range knobs {
			if got := k.Differs(); got != want {
				t.Errorf("Differs of %+v = %v", k, got)
			}
		}
	}
}
