package record

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// canaries fills every text with one that can be found again.
func canaries(v reflect.Value, n *int) {
	if v.CanAddr() {
		if p, ok := v.Addr().Interface().(parted); ok {
			figure, known, reason := p.Parts()
			*n++
			if *n%4 == 0 {
				*reason = fmt.Sprintf("Canary-%d", *n)
				return
			}
			*known = true
			canaries(reflect.ValueOf(figure).Elem(), n)
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		*n++
		v.SetString(fmt.Sprintf("Canary-%d", *n))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Earlier" {
				canaries(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			canaries(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		canaries(v.Elem(), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		canaries(key, n)
		canaries(value, n)
		v.SetMapIndex(key, value)
	}
}

func redacted(t *testing.T, r *Redactor, s model.Snapshot) (model.Snapshot, string) {
	t.Helper()
	s = r.Snapshot(s)
	return s, string(recorded(t, []model.Snapshot{s}))
}

// No text of anybody's is left, in whatever field it stood.
func TestNoTextIsLeft(t *testing.T) {
	var p model.Pod
	n := 0
	canaries(reflect.ValueOf(&p).Elem(), &n)
	p.Earlier = []model.Pod{p}
	for _, name := range []string{"ss", "owners", "waiting 80", "nstat", "netstat", "snmp", "somaxconn", "tcp", "tcp6", "/metrics", "threads", "note", "Canary-x"} {
		n++
		p.Raw = append(p.Raw, model.RawText{Name: name, Text: fmt.Sprintf("Canary-%d\nLISTEN 0 1 Canary-%d:80 *:* users:((\"Canary-%d\",pid=1,fd=2)) cgroup:/Canary-%d\ntokio_rt_x{a=\"Canary-%d\"} 1\n", n, n, n, n, n)})
	}
	s, text := redacted(t, NewRedactor(), model.Snapshot{Notes: []string{"Canary-n"}, Problems: []string{"Canary-p"}, Pods: []model.Pod{p}})
	if i := strings.Index(text, "Canary"); i >= 0 || n < 100 {
		t.Errorf("of %d texts one is left: …%s…", n, text[max(0, i-60):min(len(text), i+40)])
	}
	if len(s.Pods[0].Verdicts) > 0 || s.Pods[0].Meta.Name == "" {
		t.Errorf("%+v", s.Pods[0].Meta)
	}
	if p.Meta.Name != "Canary-1" {
		t.Error("what was handed in was changed")
	}
	if h := NewRedactor().Header(Header{Title: "Canary-c/Canary-n", Tool: "Canary"}); strings.Contains(fmt.Sprint(h), "Canary") || !h.Redacted {
		t.Errorf("%+v", h)
	}
}

// Addresses are gone in each form that they have, and the same everywhere.
func TestAddresses(t *testing.T) {
	secret4, secret6 := netip.MustParseAddr("10.42.7.99"), netip.MustParseAddr("fd00:beef::7")
	hexOf := func(a netip.Addr) string {
		b := a.AsSlice()
		swap(b)
		return strings.ToUpper(hex.EncodeToString(b))
	}
	tcp := fmt.Sprintf("  sl  local_address rem_address   st\n   0: %s:1F90 %s:0050 0A 00000003:00000010 00:00000000 00000000  2102        0 4711 1 0 100 0 0 10 0\n", hexOf(secret4), hexOf(secret4))
	tcp6 := fmt.Sprintf("   0: %s:1F90 %s:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n", hexOf(secret6), hexOf(netip.IPv6Unspecified()))
	p := model.Pod{
		Listeners: []model.Listener{
			{Address: "10.42.7.99", Sockets: []model.Socket{{Address: "10.42.7.99"}}, Waiting: &model.Waiting{
				Connections: []model.Connection{{Peer: "10.42.7.99:5000"}, {Peer: "[fd00:beef::7]:5000"}, {Peer: "[::ffff:10.42.7.99]:6"}},
				Callers:     []model.Caller{{Address: "10.42.7.99", Pod: model.Known("shop/web-1")}},
			}},
			{Address: "127.0.0.1"},
			{Address: "*"},
			{Address: "0.0.0.0"},
			{Address: "::"},
		},
		Raw: []model.RawText{
			{Name: "ss", Text: "LISTEN 3 16 10.42.7.99:8080 0.0.0.0:* ino:7 sk:1 cgroup:/kubepods/x <-> skmem:(r0,d3)\nLISTEN 0 16 [fd00:beef::7]:80 [::]:*\nESTAB 0 0 [::ffff:10.42.7.99]:80 10.42.7.99%eth0:7\n"},
			{Name: "tcp", Text: tcp},
			{Name: "tcp6", Text: tcp6},
		},
	}
	s, text := redacted(t, NewRedactor(), model.Snapshot{Pods: []model.Pod{p}})
	for _, secret := range []string{"10.42.7.99", "beef", hexOf(secret4), hexOf(secret6), "kubepods", "web-1"} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			t.Errorf("%s is left in\n%s", secret, text)
		}
	}
	q := s.Pods[0]
	l := q.Listeners
	if l[0].Address != "198.18.0.1" || l[0].Sockets[0].Address != l[0].Address || l[0].Waiting.Connections[0].Peer != "198.18.0.1:5000" ||
		l[1].Address != "127.0.0.1" || l[2].Address != "*" || l[3].Address != "0.0.0.0" || l[4].Address != "::" {
		t.Errorf("%+v", l)
	}
	if want := "LISTEN 3 16 198.18.0.1:8080 0.0.0.0:* ino:7 sk:1 <-> skmem:(r0,d3)\n"; !strings.HasPrefix(q.Raw[0].Text, want) {
		t.Errorf("%s", q.Raw[0].Text)
	}
	if !strings.Contains(q.Raw[1].Text, hexOf(netip.MustParseAddr("198.18.0.1"))+":1F90") || !strings.Contains(q.Raw[2].Text, ":1F90 "+hexOf(netip.IPv6Unspecified())) {
		t.Errorf("%q", q.Raw)
	}
}

// What is judged by stays: figures, roles, the names of runtimes and settings.
func TestRedactedKeepsTheFigures(t *testing.T) {
	r := NewRedactor()
	p := model.Pod{
		Meta: model.Meta{Name: "server-1", Namespace: "shop", UID: "u"}, Node: "n1", Phase: "Running", Ready: true,
		Proxy:   model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Version: model.Known("2.366.0")},
		Sample:  model.Sample{Seq: 3, Uptime: model.Known(12.5), Sandbox: "u/p"},
		Process: model.Process{Name: "python3", Threads: []model.Thread{{TID: 1, State: "S", Wchan: model.Known("ep_poll"), CPU: model.Known(0.5)}}},
		Knobs:   []model.Knob{{Name: "workers", Asked: model.Known[int64](2), Chain: []model.Origin{{Where: "pod annotation", Name: "config.linkerd.io/proxy-cpu-limit", Value: "2"}}}},
		Raw: []model.RawText{
			{Name: "nstat", Text: "#kernel\nTcpExtListenOverflows           24                 0.0\n"},
			{Name: "/metrics", Text: "tokio_rt_workers 1\nresponse_total{target=\"x\"} 3\nprocess_cpu_seconds_total{a=\"b\"} 1.5e+2\n"},
			{Name: "somaxconn", Text: "4096\n"},
		},
	}
	a := r.Snapshot(model.Snapshot{Pods: []model.Pod{p}})
	b := r.Snapshot(model.Snapshot{Pods: []model.Pod{p}})
	equal(t, a, b)
	q := a.Pods[0]
	if q.Meta.Name != "pod-1" || q.Node != "node-1" || q.Proxy.Version.Or("") != "2.366.0" || q.Process.Name != "python3" || q.Sample.Uptime.Or(0) != 12.5 ||
		q.Process.Threads[0].Wchan.Or("") != "ep_poll" || q.Knobs[0].Chain[0].Value != "2" || q.Sample.Sandbox != "sandbox-1" {
		t.Errorf("%+v", q)
	}
	if q.Raw[0].Text != p.Raw[0].Text && !strings.Contains(q.Raw[0].Text, "TcpExtListenOverflows           24") {
		t.Errorf("%q", q.Raw[0].Text)
	}
	if q.Raw[1].Text != "tokio_rt_workers 1\nprocess_cpu_seconds_total 1.5e+2\n" || q.Raw[2].Text != "4096\n" {
		t.Errorf("%q", q.Raw[1:])
	}
	if r.Names() < 4 || strings.Contains(fmt.Sprintf("%+v", a), "shop") {
		t.Errorf("%d names", r.Names())
	}
}
