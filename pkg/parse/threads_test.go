package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func showProcess(p model.ProcessReading, errs []error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "process %d %q of %q gone %v\n\tuptime %s start %s ticks %s\n\tcpus %s fds %s of %s, %d threads left out\n",
		p.PID, p.Name, p.Container, p.Gone, show(p.Uptime), show(p.Start), show(p.Ticks),
		show(p.CPUsAllowed), show(p.OpenFDs), show(p.MaxFDs), p.Omitted)
	for _, c := range p.Children {
		fmt.Fprintf(&b, "child %d of %d %q %q\n\tstart %s ticks %s waited for %s\n", c.PID, c.Parent, c.Name, c.Title, show(c.Start), show(c.Ticks), show(c.ChildTicks))
	}
	for _, th := range p.Threads {
		fmt.Fprintf(&b, "%d %q %q\n\tstart %s ticks %s\n\trun %s wait %s\n\twchan %s\n",
			th.TID, th.Name, th.State, show(th.Start), show(th.Ticks), show(th.RunNS), show(th.WaitNS), show(th.Wchan))
	}
	return b.String() + showErrors(errs)
}

// Threads whose names hold newlines, parentheses and whole lines of stat.
func TestThreadsRecorded(t *testing.T) {
	recorded(t, "threads/*.txt", func(t *testing.T, file, text string) {
		p, errs := Process(text)
		golden(t, strings.TrimSuffix(file, "txt")+"golden", showProcess(p, errs))
	})
}

const statRest = " S 1 17 17 0 -1 4194368 1 2 3 4 13 4 10 25 20 0 1 0 204302"

func TestThreadsNames(t *testing.T) {
	for _, name := range []string{
		"proxy", "", "a b", "a) S 1 2 (b", "((((", "))))", ")", "\n", "\nstat 9 (x) R 1", "\n9/stat:9 (x) R", "a\n17/stat:17 (",
		"\nwchan 9 x\n", "\nschedstat 9 1", "x\n\n\n", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "\ngone", "a\r\nb", "tokio-runtime-w", "ä) S 1",
	} {
		stat := "17 (" + name + ")" + statRest
		for form, text := range map[string]string{
			"of a shell": "stat " + stat + "\nwchan 17 ep_poll\n",
			"of grep":    "17/stat:" + strings.ReplaceAll(stat, "\n", "\n17/stat:") + "\n17/wchan:ep_poll\n",
		} {
			p, errs := Process(text)
			wantErrors(t, errs)
			if len(p.Threads) != 1 || p.Gone {
				t.Fatalf("%q in the form %s: %s", name, form, showProcess(p, errs))
			}
			if th := p.Threads[0]; th.TID != 17 || th.Name != name || th.State != "S" || th.Ticks.Or(-1) != 17 || th.Start.Or(-1) != 204302 || th.Wchan.Or("") != "ep_poll" {
				t.Errorf("%q in the form %s: %s", name, form, showProcess(p, errs))
			}
		}
	}
}

// A thread of the kernel may have a longer name; it holds no newline.
func TestThreadsLongName(t *testing.T) {
	p, errs := Process("stat 17 (kworker/u4:1-events_unbound)" + statRest + "\n")
	wantErrors(t, errs)
	if len(p.Threads) != 1 || p.Threads[0].Name != "kworker/u4:1-events_unbound" {
		t.Error(showProcess(p, errs))
	}
}

// wchan "0" is also what a reader without permission gets: unknown.
func TestThreadsWchanZeroIsUnknown(t *testing.T) {
	p, errs := Process("wchan 1 0\nwchan 2 futex_wait_queue\n")
	wantErrors(t, errs)
	if len(p.Threads) != 2 || p.Threads[0].Wchan.IsKnown() || p.Threads[1].Wchan.Or("") != "futex_wait_queue" {
		t.Error(showProcess(p, errs))
	}
}

// Who may see where one thread sleeps may see it of all: then a 0 is no matter of
// permission.
func TestThreadsWchanZeroBesideOthers(t *testing.T) {
	p, _ := Process("1/wchan:0\n2/wchan:futex_wait_queue\n")
	if got := p.Threads[0].Wchan.Reason(); got != awake {
		t.Errorf("%q", got)
	}
	p, _ = Process("1/wchan:0\n2/wchan:0\n")
	if got := p.Threads[0].Wchan.Reason(); got != zeroWchan {
		t.Errorf("%q", got)
	}
}

