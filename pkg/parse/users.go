package parse

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	usersOpen = "users:(("
	// maxComm is the length of a process name in bytes (TASK_COMM_LEN without
	// its end).
	maxComm = 15
	// maxOwners bounds the holders of one socket.
	maxOwners = 4096
)

// usersAt finds where a row's list of holders begins, or -1. ss prints it before
// the path of the cgroup, so what looks like one behind that is not one.
func usersAt(row string) int {
	at := strings.Index(row, usersOpen)
	if cgroup := strings.Index(row, " cgroup:"); cgroup >= 0 && cgroup < at {
		return -1
	}
	return at
}

// parseUsers reads what ss -p tells of a socket's holders from the beginning of
// text: users:(("python3",pid=1,fd=3),("x",pid=2,fd=4)). It gives the holders,
// the length of what it read, and whether that was well formed to its end.
//
// A name is whatever the process wants: quotes, parentheses, newlines, even
// `",pid=1,fd=2)`. But it has 15 bytes at most, and between the ends of two
// names lie at least the 16 of `",pid=1,fd=2),("`, so the last possible end
// within 15 bytes is the only right one.
func parseUsers(text string) (owners []model.Owner, used int, ok bool) {
	var before, name string // most often all holders have one name: keep it once
	used, ok = scanUsers(text, func(raw string, pid, fd int) {
		if len(owners) == 0 || raw != before {
			before, name = raw, valid(raw)
		}
		owners = append(owners, model.Owner{Name: name, PID: pid, FD: fd})
	})
	return owners, used, ok
}

// scanUsers is parseUsers with the holders given one by one; the names are parts
// of the text.
func scanUsers(text string, give func(name string, pid, fd int)) (used int, ok bool) {
	if !strings.HasPrefix(text, usersOpen) {
		return 0, false
	}
	at := len(usersOpen) - 1 // at the second parenthesis
	for range maxOwners {
		if !strings.HasPrefix(text[at:], `("`) {
			return at, false
		}
		at += 2
		n := min(maxComm, len(text)-at)
		for ; n >= 0; n-- { // the longest name that is possible
			if pid, fd, length, ok := ownerEnd(text[at+n:]); ok {
				give(text[at:at+n], pid, fd)
				at += n + length
				break
			}
		}
		switch {
		case n < 0:
			return at, false
		case strings.HasPrefix(text[at:], ","):
			at++
		case strings.HasPrefix(text[at:], ")"):
			return at + 1, true
		default:
			return at, false
		}
	}
	return at, false
}

// ownerEnd reads `",pid=N,fd=N)`; with -Z a security context stands between.
func ownerEnd(text string) (pid, fd, used int, ok bool) {
	rest, found := strings.CutPrefix(text, `",pid=`)
	if !found {
		return 0, 0, 0, false
	}
	if pid, rest, ok = cutInt(rest); !ok {
		return 0, 0, 0, false
	}
	if context, found := strings.CutPrefix(rest, ",proc_ctx="); found {
		at := strings.Index(context, ",fd=")
		if at < 0 || at > 256 {
			return 0, 0, 0, false
		}
		rest = context[at:]
	}
	if rest, found = strings.CutPrefix(rest, ",fd="); !found {
		return 0, 0, 0, false
	}
	if fd, rest, ok = cutInt(rest); !ok {
		return 0, 0, 0, false
	}
	if rest, found = strings.CutPrefix(rest, ")"); !found {
		return 0, 0, 0, false
	}
	return pid, fd, len(text) - len(rest), true
}

// cutInt reads the digits at the beginning, as a process id or a descriptor.
func cutInt(text string) (n int, rest string, ok bool) {
	end := 0
	for end < len(text) && end < 11 && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	v, err := strconv.ParseInt(text[:end], 10, 32)
	return int(v), text[end:], err == nil
}
