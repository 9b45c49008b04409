package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// openPod is a judged screen with the page of a pod on it.
func openPod(t *testing.T, width, height int, pod string) *app {
	t.Helper()
	a := screen(t, width, height)
	a.poller.ctx = context.Background()
	watchJudged(a, 31)
	press(a, "/", pod, "enter", "enter")
	if a.page != detailPage {
		t.Fatal("the page is not open")
	}
	return a
}

func TestViewTabs(t *testing.T) {
	for _, s := range []struct{ width, height int }{{80, 24}, {120, 40}, {200, 50}} {
		for i, name := range tabNames() {
			file := fmt.Sprintf("tab-%s-%dx%d.txt", strings.ToLower(name), s.width, s.height)
			t.Run(file, func(t *testing.T) {
				a := openPod(t, s.width, s.height, "server")
				press(a, fmt.Sprint(i+1))
				goldenView(t, file, a)
			})
		}
	}
}

func TestTabKeys(t *testing.T) {
	a := openPod(t, 80, 18, "server")
	for _, c := range []struct{ key, open string }{
		{"2", "[2 Queues]"},
		{"right", "[3 Workers]"},
		{"l", "[4 Config]"},
		{"tab", "[5 Events]"},
		{"left", "[4 Config]"},
		{"h", "[3 Workers]"},
		{"6", "[6 Raw]"},
		{"right", "[1 Verdict]"},
		{"left", "[6 Raw]"},
		{"4", "[4 Config]"},
	} {
		press(a, c.key)
		if v := a.View(); !strings.Contains(v, c.open) {
			t.Errorf("%s: not %s", c.key, c.open)
		}
	}
	// A page is found as it was left.
	a.Update(keyNamed("down"))
	a.scroll.SetYOffset(2)
	press(a, "esc", "enter")
	if v := a.View(); !strings.Contains(v, "[4 Config]") || a.scroll.YOffset != 2 {
		t.Errorf("scrolled by %d:\n%s", a.scroll.YOffset, v)
	}
}

// The worst command is one key away, unbroken; nobody can see whether the terminal
// took it, so that it is in a file too.
func TestCopy(t *testing.T) {
	a := openPod(t, 80, 24, "server")
	out := newTerminal()
	a.out = out
	var saved []string
	a.keeper.Save = func(name, text string) (string, error) {
		saved = append(saved, name+": "+text)
		return "/tmp/x.txt", nil
	}
	copied := func() string {
		t.Helper()
		text := out.String()
		at := strings.LastIndex(text, "\x1b]52;c;")
		if at < 0 || !strings.HasSuffix(text, "\a") {
			t.Fatalf("%q is no OSC 52", text)
		}
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text[at+len("\x1b]52;c;"):], "\a"))
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	long := "kubectl --context prod-eu1 -n shop scale deployment/server " + strings.Repeat("x", 200)
	v := &a.rows[a.detail].pod.Verdicts[0]
	v.Now = []model.Action{{Text: "Wait."}, {Text: "More.", Command: long}, {Command: "second"}}
	v.Fix = []model.Action{{Text: "Values.", Values: "a: b\nc: d", Place: "values of Helm release server"}}
	for _, want := range []string{long, "second", long} {
		pressAnd(a, "c")
		if got := copied(); got != want {
			t.Errorf("copied %q, want %q", got, want)
		}
	}
	if v := a.View(); !strings.Contains(v, "copied NOW command 1 of 2 for workers-saturated; also in /tmp/x.txt") {
		t.Errorf("nobody says so:\n%s", v)
	}
	pressAnd(a, "y")
	if got := copied(); !strings.Contains(got, "server-6bf978ccb4-m2m2q") || strings.Count(got, "\n") < 4 {
		t.Errorf("the summary is %q", got)
	}
	pressAnd(a, "C")
	if got := copied(); got != "a: b\nc: d" {
		t.Errorf("copied %q", got)
	}
	if len(saved) != 5 || !strings.HasPrefix(saved[0], "command-server") || !strings.HasPrefix(saved[3], "summary-server") {
		t.Errorf("%q", saved)
	}
	a.keeper.Save = func(string, string) (string, error) { return "", errors.New("disk full") }
	pressAnd(a, "y")
	if !strings.Contains(a.View(), "copied the summary, if the terminal takes it; not saved: disk full") {
		t.Errorf("the error is not told:\n%s", a.View())
	}
	a.out = nil
	pressAnd(a, "y")
	if !strings.Contains(a.View(), "there is no terminal; disk full") {
		t.Errorf("neither is told:\n%s", a.View())
	}
	a.keeper.Save = func(string, string) (string, error) { return "/tmp/x.txt", nil }
	pressAnd(a, "y")
	if !strings.Contains(a.View(), "the summary is in /tmp/x.txt; not copied") {
		t.Errorf("the file is not told:\n%s", a.View())
	}
}

