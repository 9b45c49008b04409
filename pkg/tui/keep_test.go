package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestKeepingFiles(t *testing.T) {
	a, _ := remembering(t, 31)
	var calls []string
	a.keeper = Keeper{
		Record: func(_ context.Context, on bool) (string, error) {
			if on {
				calls = append(calls, "on")
				return "rec.jsonl.gz", nil
			}
			calls = append(calls, "off")
			return "rec.jsonl.gz (31 ticks)", nil
		},
		Report: func(context.Context) (string, error) { return "report.html", nil },
		Evidence: func(_ context.Context, p model.Pod) (string, error) {
			calls = append(calls, p.Meta.Name)
			return "", errors.New("no room on \x1b[31mdisk")
		},
	}
	for _, c := range []struct{ key, shows string }{
		{"R", "recording to rec.jsonl.gz"},
		{"R", "recorded: rec.jsonl.gz (31 ticks)"},
		{"W", "report: report.html"},
		{"E", "writing the evidence of checkout-79c4d5f6b8-hq2lw: no room on"},
	} {
		pressAnd(a, c.key)
		if v := a.View(); !strings.Contains(v, c.shows) || strings.Contains(v, "\x1b[31m") {
			t.Errorf("%s: %q is not shown:\n%s", c.key, c.shows, v)
		}
	}
	if got := strings.Join(calls, " "); got != "on off checkout-79c4d5f6b8-hq2lw" {
		t.Errorf("called: %s", got)
	}
}

// While one file is written no other begins, and the header shows a recording.
func TestOneFileAtATime(t *testing.T) {
	a, _ := remembering(t, 3)
	a.keeper.Record = func(context.Context, bool) (string, error) { return "rec", nil }
	_, first := a.Update(keyNamed("R"))
	pressAnd(a, "R")
	if !strings.Contains(a.View(), "still writing") {
		t.Error("a second one began")
	}
	deliverAll(a, first)
	if v := a.View(); !strings.Contains(v, "REC") || a.recording != "rec" {
		t.Errorf("the recording does not show:\n%s", v)
	}
}

func TestNothingToKeepWith(t *testing.T) {
	a, _ := remembering(t, 3)
	for _, k := range []string{"R", "W", "E"} {
		pressAnd(a, k)
		if a.saying() == "" {
			t.Errorf("%s says nothing", k)
		}
	}
}

// A message is gone after a while.
func TestMessagesPass(t *testing.T) {
	a, _ := remembering(t, 3)
	a.say("hello")
	if !strings.Contains(a.View(), "hello") {
		t.Error("not shown")
	}
	a.now = a.now.Add(sayFor + 1)
	if strings.Contains(a.View(), "hello") {
		t.Error("it stays for ever")
	}
}

// A disk that fills up is told in the header, and the screen goes on.
func TestWritingStops(t *testing.T) {
	a, _ := remembering(t, 3)
	a.recording = "rec.jsonl.gz"
	s := everyKind(4)
	a.Update(snapshotMsg{
		seq: a.polls, snapshot: s, began: s.Time, at: s.Time,
		trouble: "the recording has stopped: no space left on \x1b[31mdevice", stopped: true,
	})
	v := a.View()
	if !strings.Contains(v, "the recording has stopped: no space left") || strings.Contains(v, "\x1b[31m") || strings.Contains(v, "REC") {
		t.Errorf("the trouble is not told, or the recording still runs:\n%s", v)
	}
	if a.shown.Seq != 4 {
		t.Error("the screen stopped too")
	}
}
