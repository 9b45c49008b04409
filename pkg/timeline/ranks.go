package timeline

import (
	"cmp"
	"math"
	"slices"
)

// mostExact bounds the lists for which all ways of dealing them out are counted.
const mostExact = 60

// byChance is how likely two lists differ at least as much as they do when both come
// from the same: the rank sum test of Mann and Whitney. Ranks do not mind that one burst
// refuses a hundred times what another does.
func byChance(a, b []float64) float64 {
	n, all := len(a), len(a)+len(b)
	if n == 0 || n == all {
		return 1
	}
	ranks, sum := ranked(a, b)
	off := math.Abs(sum - float64(n*(all+1))/2)
	if all <= mostExact {
		return exactly(ranks, n, off)
	}
	ties := 0.0
	for i := 0; i < all; {
		t := 0
		for i+t < all && ranks[i+t] == ranks[i] {
			t++
		}
		ties += float64(t*t*t - t)
		i += t
	}
	of := float64(all)
	variance := float64(n*(all-n)) / 12 * (of + 1 - ties/(of*(of-1)))
	if !(variance > 0) {
		return 1 // all are equal
	}
	return math.Erfc(max(0, off-0.5) / math.Sqrt(2*variance))
}

// ranked gives the ranks of all values in their order, the mean rank for equal ones, and
// the sum of those of the first list.
func ranked(a, b []float64) (ranks []float64, sum float64) {
	type entry struct {
		value float64
		first bool
	}
	all := make([]entry, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, entry{v, true})
	}
	for _, v := range b {
		all = append(all, entry{v, false})
	}
	slices.SortFunc(all, func(x, y entry) int { return cmp.Compare(x.value, y.value) })
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].value == all[i].value {
			j++
		}
		rank := float64(i+j+1) / 2 // the mean of i+1 to j
		for ; i < j; i++ {
			ranks = append(ranks, rank)
			if all[i].first {
				sum += rank
			}
		}
	}
	return ranks, sum
}

// exactly is the share of all ways to pick n of the ranks whose sum is at least so far
// from the mean.
func exactly(ranks []float64, n int, off float64) float64 {
	most := 0
	for _, r := range ranks {
		most += int(2 * r) // means of ranks are halves
	}
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		step := int(2 * r)
		for k := n; k > 0; k-- {
			for s := most; s >= step; s-- {
				ways[k][s] += ways[k-1][s-step]
			}
		}
	}
	far, all := 0.0, 0.0
	mean := float64(n*(len(ranks)+1)) / 2
	for s, w := range ways[n] {
		all += w
		if math.Abs(float64(s)/2-mean) >= off-1e-9 {
			far += w
		}
	}
	return far / all
}