// A kernel without schedstat prints zeros: that is not a thread that never ran.
func TestThreadsSchedstatZeroIsUnknown(t *testing.T) {
	p, errs := Process("1/schedstat:0 0 0\n2/schedstat:5 0 1\n")
	wantErrors(t, errs)
	if p.Threads[0].RunNS.IsKnown() || p.Threads[0].WaitNS.IsKnown() || p.Threads[1].WaitNS != model.Known[int64](0) {
		t.Error(showProcess(p, errs))
	}
}

// What the sampler says of the process itself.
func TestProcessWords(t *testing.T) {
	p, errs := Process("uptime 83421.17\ncpus 0-3,8\nmaxfds 1024\nfds 61\nmore 20\n../stat:17 (my server)" + statRest + "\n")
	wantErrors(t, errs)
	want := `process 17 "my server" of "" gone false
	uptime 83421.17 start 204302 ticks 17
	cpus 5 fds 61 of 1024, 20 threads left out
`
	if got := showProcess(p, nil); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p, errs = Process("fds -\nmaxfds unlimited\n")
	wantErrors(t, errs)
	if p.OpenFDs.Reason() != hiddenFDs || p.MaxFDs.Reason() != "unlimited" || p.CPUsAllowed.IsKnown() || p.Uptime.IsKnown() || p.Ticks.IsKnown() {
		t.Error(showProcess(p, nil))
	}
	if p, errs = Process("gone\n"); !p.Gone || len(errs) > 0 {
		t.Error(showProcess(p, errs))
	}
}

