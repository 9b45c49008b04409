package source

import (
	"fmt"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// threadsOldAfter is the age in seconds from which a reading of threads is no
	// longer the present: the sampler reads them every fifth frame.
	threadsOldAfter = 15
	// logReach is how far back the log of a probe that runs already is read: it holds
	// two readings of the threads, and all that a verdict looks back at.
	logReach = 31 * time.Second
)

// ReasonNoThreads is why nothing is known of a target.
const ReasonNoThreads = "the threads of no container are read: there was none to choose when the probe began, or its process is not known (-c names one for a new probe)"

// threads keeps the newest reading of the target, and what it did since the
// reading before.
type threads struct {
	last    *model.ProcessReading
	process model.Process
}

// take keeps a reading. One that does not come later than the last is another
// container's, or begins anew.
func (t *threads) take(r *model.ProcessReading) {
	if r == nil {
		return
	}
	prev := t.last
	if prev != nil && prev.Container != r.Container {
		prev = nil
	}
	t.process, t.last = model.ProcessBetween(prev, *r), r
}

// at is the process as it is to be shown beside a frame of that time.
func (t *threads) at(uptime model.Value[float64]) model.Process {
	if t.last == nil {
		return model.UnknownProcess(ReasonNoThreads)
	}
	if age := uptime.Or(0) - t.last.Uptime.Or(0); age > threadsOldAfter {
		p := model.UnknownProcess(fmt.Sprintf("the threads were last read %.0f s ago", age))
		p.Container = t.last.Container
		return p
	}
	return t.process
}
