package record

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Redactor replaces what names somebody's things: the same name by the same alias,
// wherever it stands. It is an allowlist: a text that no rule keeps or replaces is left
// out, so that a field that is added later is left out too. Figures, times, ports and
// the kernel's own words stay, since a redacted recording is to be judged alike.
type Redactor struct {
	aliases map[string]map[string]string // by kind, of names
	rules   map[string]rule
	forms   forms
}

// rule gives what stands for a text; "" leaves it out.
type rule func(r *Redactor, s string) string

// leftOut is why a figure of a redacted recording is unknown.
const leftOut = "why is left out of this recording"

// NewRedactor knows no name yet.
func NewRedactor() *Redactor {
	return &Redactor{aliases: map[string]map[string]string{}, rules: redactRules(), forms: newForms()}
}

// redactRules say what becomes of each text, by the struct and the field it stands in.
func redactRules() map[string]rule {
	version := pattern(`^v?\d+(\.\d+){1,3}([-.+][a-z0-9]{1,12})?$|^(edge|stable)-[\d.]+$`)
	variable := pattern(`^(LINKERD2_PROXY_[A-Z_]+|config\.linkerd\.io/[a-z-]+|proxy\.istio\.io/config|kubectl-backlog\.io/[a-z-]+|concurrency|worker_processes|backlog)$`)
	words := pattern(`^(default|pod annotation|pod template annotation|namespace annotation|Helm value|node|CPU limit|tokio_rt_workers|ss|/server_info|/listeners|threads)$`)
	role := oneOf("inbound", "outbound", "admin", "tap", "app")
	return map[string]rule{
		"Meta.Name": alias("pod"), "Meta.Namespace": alias("namespace"), "Meta.UID": alias("uid"),
		"Workload.Kind": oneOf("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"), "Workload.Name": alias("workload"),
		"Pod.Node": alias("node"), "Pod.Phase": oneOf("Pending", "Running", "Succeeded", "Failed", "Unknown"),
		"Proxy.Adapter":   oneOf("linkerd", "istio", "envoy", "nginx", "process"),
		"Proxy.Container": container, "Proxy.Version": version, "Proxy.Image": alias("image"),
		"Collection.Via":   oneOf("probe", "metrics", "exec", "local"),
		"Collection.Stage": oneOf("asking", "pulling", "starting", "waiting", "ok", "stale", "failed", "ended", "gone"),
		"Collection.Probe": pattern(`^backlog-probe-\d+$`), "Collection.By": alias("user"),
		"Sample.Sandbox":   alias("sandbox"),
		"Listener.Address": address, "Listener.Interface": pattern(`^(lo|eth\d+)$`), "Listener.Role": role,
		"Socket.Address": address, "Socket.Interface": pattern(`^(lo|eth\d+)$`),
		"Owner.Name": process, "ListenerSetting.Role": role,
		"Connection.Peer": peer, "Connection.ID": pattern(`^[0-9a-f]{1,20}$`), "Connection.State": oneOf("established", "close-wait"),
		"Caller.Address": address, "Caller.Pod": callerPod,
		"Process.Container": container, "Process.Name": process, "Child.Name": process,
		"Child.Title": pattern(`^nginx: (master|worker|cache manager|cache loader)$`),
		"Thread.Name": process, "Thread.State": pattern(`^[A-Z]$`), "Thread.Wchan": pattern(`^[a-z_][a-z0-9_.]{0,60}$`),
		"Knob.Name": oneOf("workers", "inbound backlog", "outbound backlog", "admin backlog", "backlog"), "Knob.SeenBy": words,
		"Origin.Where": words, "Origin.Name": variable, "Origin.Value": pattern(`^[0-9]{1,9}(\.[0-9]{1,6})?m?$`),
		"Remedy.Where": words, "Remedy.Name": variable, "Remedy.Variable": variable, "Remedy.Unit": oneOf("cpus", "ratio"),
		"Manifest.Strategy": oneOf("RollingUpdate", "Recreate", "OnDelete"),
		"Manager.Tool":      oneOf("Helm", "Argo CD", "Flux"), "Manager.Name": alias("release"),
	}
}

func pattern(expression string) rule {
	compiled := regexp.MustCompile(expression)
	return func(_ *Redactor, s string) string {
		if compiled.MatchString(s) {
			return s
		}
		return ""
	}
}

func oneOf(kept ...string) rule {
	return func(_ *Redactor, s string) string {
		if slices.Contains(kept, s) {
			return s
		}
		return ""
	}
}

func alias(kind string) rule {
	return func(r *Redactor, s string) string { return r.alias(kind, s) }
}

// alias is the same for the same name.
func (r *Redactor) alias(kind, name string) string {
	if name == "" {
		return ""
	}
	known := r.aliases[kind]
	if known == nil {
		known = map[string]string{}
		r.aliases[kind] = known
	}
	if known[name] == "" {
		known[name] = fmt.Sprintf("%s-%d", kind, len(known)+1)
	}
	return known[name]
}

// Names is how many were replaced.
func (r *Redactor) Names() int {
	n := 0
	for _, known := range r.aliases {
		n += len(known)
	}
	return n
}