// A clipboard is pasted into a shell: what is copied holds no escapes.
func TestCopyIsClean(t *testing.T) {
	texts := commandsOf(model.Action{Command: "kubectl delete \x1b[2J\npod", Values: "a: b\nc: \x07"})
	if len(texts) != 2 || strings.Contains(texts[0], "\n") || strings.ContainsAny(strings.Join(texts, ""), "\x1b\x07") || texts[1] != `a: b`+"\n"+`c: \x07` {
		t.Errorf("%q", texts)
	}
}

func TestNothingToCopy(t *testing.T) {
	a := openPod(t, 80, 24, "idle")
	pressAnd(a, "C")
	if !strings.Contains(a.View(), "there is no command for FIX here") {
		t.Errorf("%s", a.View())
	}
}

func TestWhatIf(t *testing.T) {
	a := openPod(t, 120, 50, "server")
	press(a, "x")
	if v := a.View(); !strings.Contains(v, "What if") || !strings.Contains(v, "(as it is)") {
		t.Fatalf("the panel is missing:\n%s", v)
	}
	press(a, ">", "=", "=")
	v := a.View()
	for _, want := range []string{"1 -> 2", "128 -> 512", "busy then", "a prediction"} {
		if !strings.Contains(v, want) {
			t.Errorf("%q is missing:\n%s", want, v)
		}
	}
	press(a, "<", "-", "-")
	if v := a.View(); strings.Contains(v, "->") && strings.Contains(v, "busy then") {
		t.Errorf("back to what is, it still predicts:\n%s", v)
	}
	press(a, "x")
	if strings.Contains(a.View(), "What if") {
		t.Error("it does not close")
	}
	b := openPod(t, 120, 50, "noimage")
	press(b, "x", ">", "=")
	if v := b.View(); !strings.Contains(v, "is not known") {
		t.Errorf("what is not known cannot be doubled:\n%s", v)
	}
}

func rawPod(n int) model.Snapshot {
	s := many(1, n)
	s.Pods[0].Raw = []model.RawText{
		{Name: "ss", Text: "LISTEN 0 128 *:80\nLISTEN 3 16 *:4143 \x1b[31m\n"},
		{Name: "nstat", Text: strings.Repeat("TcpExtOther 0\n", 40) + "TcpExtListenOverflows 7\n" + strings.Repeat("TcpExtMore 1\n", 40) + "listenoverflows again\n"},
	}
	return s
}

func TestRawIsSearched(t *testing.T) {
	a := screen(t, 80, 24)
	deliver(a, rawPod(1))
	press(a, "enter", "6")
	if v := a.View(); !strings.Contains(v, "LISTEN 3 16 *:4143 \\x1b[31m") {
		t.Errorf("not word for word, or obeyed:\n%s", v)
	}
	press(a, "/", "L", "i", "s", "t", "e", "n", "O", "v")
	if v := a.View(); !strings.Contains(v, "search: ListenOv") {
		t.Errorf("what is typed is not shown:\n%s", v)
	}
	press(a, "enter")
	first := a.View()
	if !strings.Contains(first, "» TcpExtListenOverflows 7") {
		t.Errorf("the hit is not on the screen:\n%s", first)
	}
	press(a, "n")
	if v := a.View(); !strings.Contains(v, "» listenoverflows again") {
		t.Errorf("nor the next:\n%s", v)
	}
	press(a, "n")
	if a.View() != first {
		t.Error("the search does not begin again")
	}
	press(a, "/", "esc", "g")
	if v := a.View(); strings.Contains(v, "»") {
		t.Errorf("esc does not end the search:\n%s", v)
	}
	press(a, "n")
	if !strings.Contains(a.View(), "/ searches") {
		t.Error("n says nothing")
	}
	press(a, "/", "z", "z", "enter")
	if !strings.Contains(a.View(), "is not in it") {
		t.Errorf("nothing is found, and nobody says so:\n%s", a.View())
	}
}

