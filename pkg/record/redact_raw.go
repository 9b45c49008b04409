package record

import (
	"encoding/hex"
	"net/netip"
	"regexp"
	"strings"
)

// forms are what a text must look like to be kept.
type forms struct {
	name, counters, ss, row, sample, worker, port *regexp.Regexp
}

func newForms() forms {
	return forms{
		name:     regexp.MustCompile(`^(ss|owners|waiting \d{1,5}|nstat|netstat|snmp|somaxconn|tcp|tcp6|/metrics)$`),
		counters: regexp.MustCompile(`^(#kernel|[A-Za-z0-9]+:?( +-?[0-9.]+)*|[A-Za-z]+: [A-Za-z0-9 ]+|\d+|\{"kernel":\{("[A-Za-z0-9]+": ?-?\d+,? ?)*\}\})$`),
		ss: regexp.MustCompile(`^(LISTEN|ESTAB|CLOSE-WAIT|SYN-RECV|UNCONN|\d{1,12}|<->|uid:\d+|ino:\d+|sk:[0-9a-f]+|v6only:\d|` +
			`skmem:\([a-z0-9,]*\)|timer:\([a-z0-9,.]*\)|last(snd|rcv|ack):\d+)$`),
		row: regexp.MustCompile(`^[0-9A-Fa-f:]+$`),
		// Only metrics of a runtime are kept.
		sample: regexp.MustCompile(`^((?:tokio_rt|process|envoy|server)_[a-z0-9_]+)(?:\{.*\})? +([0-9.eE+-]+|NaN|\+Inf)$`),
		worker: regexp.MustCompile(`^(wrk|worker):?[_ ]?\d{1,3}$`),
		port:   regexp.MustCompile(`^(\d{1,5}|\*)$`),
	}
}

// rawName keeps the names of texts that are known; others are left out with them.
func (r *Redactor) rawName(name string) string {
	if r.forms.name.MatchString(name) {
		return name
	}
	return ""
}

// rawText keeps of a text what is known to be the kernel's or a figure.
func (r *Redactor) rawText(name, text string) string {
	switch {
	case name == "ss" || name == "owners" || strings.HasPrefix(name, "waiting "):
		return r.eachLine(text, r.ssLine)
	case name == "tcp" || name == "tcp6":
		return r.eachLine(text, r.tcpLine)
	case name == "/metrics":
		return r.eachLine(text, r.metricsLine)
	}
	return r.eachLine(text, func(l string) string {
		if l = strings.TrimRight(l, " "); r.forms.counters.MatchString(squeeze(l)) {
			return l
		}
		return ""
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *Redactor) eachLine(text string, keep func(string) string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if l = keep(strings.TrimSuffix(l, "\n")); l != "" {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// ssLine keeps states, numbers, addresses (replaced) and the details that hold only
// figures.
func (r *Redactor) ssLine(line string) string {
	var kept []string
	for _, word := range strings.Fields(line) {
		switch {
		case r.forms.ss.MatchString(word):
			kept = append(kept, word)
		case strings.Contains(word, ":") && !strings.ContainsAny(word, `("=/`):
			if p := peer(r, word); p != "" {
				kept = append(kept, p)
			}
		}
	}
	return strings.Join(kept, " ")
}

// tcpLine keeps a row of /proc/net/tcp, whose addresses are hexadecimal.
func (r *Redactor) tcpLine(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		host, port, ok := strings.Cut(w, ":")
		switch {
		case i == 1 || i == 2:
			host = r.hexAddress(host)
			if !ok || host == "" || len(port) != 4 || !r.forms.row.MatchString(port) {
				return ""
			}
			words[i] = host + ":" + port
		case !r.forms.row.MatchString(w):
			return "" // the titles too: nobody reads them
		}
	}
	if len(words) < 4 {
		return ""
	}
	return strings.Join(words, " ")
}

// hexAddress is an address as /proc/net/tcp has it: words of four bytes, each with its
// lowest byte first.
func (r *Redactor) hexAddress(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return ""
	}
	swap(b)
	a, _ := netip.AddrFromSlice(b)
	out := r.ip(a)
	if len(b) == 16 && !out.Is6() {
		out = netip.AddrFrom16(out.As16())
	}
	b = out.AsSlice()
	swap(b)
	return strings.ToUpper(hex.EncodeToString(b))
}

func swap(b []byte) {
	for i := 0; i+3 < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
}

// metricsLine keeps a sample's name and value; labels name clients and targets.
func (r *Redactor) metricsLine(line string) string {
	m := r.forms.sample.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1] + " " + m[2]
}
