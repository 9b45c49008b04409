package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/timeline"
)

// memory is a Past of snapshots in order.
type memory struct {
	snapshots []model.Snapshot
	err       error
}

func (m *memory) At(_ context.Context, at time.Time) (model.Snapshot, error) {
	found := m.snapshots[0]
	for _, s := range m.snapshots {
		if !s.Time.After(at) {
			found = s
		}
	}
	return found, m.err
}

func (m *memory) Span() (from, to time.Time) {
	if len(m.snapshots) == 0 {
		return time.Time{}, time.Time{}
	}
	return m.snapshots[0].Time, m.snapshots[len(m.snapshots)-1].Time
}

// remembering is a screen that has seen n seconds and remembers them.
func remembering(t *testing.T, n int) (*app, *memory) {
	t.Helper()
	a := screen(t, 120, 40)
	m := &memory{}
	a.past = m
	a.poller.ctx = t.Context()
	for _, s := range seconds(n) {
		m.snapshots = append(m.snapshots, s)
		a.now = s.Time
		deliver(a, s)
	}
	return a, m
}

// pressAnd types a key and delivers what its command brings.
func pressAnd(a *app, k string) {
	_, cmd := a.Update(keyNamed(k))
	deliverAll(a, cmd)
}

func deliverAll(a *app, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			deliverAll(a, c)
		}
	case nil:
	default:
		a.Update(msg)
	}
}

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// Keys go back and forth; the whole screen is as it was, and the present waits.
func TestBackInTime(t *testing.T) {
	a, _ := remembering(t, 200)
	at := func(want int) {
		t.Helper()
		if !a.shown.Time.Equal(second(want)) {
			t.Errorf("the screen shows %s, want %s", a.shown.Time.Format("15:04:05"), second(want).Format("15:04:05"))
		}
	}
	for _, step := range []struct {
		key  string
		want int
	}{{"[", 190}, {"{", 130}, {"(", 129}, {")", 130}, {"]", 140}, {"}", 200}, {"[", 190}} {
		pressAnd(a, step.key)
		at(step.want)
	}
	if v := a.View(); !strings.Contains(v, "PAST 12:03:10Z (10s ago)") {
		t.Errorf("the header does not say which time it is:\n%s", v)
	}
	deliver(a, everyKind(201))
	at(190)
	pressAnd(a, "{")
	pressAnd(a, "{")
	pressAnd(a, "{")
	pressAnd(a, "{")
	at(1)
	if !strings.Contains(a.View(), "oldest moment") {
		t.Error("nobody says that there is nothing older")
	}
	pressAnd(a, "p")
	at(201)
	if strings.Contains(a.View(), "PAST") {
		t.Error("the present is called past")
	}
}

// Steps that are typed faster than the screen can look back add up.
func TestStepsAddUp(t *testing.T) {
	a, _ := remembering(t, 100)
	var cmds []tea.Cmd
	for range 3 {
		_, cmd := a.Update(keyNamed("["))
		cmds = append(cmds, cmd)
	}
	if v := a.View(); !strings.Contains(v, "looking back to 12:01:10Z") {
		t.Errorf("nothing shows that it looks back:\n%s", v)
	}
	for _, c := range cmds { // late answers come first
		deliverAll(a, c)
	}
	if !a.shown.Time.Equal(second(70)) {
		t.Errorf("the screen shows %s", a.shown.Time)
	}
}

func TestLookingBackFails(t *testing.T) {
	a, m := remembering(t, 30)
	m.err = errors.New("the disk is gone")
	pressAnd(a, "[")
	if v := a.View(); !strings.Contains(v, "looking back: the disk is gone") {
		t.Errorf("the error is not told:\n%s", v)
	}
	a.past = nil
	pressAnd(a, "[")
	if v := a.View(); !strings.Contains(v, "nothing is remembered") {
		t.Errorf("a key without an effect says nothing:\n%s", v)
	}
}

// Events before and after; on a pod's page its own alone.
func TestJumpToEvents(t *testing.T) {
	a, m := remembering(t, 100)
	line := timeline.New(timeline.Options{})
	bad := func(s model.Snapshot, pod int, ready bool) model.Snapshot {
		s.Pods[pod].Ready = ready
		return s
	}
	for i := 1; i <= 100; i++ {
		s := many(3, i)
		s = bad(s, 0, i < 40)
		line.Add(bad(s, 1, i < 60))
	}
	for i := range m.snapshots {
		m.snapshots[i] = many(3, i+1)
	}
	deliver(a, many(3, 101))
	a.timeline = line
	pressAnd(a, ",")
	if !a.shown.Time.Equal(second(60)) || a.selected != "uid-pod-1001" {
		t.Errorf("the event before is at %s, of %s", a.shown.Time, a.selected)
	}
	pressAnd(a, ",")
	if !a.shown.Time.Equal(second(40)) || a.selected != "uid-pod-1000" {
		t.Errorf("the one before that is at %s, of %s", a.shown.Time, a.selected)
	}
	if v := a.View(); !strings.Contains(v, "12:00:40Z  pod-1000: not ready any more") {
		t.Errorf("nobody says what it was:\n%s", v)
	}
	pressAnd(a, "enter")
	pressAnd(a, ".")
	if !strings.Contains(a.View(), "no event after this moment") {
		t.Errorf("another pod's event was taken for this one's:\n%s", a.View())
	}
	press(a, "esc")
	pressAnd(a, ".")
	if !a.shown.Time.Equal(second(60)) {
		t.Errorf("the next event is at %s", a.shown.Time)
	}
	if got := a.events(); len(got) != 2 {
		t.Errorf("%d events up to the moment that is shown", len(got))
	}
}

// A curve ends at the moment that is shown.
func TestCurvesOfThePast(t *testing.T) {
	a, _ := remembering(t, 100)
	points := a.timeline.Track("uid-server-6bf978ccb4-m2m2q").Points()
	now, then := rates(points, second(100), 10), rates(points, second(30), 10)
	if !now[0].IsKnown() || then[0].IsKnown() || !then[9].IsKnown() {
		t.Errorf("now %v\nthen %v", now, then)
	}
}