func TestRawOfThePast(t *testing.T) {
	a, _ := remembering(t, 30)
	press(a, "enter", "6")
	if !strings.Contains(a.View(), "nothing was read") {
		t.Errorf("%s", a.View())
	}
	pressAnd(a, "[")
	if v := a.View(); !strings.Contains(v, "raw text is kept of the newest moment alone") {
		t.Errorf("%s", v)
	}
}

// Enter on an event shows the screen as it was.
func TestEventsOfAPod(t *testing.T) {
	a, m := remembering(t, 0)
	for i := 1; i <= 60; i++ {
		s := many(2, i)
		s.Pods[0].Ready = i < 20 || i > 40
		m.snapshots = append(m.snapshots, s)
		deliver(a, s)
	}
	press(a, "/", "1", "0", "0", "0", "enter", "enter", "5")
	v := ansi.Strip(a.View())
	if !strings.Contains(v, "> 12:00:41Z") || !strings.Contains(v, "19s ago") || !strings.Contains(v, "not ready any more") {
		t.Errorf("%s", v)
	}
	press(a, "down", "down", "down")
	pressAnd(a, "enter")
	if !a.shown.Time.Equal(second(20)) {
		t.Errorf("the screen shows %s", a.shown.Time)
	}
	b := screen(t, 80, 24)
	deliver(b, many(1, 1))
	press(b, "enter", "5", "up", "enter")
	if !strings.Contains(b.View(), "nothing has happened") {
		t.Errorf("%s", b.View())
	}
}

// What-if goes by what the screen remembers, and a time in which nobody looked is no
// burst.
func TestWhatIfKnowsTheBursts(t *testing.T) {
	a := screen(t, 120, 50)
	at := func(n int, total int64) {
		s := many(1, n)
		s.Pods[0].Counters.ListenOverflows = known(total)
		s.Pods[0].Listeners[0].Sockets[0].Drops = known(total)
		deliver(a, s)
	}
	at(1, 0)
	at(2, 14)
	at(3, 14)
	at(90, 2000) // nobody looked for a minute and a half
	at(91, 2003)
	press(a, "enter", "x")
	if v := a.View(); !strings.Contains(v, "at most 14 at once") {
		t.Errorf("%s", v)
	}
}

// The chosen event stays in sight.
func TestChosenEventIsSeen(t *testing.T) {
	a := screen(t, 80, 24)
	for i := 1; i <= 120; i++ {
		s := many(1, i)
		s.Pods[0].Ready = i%2 == 0
		deliver(a, s)
	}
	press(a, "enter", "5")
	for range 60 {
		press(a, "down")
		if !strings.Contains(a.View(), "\n> 12:0") {
			t.Fatalf("the chosen event is out of sight:\n%s", a.View())
		}
	}
	for range 60 {
		press(a, "up")
		if !strings.Contains(a.View(), "\n> 12:0") {
			t.Fatalf("the chosen event is out of sight:\n%s", a.View())
		}
	}
}

func TestRawCutsByColumns(t *testing.T) {
	for _, part := range breakAt(strings.Repeat("大", 70), 78) {
		if w := ansi.StringWidth(part); w > 78 {
			t.Errorf("%d columns", w)
		}
	}
	if got := strings.Join(breakAt(strings.Repeat("大", 70), 78), ""); got != strings.Repeat("大", 70) {
		t.Errorf("%q", got)
	}
}

// A chart's gaps are gaps, and its limit is where the limit is.
func TestChart(t *testing.T) {
	a := screen(t, 80, 24)
	d := &detail{app: a}
	k := model.Known[float64]
	d.chart([]model.Value[float64]{k(0), {}, k(4), k(16), k(17)}, k(16), 2, func(f float64) string { return fmt.Sprint(int(f)) })
	var got []string
	for _, l := range d.lines {
		got = append(got, ansi.Strip(l))
	}
	want := []string{"       16│───██", "         │▁ ▄██"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
