package diagnose

import (
	"fmt"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// proxyView is what the proxy itself counted in the window, beside what the
// kernel refused: why its dashboards are green.
func (f *facts) proxyView(l *listener) (model.Evidence, bool) {
	if l.role != model.RoleInbound {
		return model.Evidence{}, false
	}
	first, last := &f.samples[0].Runtime, &f.last.Runtime
	if first.Start != last.Start {
		return model.Evidence{}, false // another process
	}
	requests, ok := model.Growth(first.Requests, last.Requests).Get()
	if !ok {
		return model.Evidence{}, false
	}
	text := num(requests) + " requests"
	if failed, ok := model.Growth(first.Failures, last.Failures).Get(); ok && requests > 0 && failed <= requests {
		text += fmt.Sprintf(", %.2f %% success", 100*(1-float64(failed)/float64(requests)))
	}
	if n := l.overflows.Or(0); n > 0 {
		text += "; the " + num(n) + " refused packets are in none of its figures, which is why dashboards are green"
	}
	return f.evidence("proxy's view", text, float64(requests), "requests", "/metrics"), true
}

// slots is what nginx counted: connections that it accepted and closed at once,
// since all its worker_connections were taken. The kernel refused none of these.
func (f *facts) slots() (model.Evidence, bool) {
	first, last := &f.samples[0].Runtime, &f.last.Runtime
	accepts, ok := model.Growth(first.Accepts, last.Accepts).Get()
	handled, ok2 := model.Growth(first.Handled, last.Handled).Get()
	if !ok || !ok2 || accepts <= handled {
		return model.Evidence{}, false
	}
	text := fmt.Sprintf("%s of %s accepted connections were closed at once for lack of worker_connections: that is no overflow of the kernel's", num(accepts-handled), num(accepts))
	return f.evidence("accepts against handled", text, float64(accepts-handled), "connections", "stub_status"), true
}

// arrivals are peak and mean of what came, accepted and refused together: the
// pattern decides whether a deeper backlog helps.
func (f *facts) arrivals() (model.Evidence, bool) {
	var sum, peak, seconds float64
	for i := 1; i < len(f.samples); i++ {
		refused, ok := model.Growth(f.samples[i-1].Counters.ListenOverflows, f.samples[i].Counters.ListenOverflows).Get()
		dt := f.at(i) - f.at(i-1)
		if !ok || f.accepted[i] < 0 || dt <= 0 {
			return model.Evidence{}, false
		}
		n := float64(f.accepted[i] + refused)
		sum, seconds = sum+n, seconds+dt
		peak = max(peak, n/dt)
	}
	if sum <= 0 || seconds < minSamples-slack {
		return model.Evidence{}, false
	}
	mean := sum / seconds
	text := fmt.Sprintf("peak %s in one second, mean %s per second: %s to 1 (retransmits count again)", rate(peak), rate(mean), rate(peak/mean))
	return f.evidence("arrivals", text, peak/mean, "ratio", "nstat, ss"), true
}
