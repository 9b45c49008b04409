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

// However little room there is, what helps is shown before the evidence is.
func TestPreviewShowsRemediesFirst(t *testing.T) {
	a := screen(t, 120, 40)
	watchFleet(a, 31)
	for height := 7; height < 20; height++ {
		text := strings.Join(a.preview(120, height), "\n")
		for _, want := range []string{"Nothing leaves", "NOW ", "kubectl --context", "FIX ", "NOT "} {
			if !strings.Contains(text, want) {
				t.Errorf("%d lines have no %q:\n%s", height, want, text)
			}
		}
		if got := strings.Contains(text, "siblings"); got != (height >= 9) {
			t.Errorf("%d lines, evidence %v:\n%s", height, got, text)
		}
	}
}

// Where the probe was refused the preview says so, and what is used instead.
func TestPreviewOfARefusedProbe(t *testing.T) {
	a := screen(t, 120, 40)
	s := many(1, 5)
	p := &s.Pods[0]
	p.Collection.Stage, p.Collection.Via, p.Collection.Message = model.StageFailed, model.ViaMetrics, "patching pods/ephemeralcontainers is forbidden"
	p.Listeners = nil
	p.Verdicts = []model.Verdict{{Class: model.ClassSaturated, Severity: model.SeverityWarning, Sentence: "The workers are busy all the time."}}
	deliver(a, s)
	v := a.View()
	for _, want := range []string{"metrics only: patching", "is forbidden; the proxy's metrics are all there is"} {
		if !strings.Contains(v, want) {
			t.Errorf("no %q in:\n%s", want, v)
		}
	}
}

// A list that grows from 5 to 500 pods and back stays in place.
func TestListGrowsAndShrinks(t *testing.T) {
	for _, grouped := range []bool{true, false} {
		a := screen(t, 120, 40)
		a.grouping, a.groupingChosen = grouped, true
		n := 0
		for _, pods := range []int{5, 500, 5, 0, 500, 1} {
			for range 7 {
				n++
				deliver(a, many(pods, n))
				press(a, "l", "down", "l", "pgdown")
				fits(t, a)
			}
			if got := a.podsShown(); got != pods {
				t.Errorf("grouped %v: %d pods are shown of %d", grouped, got, pods)
			}
		}
	}
}
