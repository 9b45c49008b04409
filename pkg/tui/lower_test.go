package tui

import (
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Forty probes that begin at once are one line, and do not hide what went wrong.
func TestEqualEventsAreOneLine(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(40, 1)
	for i := range s.Pods {
		s.Pods[i].Collection.Stage = model.StageStarting
	}
	deliver(a, s)
	s = many(40, 2)
	s.Pods[20].Collection.Stage, s.Pods[20].Collection.Message = model.StageFailed, "no image\x1b[2J"
	deliver(a, s)
	lines := a.eventLines(120, 10)
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range []string{"19 pods ", "pod-1020 ", "20 pods "} {
		if !strings.Contains(lines[i+1], want) {
			t.Errorf("line %d is %q, want %q in it", i+1, lines[i+1], want)
		}
	}
	if !strings.Contains(lines[2], `12:00:02Z W pod-1020`) || strings.Contains(lines[2], "\x1b") {
		t.Errorf("the pod that failed: %q", lines[2])
	}
}
