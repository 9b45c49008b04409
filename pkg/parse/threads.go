package parse

import (
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Why a figure of a process or thread is unknown.
const (
	noStat      = "stat of the thread was not read"
	noProcess   = "stat of the process was not read"
	noSchedstat = "schedstat of the thread was not read"
	noSchedinfo = "schedstat reads 0 0 0: this kernel does not keep it"
	noWchan     = "wchan of the thread was not read"
	zeroWchan   = "wchan reads 0: the thread runs, or the probe has another user or group than the target"
	awake       = "it did not sleep in the kernel when it was read"
	noCPUs      = "Cpus_allowed_list of the target was not read"
	noLimit     = "the target's limit of open files was not read"
	noFDs       = "the target's descriptors were not counted"
	hiddenFDs   = "only the target's own user and group may count its descriptors, and the probe has others"
	unlimited   = "unlimited"
)

const (
	// maxThreads bounds the threads of one frame; the sampler prints 100.
	maxThreads = 8192
	// maxCPUs bounds the numbers in a list of CPUs (NR_CPUS is 8192 at most).
	maxCPUs = 1 << 16
)

// Process reads the section "threads" of a frame: files of the target's /proc as
// grep -H prints them from within its folder task, each line behind the file's
// name, and some words of the sampler before them.
//
//	uptime 83421.17                   the clock when it was read
//	cpus 0-3,8                        Cpus_allowed_list of its status
//	maxfds 1024                       the soft limit "Max open files"
//	fds 61                            entries of its fd; "-" when that may not be read
//	more 20                           threads that are left out
//	../stat:17 (proxy) S 1 17 …       the process; up to starttime is enough
//	17/stat:17 (proxy) S 1 17 …       a thread
//	17/schedstat:3985060 12345 17
//	17/wchan:ep_poll
//	unlisted 7                        processes that are left out
//	title 31 nginx: worker            what a child's title says that it is for
//	../../31/stat:31 (nginx) S 17 …   a process that descends from the target
//	../../31/task/31/stat:31 (nginx) S 17 …
//	../../31/task/31/schedstat:885060 345 7
//	../../31/task/31/wchan:ep_poll
//	gone                              instead of all: the target is not there
//
// A name may hold newlines; each of its lines then has the file's name before
// it. A file without content vanished with its thread. Lines "stat 17 (proxy) …",
// "schedstat 17 …" and "wchan 17 …" are taken as well.
func Process(text string) (model.ProcessReading, []error) {
	t := processReader{problems: problems{what: "threads"}, at: map[int]int{}, children: map[int]int{}}
	no := model.Unknown[int64]
	t.p = model.ProcessReading{
		Uptime: model.Unknown[float64]("the sampler could not read /proc/uptime"),
		Start:  no(noProcess), Ticks: no(noProcess), ChildTicks: no(noProcess),
		CPUsAllowed: no(noCPUs), OpenFDs: no(noFDs), MaxFDs: no(noLimit),
	}
	for line := 1; text != ""; {
		record, rest, lines := cutRecord(text)
		t.record(record, line)
		line += lines
		text = rest
	}
	t.settleOwners()
	t.settleWchan()
	return t.p, t.errors()
}

type processReader struct {
	problems
	p        model.ProcessReading
	at       map[int]int // thread id to its place in p.Threads
	children map[int]int // process id to its place in p.Children
}

func (t *processReader) record(record string, line int) {
	if f, content, ok := file(record); ok {
		t.file(f, content, record, line)
		return
	}
	kind, rest := cutField(record)
	switch kind {
	case "":
	case "stat":
		t.stat(procFile{tid: -1}, rest, record, line)
	case "schedstat", "wchan":
		tid, content := cutField(rest)
		n, ok := id(tid)
		if !ok {
			t.add(line, record, "thread id is not a number")
			return
		}
		t.file(procFile{tid: n, name: kind}, content, record, line)
	case "title":
		t.title(rest, record, line)
	default:
		t.word(kind, strings.TrimSpace(rest), record, line)
	}
}

// file reads one file of a process or of a thread.
func (t *processReader) file(f procFile, content, record string, line int) {
	if strings.TrimSpace(content) == "" {
		return // it vanished
	}
	if f.name == "stat" {
		t.stat(f, content, record, line)
		return
	}
	if f.tid == 0 {
		t.add(line, record, "thread id is not a number")
		return
	}
	content = strings.TrimSpace(content)
	th := t.thread(f.tid, f.pid)
	switch {
	case th == nil:
		t.add(line, record, "too many threads")
	case f.name == "wchan":
		th.Wchan = model.Unknown[string](zeroWchan)
		if content != "0" {
			th.Wchan = model.Known(valid(content[:min(len(content), 64)]))
		}
	case f.name == "schedstat":
		if !schedstat(th, content) {
			t.add(line, record, "schedstat is not three numbers")
		}
	default:
		t.add(line, record, "not a line of stat, schedstat or wchan")
	}
}

// stat keeps a line of the target, of one of its descendants, or of a thread.
func (t *processReader) stat(f procFile, content, record string, line int) {
	if strings.TrimSpace(content) == "" {
		return
	}
	s, problem := readStat(content)
	switch {
	case problem != "":
	case f.tid == 0 && f.pid == 0:
		t.p.PID, t.p.Name, t.p.Ticks, t.p.Start, t.p.ChildTicks = s.id, s.comm, s.ticks, s.start, s.childTicks
	case f.tid == 0:
		c := t.child(f.pid)
		if c == nil {
			problem = "too many processes"
			break
		}
		c.Name, c.Parent, c.Ticks, c.Start, c.ChildTicks = s.comm, int(min(s.parent.Or(0), 1<<31-1)), s.ticks, s.start, s.childTicks
	default:
		th := t.thread(s.id, f.pid)
		if th == nil {
			problem = "too many threads"
			break
		}
		th.Name, th.State, th.Ticks, th.Start = s.comm, s.state, s.ticks, s.start
	}
	if problem != "" {
		t.add(line, record, problem)
	}
}

// title keeps what a process calls itself, which can be anything.
func (t *processReader) title(rest, record string, line int) {
	number, text := cutField(rest)
	pid, ok := id(number)
	text = strings.TrimSpace(text)
	if !ok || text == "" {
		t.add(line, record, "not a title behind the number of a process")
		return
	}
	if c := t.child(pid); c != nil {
		c.Title = valid(text[:min(len(text), 64)])
	}
}

// child gives the descendant of that number, a new one with everything unknown when
// it was not seen before; nil beyond the bound.
func (t *processReader) child(pid int) *model.ChildReading {
	i, ok := t.children[pid]
	if !ok {
		if len(t.p.Children) >= maxThreads {
			return nil
		}
		i = len(t.p.Children)
		t.children[pid] = i
		no := model.Unknown[int64]
		t.p.Children = append(t.p.Children, model.ChildReading{PID: pid, Start: no(noProcess), Ticks: no(noProcess), ChildTicks: no(noProcess)})
	}
	return &t.p.Children[i]
}

// schedstat reads "ns on a CPU, ns waiting for one, slices".
func schedstat(th *model.ThreadReading, content string) bool {
	run, content := cutField(content)
	wait, content := cutField(content)
	slices, _ := cutField(content)
	r, ok1 := count(run)
	w, ok2 := count(wait)
	s, ok3 := count(slices)
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	th.RunNS, th.WaitNS = model.Known(r), model.Known(w)
	if r == 0 && w == 0 && s == 0 { // a thread that is there has run
		th.RunNS, th.WaitNS = model.Unknown[int64](noSchedinfo), model.Unknown[int64](noSchedinfo)
	}
	return true
}

// thread gives the thread of that id, a new one with everything unknown when it
// was not seen before; nil beyond the bound.
func (t *processReader) thread(tid, pid int) *model.ThreadReading {
	i, ok := t.at[tid]
	if !ok {
		if len(t.p.Threads) >= maxThreads {
			return nil
		}
		i = len(t.p.Threads)
		t.at[tid] = i
		no := model.Unknown[int64]
		t.p.Threads = append(t.p.Threads, model.ThreadReading{
			TID: tid, PID: pid, Start: no(noStat), Ticks: no(noStat), RunNS: no(noSchedstat), WaitNS: no(noSchedstat),
			Wchan: model.Unknown[string](noWchan),
		})
	}
	return &t.p.Threads[i]
}

// settleOwners: threads whose file does not name their process are the target's,
// and a process whose stat vanished is not there.
func (t *processReader) settleOwners() {
	for i := range t.p.Threads {
		if t.p.Threads[i].PID == 0 {
			t.p.Threads[i].PID = t.p.PID
		}
	}
	t.p.Children = slices.DeleteFunc(t.p.Children, func(c model.ChildReading) bool { return !c.Ticks.IsKnown() })
}

// settleWchan: who may see where one thread of a process sleeps may see it of all
// of that process, which may have another user than its parent. A "0" then means
// what it says.
func (t *processReader) settleWchan() {
	may := map[int]bool{}
	for _, th := range t.p.Threads {
		if th.Wchan.IsKnown() {
			may[th.PID] = true
		}
	}
	for i := range t.p.Threads {
		if w := &t.p.Threads[i].Wchan; may[t.p.Threads[i].PID] && w.Reason() == zeroWchan {
			*w = model.Unknown[string](awake)
		}
	}
}
