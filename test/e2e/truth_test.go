package e2e

import (
	"regexp"
	"strconv"
	"strings"
)

// truth is what ss, nstat and /metrics say inside a pod, read by the test with
// code of its own, past the program and its parsers.
type truth struct {
	depth, limit, drops  map[uint16]int64 // by port; one socket a port
	overflows, listDrops int64
}

var skmemDrops = regexp.MustCompile(`,d(\d+)\)`)

// read asks the pod's own tools.
func (e *env) read(pod string) truth {
	e.Helper()
	t := truth{depth: map[uint16]int64{}, limit: map[uint16]int64{}, drops: map[uint16]int64{}}
	for _, line := range strings.Split(e.exec(pod, "tools", "ss", "-HOltnm"), "\n") {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		address := f[3]
		port, err := strconv.ParseUint(address[strings.LastIndex(address, ":")+1:], 10, 16)
		if err != nil {
			e.Fatalf("ss printed %q", line)
		}
		p := uint16(port)
		t.depth[p], t.limit[p] = e.number(f[1]), e.number(f[2])
		if m := skmemDrops.FindStringSubmatch(line); m != nil {
			t.drops[p] = e.number(m[1])
		}
	}
	for _, line := range strings.Split(e.exec(pod, "tools", "nstat", "-asz", "TcpExtListenOverflows", "TcpExtListenDrops"), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "TcpExtListenOverflows":
			t.overflows = e.number(f[1])
		case f[0] == "TcpExtListenDrops":
			t.listDrops = e.number(f[1])
		}
	}
	return t
}

// readMetrics asks the proxy in the pod for its page.
func (e *env) readMetrics(pod string) map[string]float64 {
	e.Helper()
	values := map[string]float64{}
	for _, line := range strings.Split(e.exec(pod, "tools", "wget", "-q", "-O", "-", "http://127.0.0.1:4191/metrics"), "\n") {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	return values
}

func (e *env) number(text string) int64 {
	e.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		e.Fatalf("not a number: %q", text)
	}
	return n
}
