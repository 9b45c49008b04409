package parse

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// cutBareStat is for a stat whose lines have no file's name before them.
func cutBareStat(text string) (record, rest string, lines int) {
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

// stat reads "17 (proxy) S 1 17 …". The state is the third field of the whole,
// utime and stime are 14 and 15, starttime is 22.
func (t *processReader) stat(content string, whole bool, record string, line int) {
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
	user, system, started := statFields(rest)
	u, ok1 := count(user)
	s, ok2 := count(system)
	if !ok1 || !ok2 || u > 1<<53 || s > 1<<53 { // 2.8 million years
		t.add(line, record, "utime and stime are not numbers")
		return
	}
	ticks, start := model.Known(u+s), model.Unknown[int64]("stat ends before the time of the start")
	if n, ok := count(started); ok {
		start = model.Known(n)
	}
	if whole {
		t.p.PID, t.p.Name, t.p.Ticks, t.p.Start = tid, valid(comm), ticks, start
		return
	}
	th := t.thread(tid)
	if th == nil {
		t.add(line, record, "too many threads")
		return
	}
	th.Name, th.State, th.Ticks, th.Start = valid(comm), strings.Clone(state), ticks, start
}

// statFields picks three of the fields that follow the state.
func statFields(rest string) (user, system, started string) {
	var f string
	for i := 4; i <= 22; i++ {
		f, rest = cutField(rest)
		switch i {
		case 14:
			user = f
		case 15:
			system = f
		}
	}
	return user, system, f
}