func TestProcessWordsMalformed(t *testing.T) {
	p, errs := Process("uptime x\ncpus 3-1\ncpus 0-99999999999\ncpus\nmaxfds -1\nfds 0x1\nmore -2\nmore 99999999999\n../wchan:ep_poll\n17/limits:x\n")
	wantErrors(t, errs,
		`threads line 1: uptime is not a number of seconds: "uptime x"`,
		`threads line 2: not a list of CPUs: "cpus 3-1"`,
		`threads line 3: not a list of CPUs: "cpus 0-99999999999"`,
		`threads line 4: not a list of CPUs: "cpus"`,
		`threads line 5: maxfds is not a number: "maxfds -1"`,
		`threads line 6: fds is not a number: "fds 0x1"`,
		`threads line 7: more is not a number: "more -2"`,
		`threads line 8: more is not a number: "more 99999999999"`,
		`threads line 9: thread id is not a number: "../wchan:ep_poll"`,
		`threads line 10: not a line of stat, schedstat or wchan: "17/limits:x"`)
	if p.Uptime.IsKnown() || p.CPUsAllowed.IsKnown() || p.MaxFDs.IsKnown() || p.OpenFDs.IsKnown() || p.Omitted != 0 {
		t.Error(showProcess(p, nil))
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]int64{"0": 1, "0-1": 2, "0-3,8,10-11": 7, "63": 1} {
		if n, ok := cpuList(text); !ok || n != want {
			t.Errorf("%s: %d %v, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", ",", "0-", "-1", "a", "1-0", "0-65536", "0 1"} {
		if n, ok := cpuList(text); ok {
			t.Errorf("%q: %d", text, n)
		}
	}
}

// A file that vanished with its thread is no error and no zero.
func TestThreadsVanishedFiles(t *testing.T) {
	p, errs := Process("stat \nstat\nschedstat 17\nwchan 17 \n\nschedstat 18 5 6 7\n")
	wantErrors(t, errs)
	if len(p.Threads) != 1 || p.Threads[0].TID != 18 || p.Threads[0].Ticks.IsKnown() || p.Threads[0].RunNS.Or(0) != 5 {
		t.Error(showProcess(p, errs))
	}
}

func TestThreadsMalformed(t *testing.T) {
	p, errs := Process(strings.Join([]string{
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
	if len(p.Threads) != 2 || p.Threads[0].WaitNS.Or(0) != 6 || p.Threads[1].TID != 20 {
		t.Error(showProcess(p, errs))
	}
}

func TestThreadsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxThreads + 5 {
		fmt.Fprintf(&b, "wchan %d ep_poll\n", i+1)
	}
	p, errs := Process(b.String())
	if len(p.Threads) != maxThreads || len(errs) != 5 {
		t.Errorf("%d threads, %d errors", len(p.Threads), len(errs))
	}
}

// Children whose names hold newlines and the names of files, as grep and as a shell
// print them.
func TestThreadsOfChildren(t *testing.T) {
	for _, name := range []string{"nginx", "a) S 1 2 (b", "\n", "x\n../../31/stat:9 (y", "\n../../32/task/32/wchan:x", "\n17/stat:17 ("} {
		stat := "31 (" + name + ") S 17 17 17 0 -1 4194368 1 2 3 4 13 4 10 25 20 0 1 0 204302"
		with := func(file string) string {
			return file + ":" + strings.ReplaceAll(stat, "\n", "\n"+file+":") + "\n"
		}
		p, errs := Process("title 31 nginx: worker\n../stat:17 (nginx)" + statRest + "\n17/stat:17 (nginx)" + statRest + "\n" +
			with("../../31/stat") + with("../../31/task/31/stat") + "../../31/task/31/schedstat:5 6 7\n../../31/task/31/wchan:ep_poll\n")
		wantErrors(t, errs)
		if len(p.Children) != 1 || len(p.Threads) != 2 {
			t.Fatalf("%q: %s", name, showProcess(p, errs))
		}
		c, th := p.Children[0], p.Threads[1]
		if c.PID != 31 || c.Parent != 17 || c.Name != name || c.Title != "nginx: worker" || c.Ticks.Or(0) != 17 || c.ChildTicks.Or(0) != 35 || c.Start.Or(0) != 204302 {
			t.Errorf("%q: %s", name, showProcess(p, errs))
		}
		if th.TID != 31 || th.PID != 31 || th.Name != name || th.RunNS.Or(0) != 5 || th.Wchan.Or("") != "ep_poll" || p.Threads[0].PID != 17 {
			t.Errorf("%q: %s", name, showProcess(p, errs))
		}
	}
}

// A child whose files vanished while they were read is not there, and a title alone
// makes none.
func TestThreadsOfChildrenThatVanished(t *testing.T) {
	p, errs := Process("title 31 nginx: worker\ntitle 32 nginx: worker\n../../32/stat:\n../../33/task/33/schedstat:5 6 7\nunlisted 4\n")
	wantErrors(t, errs)
	if len(p.Children) != 0 || p.OmittedChildren != 4 {
		t.Error(showProcess(p, errs))
	}
}

// Who may see where the master sleeps may not see it of a worker of another user.
func TestThreadsWchanIsByProcess(t *testing.T) {
	p, errs := Process("../stat:1 (nginx)" + statRest + "\n1/wchan:sigsuspend\n../../7/task/7/wchan:0\n../../8/task/8/wchan:0\n../../8/task/9/wchan:ep_poll\n")
	wantErrors(t, errs)
	for i, want := range []string{"", zeroWchan, awake, ""} {
		if got := p.Threads[i].Wchan.Reason(); got != want {
			t.Errorf("thread %d: %q, want %q", p.Threads[i].TID, got, want)
		}
	}
}

func TestThreadsOfChildrenMalformed(t *testing.T) {
	p, errs := Process(strings.Join([]string{
		"../../x/stat:31 (a) S 1",
		"../../31/task/y/stat:31 (a) S 1",
		"../../31/stat:31 (a",
		"../../31/wchan:ep_poll",
		"title x nginx: worker",
		"title 31",
		"unlisted x",
		"../../../31/stat:31 (a) S 1",
	}, "\n"))
	wantErrors(t, errs,
		`threads line 1: not a line of stat, schedstat or wchan: "../../x/stat:31 (a) S 1"`,
		`threads line 2: not a line of stat, schedstat or wchan: "../../31/task/y/stat:31 (a) S 1"`,
		`threads line 3: name does not end: "../../31/stat:31 (a"`,
		`threads line 4: thread id is not a number: "../../31/wchan:ep_poll"`,
		`threads line 5: not a title behind the number of a process: "title x nginx: worker"`,
		`threads line 6: not a title behind the number of a process: "title 31"`,
		`threads line 7: unlisted is not a number: "unlisted x"`,
		`threads line 8: not a line of stat, schedstat or wchan: "../../../31/stat:31 (a) S 1"`)
	if len(p.Children) != 0 || len(p.Threads) != 0 {
		t.Error(showProcess(p, errs))
	}
}
