package parse

import (
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// word reads what the sampler says itself.
func (t *processReader) word(kind, rest, record string, line int) {
	n, isCount := count(rest)
	problem := ""
	switch kind {
	case "gone":
		t.p.Gone = true
	case "uptime":
		s, err := strconv.ParseFloat(rest, 64)
		if err != nil || s < 0 || s >= 1e12 {
			problem = "uptime is not a number of seconds"
			break
		}
		t.p.Uptime = model.Known(s)
	case "cpus":
		cpus, ok := cpuList(rest)
		if !ok {
			problem = "not a list of CPUs"
			break
		}
		t.p.CPUsAllowed = model.Known(cpus)
	case "maxfds":
		switch {
		case rest == unlimited:
			t.p.MaxFDs = model.Unknown[int64](unlimited)
		case !isCount:
			problem = "maxfds is not a number"
		default:
			t.p.MaxFDs = model.Known(n)
		}
	case "fds":
		switch {
		case rest == "-":
			t.p.OpenFDs = model.Unknown[int64](hiddenFDs)
		case !isCount:
			problem = "fds is not a number"
		default:
			t.p.OpenFDs = model.Known(n)
		}
	case "more", "unlisted":
		if !isCount || n > 1<<31-1 {
			problem = kind + " is not a number"
			break
		}
		if kind == "more" {
			t.p.Omitted = int(n)
		} else {
			t.p.OmittedChildren = int(n)
		}
	default:
		problem = "not a line of stat, schedstat or wchan"
	}
	if problem != "" {
		t.add(line, record, problem)
	}
}

// cpuList counts the CPUs of "0-3,8".
func cpuList(text string) (n int64, ok bool) {
	for text != "" {
		var item string
		item, text, _ = strings.Cut(text, ",")
		low, high, isRange := strings.Cut(item, "-")
		from, ok1 := count(low)
		to, ok2 := from, true
		if isRange {
			to, ok2 = count(high)
		}
		if !ok1 || !ok2 || to < from || to >= maxCPUs {
			return 0, false
		}
		n += to - from + 1
	}
	return n, n > 0
}
