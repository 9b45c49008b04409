package source

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// reads is a section of one thread that burned so much since it began.
func reads(uptime float64, pid int, ns int64) string {
	return none + fmt.Sprintf("==backlog-section threads app==\nuptime %.2f\n../stat:%d (server) R 0 1 1 0 -1 0 1 2 3 4 %d 0 0 0 20 0 1 0 500\n%d/stat:%d (server) R 0 1 1 0 -1 0 1 2 3 4 %d 0 0 0 20 0 1 0 500\n%d/schedstat:%d 0 9\n",
		uptime, pid, ns/10_000_000, pid, pid, ns/10_000_000, pid, ns)
}

func TestHistoryTellsWhatThreadsDo(t *testing.T) {
	h := history{window: 3 * time.Second}
	p := after(&h, log(t, reads(100.1, 1, 1e9), none, reads(102.1, 1, 2e9), none))
	if p.Process.Container != "app" || p.Process.Name != "server" || p.Process.CPU != model.Known(0.5) || p.Process.Threads[0].CPU != model.Known(0.5) {
		t.Errorf("process = %+v", p.Process)
	}
}

func TestHistorySaysWhyThreadsAreUnknown(t *testing.T) {
	old := make([]string, threadsOldAfter+2)
	for i := range old {
		old[i] = none
	}
	old[0] = reads(100, 1, 1e9)
	for _, tt := range []struct {
		frames []string
		why    string
	}{
		{nil, "no frame yet"},
		{[]string{none}, ReasonNoThreads},
		{[]string{reads(100, 1, 1e9)}, "the threads were read only once so far"},
		{[]string{reads(100, 1, 1e9), reads(101, 2, 2e9)}, "another process since the reading before"},
		{[]string{reads(100, 1, 1e9), none + "==backlog-section threads app==\ngone\n"}, model.ReasonProcessGone},
		{[]string{reads(100, 1, 1e9), strings.Replace(reads(101, 1, 2e9), "threads app", "threads other", 1)}, "the threads were read only once so far"},
		{old, "the threads were last read 16 s ago"},
	} {
		p := after(&history{window: 3 * time.Second}, log(t, tt.frames...))
		if p.Process.CPU.IsKnown() || p.Process.CPU.Reason() != tt.why {
			t.Errorf("%d frames: %q, want %q", len(tt.frames), p.Process.CPU.Reason(), tt.why)
		}
	}
}