// container keeps the names that everybody's proxies have.
func container(r *Redactor, s string) string {
	if slices.Contains([]string{"linkerd-proxy", "istio-proxy", "envoy", "nginx", "controller", "app"}, s) {
		return s
	}
	return r.alias("container", s)
}

// process keeps the names of runtimes: verdicts know them.
func process(r *Redactor, s string) string {
	known := []string{
		"linkerd2-proxy", "envoy", "pilot-agent", "nginx", "python", "python3", "node", "java", "redis-server", "haproxy", "php", "gunicorn", "uvicorn",
		"tokioproxy", "badserver", "tokio-runtime-w",
	}
	if slices.Contains(known, s) || r.forms.worker.MatchString(s) {
		return s
	}
	return r.alias("process", s)
}

// address replaces what is not of every machine.
func address(r *Redactor, s string) string {
	a, err := netip.ParseAddr(s)
	switch {
	case s == "" || s == "*":
		return s
	case err != nil:
		return r.alias("host", s)
	}
	return r.ip(a).String()
}

// ip gives addresses of the ranges for documentation and benchmarks.
func (r *Redactor) ip(a netip.Addr) netip.Addr {
	plain := a.Unmap()
	if plain.IsLoopback() || plain.IsUnspecified() {
		return a
	}
	known := r.aliases["address"]
	if known == nil {
		known = map[string]string{}
		r.aliases["address"] = known
	}
	key := plain.WithZone("").String()
	text := known[key]
	if text == "" {
		n := len(known) + 1
		if plain.Is4() {
			text = fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255)
		} else {
			text = fmt.Sprintf("2001:db8::%x", n&0xffff)
		}
		known[key] = text
	}
	out := netip.MustParseAddr(text)
	if a.Is4In6() {
		out = netip.AddrFrom16(out.As16())
	}
	return out
}

// peer is an address and a port, as ss prints them.
func peer(r *Redactor, s string) string {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return ""
	}
	host, port := s[:at], s[at+1:]
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	host, _, _ = strings.Cut(host, "%")
	if !r.forms.port.MatchString(port) {
		return ""
	}
	if host = address(r, host); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

func callerPod(r *Redactor, s string) string {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return ""
	}
	return r.alias("namespace", namespace) + "/" + r.alias("pod", name)
}

// Header is a redacted one.
func (r *Redactor) Header(h Header) Header {
	if h.Title != "" {
		context, namespace, ok := cutLast(h.Title, "/")
		h.Title = r.alias("cluster", context)
		if ok {
			h.Title += "/" + r.alias("namespace", namespace)
		}
	}
	h.Tool = pattern(`^(v?\d+(\.\d+){1,3}(-[0-9a-z.-]{1,40})?|dev)$`)(r, h.Tool)
	h.Redacted = true
	return h
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// Snapshot is a redacted one. Notes and problems are sentences of the cluster, and left
// out. What was handed in is not changed.
func (r *Redactor) Snapshot(s model.Snapshot) model.Snapshot {
	s.Notes, s.Problems = nil, nil
	pods := s.Pods
	s.Pods = make([]model.Pod, len(pods))
	for i := range pods {
		r.copy(reflect.ValueOf(&s.Pods[i]).Elem(), reflect.ValueOf(&pods[i]).Elem(), "")
	}
	return s
}

// copy fills in to from from, which it does not change. place is the struct and field.
func (r *Redactor) copy(to, from reflect.Value, place string) {
	if p, ok := from.Addr().Interface().(parted); ok {
		r.copyValue(to, p, place)
		return
	}
	switch from.Kind() {
	case reflect.String:
		if rule := r.rules[place]; rule != nil {
			to.SetString(rule(r, from.String()))
		}
	case reflect.Struct:
		r.copyStruct(to, from)
	case reflect.Slice:
		if from.Len() == 0 || from.Type().Elem().Kind() == reflect.String {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			r.copy(to.Index(i), from.Index(i), place)
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			r.copy(to.Elem(), from.Elem(), place)
		}
	case reflect.Map: // labels, annotations, variables: anybody's
	default:
		to.Set(from)
	}
}

func (r *Redactor) copyStruct(to, from reflect.Value) {
	switch value := from.Interface().(type) {
	case time.Time:
		to.Set(from)
		return
	case model.RawText:
		text := model.RawText{Name: r.rawName(value.Name)}
		if text.Name != "" {
			text.Text = r.rawText(text.Name, value.Text)
		}
		to.Set(reflect.ValueOf(text))
		return
	}
	t := from.Type()
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "Rights" && f.Name != "Verdicts" {
			r.copy(to.Field(i), from.Field(i), t.Name()+"."+f.Name)
		}
	}
}

// copyValue takes a figure; a text goes by its rule. Reasons are sentences, also of the
// API server.
func (r *Redactor) copyValue(to reflect.Value, from parted, place string) {
	p, _ := to.Addr().Interface().(parted)
	figure, known, reason := p.Parts()
	was, wasKnown, wasReason := from.Parts()
	if !*wasKnown {
		if *wasReason != "" {
			*reason = leftOut
		}
		return
	}
	*known = true
	value := reflect.ValueOf(figure).Elem()
	r.copy(value, reflect.ValueOf(was).Elem(), place)
	if value.Kind() == reflect.Map || value.Kind() == reflect.String && value.Len() == 0 {
		*known, *reason = false, leftOut
	}
}
