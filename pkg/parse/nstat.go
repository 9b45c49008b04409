package parse

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Names of the counters that Counters holds, as nstat names them. They are the
// names to ask nstat -asz for.
const (
	ListenOverflows   = "TcpExtListenOverflows"
	ListenDrops       = "TcpExtListenDrops"
	ReqQFullDoCookies = "TcpExtTCPReqQFullDoCookies"
	ReqQFullDrop      = "TcpExtTCPReqQFullDrop"
	SyncookiesSent    = "TcpExtSyncookiesSent"
	SyncookiesRecv    = "TcpExtSyncookiesRecv"
	PassiveOpens      = "TcpPassiveOpens"
)

// CounterNames are all of them, in a fixed order.
func CounterNames() []string {
	return []string{
		ListenOverflows, ListenDrops, ReqQFullDoCookies, ReqQFullDrop,
		SyncookiesSent, SyncookiesRecv, PassiveOpens,
	}
}

// CountersFrom picks the counters out of what nstat or /proc told. One that is
// not there is unknown for the given reason; Somaxconn, which is no counter,
// always is.
func CountersFrom(values map[string]int64, reasonIfMissing string) model.Counters {
	get := func(name string) model.Value[int64] {
		if v, ok := values[name]; ok {
			return model.Known(v)
		}
		return model.Unknown[int64](reasonIfMissing)
	}
	return model.Counters{
		ListenOverflows:   get(ListenOverflows),
		ListenDrops:       get(ListenDrops),
		ReqQFullDoCookies: get(ReqQFullDoCookies),
		ReqQFullDrop:      get(ReqQFullDrop),
		SyncookiesSent:    get(SyncookiesSent),
		SyncookiesRecv:    get(SyncookiesRecv),
		PassiveOpens:      get(PassiveOpens),
		Somaxconn:         model.Unknown[int64](reasonIfMissing),
	}
}

const notTheKernel = "these are the figures of an nstat daemon, not the kernel's; read /proc/net/netstat instead"

// NstatText reads the table that nstat -asz prints: a name, the value, a rate.
// The header tells whose figures they are. When an nstat daemon owns the
// namespace they are its own, counted since whenever it pleased: anything but
// "#kernel" is refused as a whole.
func NstatText(text string) (map[string]int64, []error) {
	values := make(map[string]int64)
	p := problems{what: "nstat"}
	for n := 1; text != ""; n++ {
		var line string
		line, text = cutLine(text)
		name, rest := cutField(line)
		if name == "" {
			continue
		}
		if name[0] == '#' {
			if strings.TrimSpace(line) != "#kernel" {
				p.add(n, line, notTheKernel)
				return nil, p.errors()
			}
			continue
		}
		figure, _ := cutField(rest)
		v, err := strconv.ParseInt(figure, 10, 64)
		if err != nil {
			p.add(n, line, "value is not a number")
			continue
		}
		values[name] = v
	}
	return values, p.errors()
}

// NstatJSON reads what nstat -aszj prints: {"kernel":{"TcpExtListenDrops":24}}.
// Figures of an nstat daemon stand under another key and are refused.
func NstatJSON(text string) (map[string]int64, []error) {
	p := problems{what: "nstat"}
	var sources map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &sources); err != nil {
		p.add(1, text, "not the JSON of nstat -j ("+harmless(err.Error())+")")
		return nil, p.errors()
	}
	kernel, ok := sources["kernel"]
	if !ok || len(sources) != 1 {
		p.add(1, text, notTheKernel)
		return nil, p.errors()
	}
	values := make(map[string]int64, len(kernel))
	for name, raw := range kernel {
		v, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			p.add(1, name+": "+string(raw), "value is not a number")
			continue
		}
		values[name] = v
	}
	return values, p.errors()
}

// Nstat reads what nstat printed, as text or as JSON.
func Nstat(text string) (map[string]int64, []error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return NstatJSON(text)
	}
	return NstatText(text)
}
