package source

import (
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The proxy books its figures into its metrics once a second (0.97 to 1.04 s
// apart, measured on linkerd2-proxy 2.366). To see each refresh soon after it
// happens without asking all the time, a scrape follows the last observed
// refresh by a little less than a second: it walks towards the refresh from
// behind, and once it comes too early it sees old figures, waits a little and
// asks again. A refresh is so observed at most about retryAfter late.
const (
	scrapeAfter = 990 * time.Millisecond
	retryAfter  = 100 * time.Millisecond
	// patience is how long it retries quickly for a refresh that does not come,
	// before it asks once a second: then the runtime is stalled or starved.
	patience = 1500 * time.Millisecond
)

// restAfter is how long a proxy is left alone that took so long to answer. Envoy
// goes through all of its statistics to find the few that are asked for, and a
// gateway has hundreds of thousands: its main thread then spends a tenth of its
// time on it at most, until the figures would be too old to be shown.
func restAfter(took time.Duration) time.Duration {
	return min(10*took, metricsOldAfter-time.Second)
}

// pace decides when to scrape next.
type pace struct {
	last        model.Runtime
	have        bool
	lastRefresh time.Time
}

// next takes a reading that was asked for at the given time and says how long
// to wait from then until the next one.
func (p *pace) next(r model.Runtime, asked time.Time) time.Duration {
	fresh := !p.have || r.Refreshed(&p.last)
	first := !p.have
	p.last, p.have = r, true
	if r.ClockBooked {
		return time.Second // the moment of a scrape does not matter
	}
	if fresh {
		p.lastRefresh = asked
		if first {
			return retryAfter // nothing is known of the phase yet: look for the next refresh
		}
		return scrapeAfter
	}
	if asked.Sub(p.lastRefresh) < scrapeAfter+patience {
		return retryAfter
	}
	return time.Second
}
