package parse

import (
	"fmt"
	"strings"
	"testing"
)

func showThreads(threads []Thread, errs []error) string {
	var b strings.Builder
	for _, th := range threads {
		fmt.Fprintf(&b, "%d %q %q\n\tuser %s system %s\n\trun %s wait %s slices %s\n\twchan %s\n",
			th.TID, th.Comm, th.State, show(th.UserTicks), show(th.SystemTicks),
			show(th.RunNS), show(th.WaitNS), show(th.Slices), show(th.Wchan))
	}
	return b.String() + showErrors(errs)
}

// Threads whose names hold newlines, parentheses and whole lines of stat.
func TestThreadsRecorded(t *testing.T) {
	recorded(t, "threads/*.txt", func(t *testing.T, file, text string) {
		threads, errs := Threads(text)
		golden(t, strings.TrimSuffix(file, "txt")+"golden", showThreads(threads, errs))
	})
}

const statRest = " S 1 17 17 0 -1 4194368 1 2 3 4 13 4 10 25 20 0 1 0 204302"

func TestThreadsNames(t *testing.T) {
	for _, name := range []string{
		"proxy", "", "a b", "a) S 1 2 (b", "((((", "))))", ")", "\n", "\nstat 9 (x) R 1",
		"\nwchan 9 x\n", "\nschedstat 9 1", "x\n\n\n", "tokio-runtime-w", "ä) S 1",
	} {
		threads, errs := Threads("stat 17 (" + name + ")" + statRest + "\nwchan 17 ep_poll\n")
		wantErrors(t, errs)
		if len(threads) != 1 || threads[0].TID != 17 || threads[0].Comm != name || threads[0].State != "S" ||
			threads[0].UserTicks.Or(-1) != 13 || threads[0].SystemTicks.Or(-1) != 4 || threads[0].Wchan.Or("") != "ep_poll" {
			t.Errorf("%q: %s", name, showThreads(threads, errs))
		}
	}
}

// A thread of the kernel may have a longer name; it holds no newline.
func TestThreadsLongName(t *testing.T) {
	threads, errs := Threads("stat 17 (kworker/u4:1-events_unbound)" + statRest + "\n")
	wantErrors(t, errs)
	if len(threads) != 1 || threads[0].Comm != "kworker/u4:1-events_unbound" {
		t.Error(showThreads(threads, errs))
	}
}

// wchan "0" is also what a reader without permission gets: unknown.
func TestThreadsWchanZeroIsUnknown(t *testing.T) {
	threads, errs := Threads("wchan 1 0\nwchan 2 futex_wait_queue\n")
	wantErrors(t, errs)
	if len(threads) != 2 || threads[0].Wchan.IsKnown() || threads[1].Wchan.Or("") != "futex_wait_queue" {
		t.Error(showThreads(threads, errs))
	}
}

// A file that vanished with its thread is no error and no zero.
func TestThreadsVanishedFiles(t *testing.T) {
	threads, errs := Threads("stat \nstat\nschedstat 17\nwchan 17 \n\nschedstat 18 5 6 7\n")
	wantErrors(t, errs)
	if len(threads) != 1 || threads[0].TID != 18 || threads[0].UserTicks.IsKnown() || threads[0].RunNS.Or(0) != 5 {
		t.Error(showThreads(threads, errs))
	}
}

func TestThreadsMalformed(t *testing.T) {
	threads, errs := Threads(strings.Join([]string{
		"schedstat 18 5 6 7",
		"schedstat 18 5 6",
		"schedstat x 5 6 7",
		"stat y (a) S",
		"stat 19 a",
		"stat 19 (a",
		"stat 19 (a) SS 1",
		"stat 19 (a) S 1 2 3",
		"stack 19",
		"wchan 20 ep_poll",
	}, "\n"))
	wantErrors(t, errs,
		`threads line 2: schedstat is not three numbers: "schedstat 18 5 6"`,
		`threads line 3: thread id is not a number: "schedstat x 5 6 7"`,
		`threads line 4: thread id is not a number: "stat y (a) S"`,
		`threads line 5: no name in parentheses: "stat 19 a"`,
		`threads line 6: name does not end: "stat 19 (a"`,
		`threads line 7: state is not a letter: "stat 19 (a) SS 1"`,
		`threads line 8: utime and stime are not numbers: "stat 19 (a) S 1 2 3"`,
		`threads line 9: not a line of stat, schedstat or wchan: "stack 19"`)
	if len(threads) != 2 || threads[0].Slices.Or(0) != 7 || threads[1].TID != 20 {
		t.Error(showThreads(threads, errs))
	}
}

func TestThreadsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxThreads + 5 {
		fmt.Fprintf(&b, "wchan %d ep_poll\n", i+1)
	}
	threads, errs := Threads(b.String())
	if len(threads) != maxThreads || len(errs) != 5 {
		t.Errorf("%d threads, %d errors", len(threads), len(errs))
	}
}
