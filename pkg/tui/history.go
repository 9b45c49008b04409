package tui

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

const (
	// sparkSeconds is how far back a row's little curve reaches.
	sparkSeconds = 60.0
	// reach is how far back the screen remembers.
	reach = 20 * time.Minute
)

// rates gives the rate of refused packets in each of n equal parts of the last
// minute, oldest first. A part of which nothing is known is unknown, never 0.
func rates(points []timeline.Point, end time.Time, n int) []model.Value[float64] {
	covered, sum := make([]float64, n), make([]float64, n)
	width := sparkSeconds / float64(n)
	for i := len(points) - 1; i >= 0; i-- {
		// Both in seconds before the end.
		to := end.Sub(points[i].Time()).Seconds()
		if to >= sparkSeconds {
			break
		}
		if to < 0 {
			continue // later than the moment that is shown
		}
		refused, known := points[i].Refused().Get()
		seconds := points[i].Seconds().Or(0)
		if !known || seconds <= 0 {
			continue
		}
		from := to + seconds
		for part := max(0, int((sparkSeconds-from)/width)); part < n; part++ {
			begin := sparkSeconds - float64(part)*width
			shared := min(from, begin) - max(to, begin-width)
			if begin <= to {
				break
			}
			if shared > 0 {
				covered[part] += shared
				sum[part] += shared * refused / seconds
			}
		}
	}
	out := make([]model.Value[float64], n)
	for i := range out {
		if covered[i] > 0 {
			out[i] = model.Known(sum[i] / covered[i])
		}
	}
	return out
}
