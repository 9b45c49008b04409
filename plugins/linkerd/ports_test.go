package linkerd

import (
	"reflect"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestRoles(t *testing.T) {
	const in, out, adm, tap = model.RoleInbound, model.RoleOutbound, model.RoleAdmin, model.RoleTap
	type roles = map[uint16]model.Role
	for _, tt := range []struct {
		name             string
		annotations, env pairs
		want             roles
	}{
		{"defaults", nil, nil, roles{4143: in, 4140: out, 4191: adm}},
		{
			"as injected", nil, injected,
			roles{4143: in, 4140: out, 4191: adm},
		},
		{
			"the control address alone makes no tap listener", nil,
			pairs{"LINKERD2_PROXY_CONTROL_LISTEN_ADDR", "0.0.0.0:4190"},
			roles{4143: in, 4140: out, 4191: adm},
		},
		{
			"tap", nil,
			pairs{"LINKERD2_PROXY_TAP_SVC_NAME", "tap.linkerd-viz.serviceaccount.identity.linkerd.cluster.local"},
			roles{4143: in, 4140: out, 4191: adm, 4190: tap},
		},
		{
			"tap elsewhere", nil,
			pairs{"LINKERD2_PROXY_TAP_SVC_NAME", "tap", "LINKERD2_PROXY_CONTROL_LISTEN_ADDR", "[::]:15190"},
			roles{4143: in, 4140: out, 4191: adm, 15190: tap},
		},
		{
			"an empty tap name is none", nil,
			pairs{"LINKERD2_PROXY_TAP_SVC_NAME", ""},
			roles{4143: in, 4140: out, 4191: adm},
		},
		{
			"dual stack", nil,
			pairs{
				"LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "[::]:4143",
				"LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "[::]:4191",
				"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", "127.0.0.1:4140,[::1]:4140",
			},
			roles{4143: in, 4140: out, 4191: adm},
		},
		{
			"the two outbound addresses may differ in port", nil,
			pairs{"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", "127.0.0.1:4140, [::1]:5140"},
			roles{4143: in, 4140: out, 5140: out, 4191: adm},
		},
		{
			"ADDRS beats ADDR", nil,
			pairs{
				"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:1", "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", "127.0.0.1:2",
			},
			roles{4143: in, 2: out, 4191: adm},
		},
		{
			"ADDR where there is no ADDRS", nil,
			pairs{"LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", "127.0.0.1:15140"},
			roles{4143: in, 15140: out, 4191: adm},
		},
		{
			"the last of equal names counts", nil,
			pairs{
				"LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "0.0.0.0:4143", "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "0.0.0.0:5143",
			},
			roles{5143: in, 4140: out, 4191: adm},
		},
		{
			"environment beats annotation",
			pairs{"config.linkerd.io/inbound-port", "6143"},
			pairs{"LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "0.0.0.0:5143"},
			roles{5143: in, 4140: out, 4191: adm},
		},
		{
			"annotations",
			pairs{
				"config.linkerd.io/inbound-port", "15143", "config.linkerd.io/outbound-port", "15140",
				"config.linkerd.io/admin-port", "15191", "config.linkerd.io/control-port", "15190",
			},
			pairs{"LINKERD2_PROXY_TAP_SVC_NAME", "tap"},
			roles{15143: in, 15140: out, 15191: adm, 15190: tap},
		},
		{
			"annotations that are no port",
			pairs{
				"config.linkerd.io/inbound-port", "0", "config.linkerd.io/outbound-port", "65536", "config.linkerd.io/admin-port", "http",
			},
			nil,
			roles{4143: in, 4140: out, 4191: adm},
		},
		{
			"addresses that are none", nil,
			pairs{
				"LINKERD2_PROXY_INBOUND_LISTEN_ADDR", "4143", "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", ",",
				"LINKERD2_PROXY_ADMIN_LISTEN_ADDR", "$(IP):4191",
			},
			roles{4143: in, 4140: out, 4191: adm},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := New().Roles(podWith(tt.annotations, tt.env)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("roles %v, want %v", got, tt.want)
			}
		})
	}
}

// What valueFrom gives is not in the spec; the annotation tells what it was made from.
func TestHiddenAddressFallsBackToTheAnnotation(t *testing.T) {
	p := hide(podWith(pairs{"config.linkerd.io/admin-port", "9191"}, nil), "LINKERD2_PROXY_ADMIN_LISTEN_ADDR")
	want := model.Endpoint{Port: 9191, Metrics: "/metrics", Ready: "/ready"}
	if got := New().Admin(p); got != want {
		t.Errorf("admin endpoint %v, want %v", got, want)
	}
}

func TestAdmin(t *testing.T) {
	want := model.Endpoint{Port: 4191, Metrics: "/metrics", Ready: "/ready"}
	if got := New().Admin(pod(nil, nil)); got != want {
		t.Errorf("admin endpoint %v, want %v", got, want)
	}
}
