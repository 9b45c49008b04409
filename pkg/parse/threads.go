package parse

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Why a figure of a thread is unknown.
const (
	noStat      = "stat of the thread was not read"
	noSchedstat = "schedstat of the thread was not read"
	noWchan     = "wchan of the thread was not read"
	zeroWchan   = "wchan reads 0: the thread runs, or the probe has another uid or gid than the target"
)

// maxThreads bounds the threads of one frame.
const maxThreads = 8192

// Thread is one reading of a thread of the target.
type Thread struct {
	TID int
	// Comm is the name the thread gave itself, up to 15 bytes of anything.
	Comm string
	// State is the kernel's letter: R runs or could, S sleeps, D waits for a
	// device, T is stopped. Empty when stat was not read.
	State string
	// UserTicks and SystemTicks are CPU time in ticks of 1/100 s since the thread
	// began.
	UserTicks, SystemTicks model.Value[int64]
	// RunNS is the time on a CPU in nanoseconds, WaitNS the time it could run but
	// did not get one (throttling by the CPU limit included), Slices how often it
	// got one.
	RunNS, WaitNS, Slices model.Value[int64]
	// Wchan is the kernel function in which it sleeps: inet_csk_accept, ep_poll.
	// "0" is unknown: it is also what a reader without permission gets.
	Wchan model.Value[string]
}

// Threads reads the section "threads" of a frame: for each thread the files
// stat, schedstat and wchan of /proc/PID/task/TID, each behind a word that says
// which (stat tells the thread itself):
//
//	stat 17 (proxy) S 1 17 …
//	schedstat 17 3985060 12345 17
//	wchan 17 ep_poll
//
// A line without content is a file that vanished with its thread.
func Threads(text string) ([]Thread, []error) {
	t := threadReader{problems: problems{what: "threads"}, at: map[int]int{}}
	for line := 1; text != ""; {
		record, rest, lines := cutRecord(text)
		t.record(record, line)
		line += lines
		text = rest
	}
	return t.threads, t.errors()
}

type threadReader struct {
	problems
	threads []Thread
	at      map[int]int
}

// cutRecord splits off the first line; the name in a stat line may hold
// newlines, which the kernel does not escape.
func cutRecord(text string) (record, rest string, lines int) {
	end := strings.IndexByte(text, '\n')
	if end < 0 {
		return text, "", 1
	}
	if strings.HasPrefix(text, "stat ") {
		if open := strings.IndexByte(text[:end], '('); open >= 0 {
			if closing := commEnd(text[open+1:]); closing >= 0 && open+1+closing > end {
				at := open + 1 + closing
				after := strings.IndexByte(text[at:], '\n')
				if after < 0 {
					return text, "", strings.Count(text, "\n") + 1
				}
				end = at + after
			}
		}
	}
	return text[:end], text[end+1:], strings.Count(text[:end], "\n") + 1
}

// commEnd finds the parenthesis that ends a name whose begin was cut off, or -1.
// The name may hold parentheses itself, so it is the last one that can be: a
// thread's name has 15 bytes at most, and behind it come a letter and numbers
// only.
func commEnd(text string) int {
	for n := min(maxComm, len(text)-1); n >= 0; n-- {
		if text[n] == ')' && stateFollows(text[n+1:]) {
			return n
		}
	}
	return -1
}

func stateFollows(text string) bool {
	return len(text) > 2 && text[0] == ' ' && isLetter(text[1]) && text[2] == ' '
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (t *threadReader) record(record string, line int) {
	kind, rest := cutField(record)
	if kind == "" {
		return
	}
	if kind == "stat" {
		t.stat(rest, record, line)
		return
	}
	if kind != "schedstat" && kind != "wchan" {
		t.add(line, record, "not a line of stat, schedstat or wchan")
		return
	}
	field, rest := cutField(rest)
	tid, err := strconv.Atoi(field)
	if err != nil || tid <= 0 {
		t.add(line, record, "thread id is not a number")
		return
	}
	content := strings.TrimSpace(rest)
	if content == "" {
		return
	}
	th := t.thread(tid)
	if th == nil {
		t.add(line, record, "too many threads")
		return
	}
	if kind == "wchan" {
		th.Wchan = model.Unknown[string](zeroWchan)
		if content != "0" {
			th.Wchan = model.Known(valid(content[:min(len(content), 64)]))
		}
		return
	}
	run, content := cutField(content)
	wait, content := cutField(content)
	slices, _ := cutField(content)
	r, ok1 := count(run)
	w, ok2 := count(wait)
	s, ok3 := count(slices)
	if !ok1 || !ok2 || !ok3 {
		t.add(line, record, "schedstat is not three numbers")
		return
	}
	th.RunNS, th.WaitNS, th.Slices = model.Known(r), model.Known(w), model.Known(s)
}

// stat reads "17 (proxy) S 1 17 …". utime and stime are fields 14 and 15 of the
// whole, the letter of the state is the third.
func (t *threadReader) stat(content, record string, line int) {
	if strings.TrimSpace(content) == "" {
		return
	}
	field, rest := cutField(content)
	tid, err := strconv.Atoi(field)
	if err != nil || tid <= 0 {
		t.add(line, record, "thread id is not a number")
		return
	}
	if !strings.HasPrefix(rest, "(") {
		t.add(line, record, "no name in parentheses")
		return
	}
	closing := commEnd(rest[1:])
	if closing < 0 { // a thread of the kernel may have a longer name
		closing = strings.LastIndexByte(rest, ')') - 1
	}
	if closing < 0 {
		t.add(line, record, "name does not end")
		return
	}
	comm, rest := rest[1:1+closing], rest[2+closing:]
	state, rest := cutField(rest)
	if len(state) != 1 || !isLetter(state[0]) {
		t.add(line, record, "state is not a letter")
		return
	}
	for range 10 { // ppid to cmajflt
		_, rest = cutField(rest)
	}
	user, rest := cutField(rest)
	system, _ := cutField(rest)
	u, ok1 := count(user)
	s, ok2 := count(system)
	if !ok1 || !ok2 {
		t.add(line, record, "utime and stime are not numbers")
		return
	}
	th := t.thread(tid)
	if th == nil {
		t.add(line, record, "too many threads")
		return
	}
	th.Comm, th.State = valid(comm), strings.Clone(state)
	th.UserTicks, th.SystemTicks = model.Known(u), model.Known(s)
}

// thread gives the thread of that id, a new one with everything unknown when it
// was not seen before; nil beyond the bound.
func (t *threadReader) thread(tid int) *Thread {
	i, ok := t.at[tid]
	if !ok {
		if len(t.threads) >= maxThreads {
			return nil
		}
		i = len(t.threads)
		t.at[tid] = i
		t.threads = append(t.threads, Thread{
			TID:       tid,
			UserTicks: model.Unknown[int64](noStat), SystemTicks: model.Unknown[int64](noStat),
			RunNS: model.Unknown[int64](noSchedstat), WaitNS: model.Unknown[int64](noSchedstat),
			Slices: model.Unknown[int64](noSchedstat), Wchan: model.Unknown[string](noWchan),
		})
	}
	return &t.threads[i]
}
