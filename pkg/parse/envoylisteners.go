package parse

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// EnvoyBootstrap is what a bootstrap says that stands in a pod's spec.
type EnvoyBootstrap struct {
	// AdminPort is 0 where it has no admin listener on TCP.
	AdminPort uint16
	Listeners []model.ListenerSetting
	// Dynamic says that more listeners come from a control plane.
	Dynamic bool
}

// ReadEnvoyBootstrap reads a bootstrap in JSON form, with names in either of the
// two forms that Envoy takes: tcp_backlog_size, tcpBacklogSize.
func ReadEnvoyBootstrap(text []byte) (EnvoyBootstrap, error) {
	var names map[string]any
	if err := envoyJSON("the bootstrap", text, &names); err != nil {
		return EnvoyBootstrap{}, err
	}
	snake, err := json.Marshal(snakeKeys(names, maxNesting))
	if err != nil {
		return EnvoyBootstrap{}, err
	}
	var raw struct {
		Admin struct {
			Address envoyAddress `json:"address"`
		} `json:"admin"`
		Static struct {
			Listeners []envoyListener `json:"listeners"`
		} `json:"static_resources"`
		Dynamic struct {
			LDS json.RawMessage `json:"lds_config"`
		} `json:"dynamic_resources"`
	}
	if err := envoyJSON("the bootstrap", snake, &raw); err != nil {
		return EnvoyBootstrap{}, err
	}
	b := EnvoyBootstrap{AdminPort: raw.Admin.Address.port(), Dynamic: len(raw.Dynamic.LDS) > 0}
	for _, l := range raw.Static.Listeners {
		b.Listeners = l.settings(b.Listeners)
	}
	return b, nil
}

// maxNesting bounds how deep names are looked at: a listener's own lie 6 deep.
const maxNesting = 32

// snakeKeys writes lowerCamelCase names as snake_case.
func snakeKeys(v any, depth int) any {
	if depth == 0 {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[snake(key)] = snakeKeys(value, depth-1)
		}
		return out
	case []any:
		for i := range v {
			v[i] = snakeKeys(v[i], depth-1)
		}
	}
	return v
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// envoyListener is what decides on a listener's sockets.
type envoyListener struct {
	Address    envoyAddress `json:"address"`
	Additional []struct {
		Address envoyAddress `json:"address"`
	} `json:"additional_addresses"`
	Backlog   *int64 `json:"tcp_backlog_size"`
	ReusePort *bool  `json:"enable_reuse_port"`
	Bind      *bool  `json:"bind_to_port"`
	Direction string `json:"traffic_direction"`
}

type envoyAddress struct {
	Socket struct {
		Protocol string `json:"protocol"`
		Port     int64  `json:"port_value"`
	} `json:"socket_address"`
}

// port on TCP, 0 for anything else: a pipe, UDP, a port with a name.
func (a envoyAddress) port() uint16 {
	if p := a.Socket.Port; p > 0 && p < 1<<16 && !strings.EqualFold(a.Socket.Protocol, "UDP") {
		return uint16(p)
	}
	return 0
}

// settings adds one for each port that the listener binds.
func (l envoyListener) settings(to []model.ListenerSetting) []model.ListenerSetting {
	if l.Bind != nil && !*l.Bind {
		return to
	}
	s := model.ListenerSetting{Unset: l.Backlog == nil, ReusePort: model.Known(l.ReusePort == nil || *l.ReusePort)}
	switch strings.ToUpper(l.Direction) {
	case "INBOUND":
		s.Role = model.RoleInbound
	case "OUTBOUND":
		s.Role = model.RoleOutbound
	}
	switch {
	case l.Backlog == nil:
	case *l.Backlog < 0 || *l.Backlog > math.MaxUint32:
		s.Backlog = model.Unknown[int64]("tcp_backlog_size is " + strconv.FormatInt(*l.Backlog, 10) + ", which Envoy does not take")
	default:
		s.Backlog = model.Known(*l.Backlog)
	}
	addresses := []envoyAddress{l.Address}
	for _, a := range l.Additional {
		addresses = append(addresses, a.Address)
	}
	for _, a := range addresses {
		if s.Port = a.port(); s.Port != 0 {
			to = append(to, s)
		}
	}
	return to
}

// envoyConfigured tells what the running Envoy's own configuration asks for, by
// port. What a control plane sent cannot be asked for narrowly: the smallest
// answer holds whole listeners, with whatever is in their filters.
func envoyConfigured(pages EnvoyPages) []model.ListenerSetting {
	var static struct {
		Configs []struct {
			Listener envoyListener `json:"listener"`
		} `json:"configs"`
	}
	var found []model.ListenerSetting
	staticErr := envoyJSON("/config_dump", pages.Static, &static)
	for _, c := range static.Configs {
		found = c.Listener.settings(found)
	}
	var all struct {
		Statuses []struct {
			Local      envoyAddress   `json:"local_address"`
			Additional []envoyAddress `json:"additional_local_addresses"`
		} `json:"listener_statuses"`
	}
	if envoyJSON("/listeners", pages.Listeners, &all) == nil {
		reason := "the listener is no static one, and Envoy's /config_dump has no narrow view of others"
		if staticErr != nil {
			reason = staticErr.Error()
		}
		for _, s := range all.Statuses {
			for _, a := range append([]envoyAddress{s.Local}, s.Additional...) {
				port := a.port()
				if port == 0 || slices.ContainsFunc(found, func(f model.ListenerSetting) bool { return f.Port == port }) {
					continue
				}
				found = append(found, model.ListenerSetting{
					Port: port, Backlog: model.Unknown[int64](reason), ReusePort: model.Unknown[bool](reason),
				})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b model.ListenerSetting) int { return cmp.Compare(a.Port, b.Port) })
	found = slices.CompactFunc(found, func(a, b model.ListenerSetting) bool { return a.Port == b.Port })
	return found[:min(len(found), maxListeners)]
}

// maxListeners bounds what is kept: a mesh's Envoy tells of a thousand and more
// listeners without a socket.
const maxListeners = 256
