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

// stat is one line of stat of a process or thread. Times are in ticks; those of its
// children are of the ones that ended and that it has waited for.
type stat struct {
	id                       int
	comm, state              string
	parent                   model.Value[int64]
	ticks, start, childTicks model.Value[int64]
}

// readStat reads "17 (proxy) S 1 17 …". The state is the third field of the whole,
// the parent the fourth, utime, stime, cutime and cstime are 14 to 17, starttime
// is 22.
func readStat(content string) (s stat, problem string) {
	field, rest := cutField(content)
	var err error
	if s.id, err = strconv.Atoi(field); err != nil || s.id <= 0 {
		return s, "thread id is not a number"
	}
	if !strings.HasPrefix(rest, "(") {
		return s, "no name in parentheses"
	}
	closing := commEnd(rest[1:])
	if closing < 0 { // a thread of the kernel may have a longer name
		closing = strings.LastIndexByte(rest, ')') - 1
	}
	if closing < 0 {
		return s, "name does not end"
	}
	comm, rest := rest[1:1+closing], rest[2+closing:]
	state, rest := cutField(rest)
	if len(state) != 1 || !isLetter(state[0]) {
		return s, "state is not a letter"
	}
	var fields [23]string
	for i := 4; i < len(fields); i++ {
		fields[i], rest = cutField(rest)
	}
	u, ok1 := ticks(fields[14])
	k, ok2 := ticks(fields[15])
	if !ok1 || !ok2 {
		return s, "utime and stime are not numbers"
	}
	s.comm, s.state, s.ticks = valid(comm), strings.Clone(state), model.Known(u+k)
	s.parent = model.Unknown[int64]("the parent in stat is not a number")
	if n, ok := count(fields[4]); ok {
		s.parent = model.Known(n)
	}
	s.childTicks = model.Unknown[int64]("cutime and cstime in stat are not numbers")
	u, ok1 = ticks(fields[16])
	k, ok2 = ticks(fields[17])
	if ok1 && ok2 {
		s.childTicks = model.Known(u + k)
	}
	s.start = model.Unknown[int64]("stat ends before the time of the start")
	if n, ok := count(fields[22]); ok {
		s.start = model.Known(n)
	}
	return s, ""
}

// ticks bounds a time to 2.8 million years, so that sums of some are numbers too.
func ticks(text string) (int64, bool) {
	n, ok := count(text)
	return n, ok && n <= 1<<53
}
