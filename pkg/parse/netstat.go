package parse

import (
	"strconv"
	"strings"
)

// ProcNetstat reads /proc/net/netstat or /proc/net/snmp: pairs of lines, names
// above values, each pair under a common prefix. The keys are those of nstat:
// "TcpExt" and "ListenDrops" give TcpExtListenDrops. Values go by name, since
// kernels add columns in the middle.
func ProcNetstat(text string) (map[string]int64, []error) {
	values := make(map[string]int64)
	errs := scanNetstat("/proc/net/netstat", text, func(prefix, name string, v int64) { values[prefix+name] = v })
	return values, errs
}

// scanNetstat calls give for each figure; the names are parts of the text.
func scanNetstat(what, text string, give func(prefix, name string, v int64)) []error {
	p := problems{what: what}
	for n := 1; text != ""; n += 2 {
		var head, figures string
		head, text = cutLine(text)
		if strings.TrimSpace(head) == "" {
			n--
			continue
		}
		prefix, names, ok := strings.Cut(head, ":")
		if !ok {
			p.add(n, head, "line of names has no prefix")
			n--
			continue
		}
		next, rest := cutLine(text)
		prefix2, figures, ok := strings.Cut(next, ":")
		if !ok || prefix2 != prefix {
			// The next line is not this one's: it may be the names of a pair itself.
			p.add(n, head, "no line of values follows")
			n--
			continue
		}
		text = rest
		// With one field too few there is no telling which one is missing.
		if a, b := countFields(names), countFields(figures); a != b {
			p.add(n+1, next, strconv.Itoa(a)+" names but "+strconv.Itoa(b)+" values")
			continue
		}
		for {
			var name, figure string
			name, names = cutField(names)
			figure, figures = cutField(figures)
			if name == "" {
				break
			}
			v, err := strconv.ParseInt(figure, 10, 64)
			if err != nil {
				p.add(n+1, name+" "+figure, "value is not a number")
				continue
			}
			give(prefix, name, v)
		}
	}
	return p.errors()
}

func countFields(s string) int {
	n := 0
	for field, rest := cutField(s); field != ""; field, rest = cutField(rest) {
		n++
	}
	return n
}
