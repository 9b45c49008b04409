package linkerd

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	inbound  = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	outbound = "LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG"
)

// listening is what a pod shows whose three proxy ports have these limits.
func listening(version string, somaxconn, in, out, admin int64) model.Pod {
	live := running(version, 1)
	if somaxconn > 0 {
		live.Counters.Somaxconn = model.Known(somaxconn)
	}
	socket := func(port uint16, limit int64) model.Socket {
		return model.Socket{Address: "0.0.0.0", Port: port, Depth: model.Known[int64](0), Limit: model.Known(limit)}
	}
	live.Listeners = model.GroupSockets([]model.Socket{
		socket(8080, 5), socket(4143, in), socket(4140, out), socket(4191, admin),
	})
	return live
}

func backlogOf(t *testing.T, p *corev1.Pod, live model.Pod, name string) model.Knob {
	t.Helper()
	return knob(t, New().Knobs(p, model.Known[int64](4), live), name+" backlog")
}

// TestBacklogsAsked: the inbound variable is the admin listener's too.
func TestBacklogsAsked(t *testing.T) {
	list := `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"1024"}]`
	for _, tt := range []struct {
		name             string
		annotations, env pairs
		in, out, admin   int64
		inChain          string
	}{
		{
			"nothing asked", nil, nil, 128, 128, 128,
			"default LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=128",
		},
		{
			"inbound", nil,
			pairs{inbound, "1024"},
			1024, 128, 1024,
			"env of container linkerd-proxy LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=1024",
		},
		{
			"outbound", nil,
			pairs{outbound, "1024"},
			128, 1024, 128,
			"default LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=128",
		},
		{
			"zero is a backlog", nil,
			pairs{inbound, "0"},
			0, 128, 0,
			"env of container linkerd-proxy LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=0",
		},
		{
			"through the annotation",
			pairs{additional, list},
			pairs{inbound, "1024"},
			1024, 128, 1024,
			"pod annotation config.linkerd.io/proxy-additional-env=LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=1024\n" +
				"env of container linkerd-proxy LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=1024",
		},
		{
			"the last of equal names counts", nil,
			pairs{inbound, "1024", inbound, "512"},
			512, 128, 512,
			"env of container linkerd-proxy LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=1024 (not used: the name stands again further down)\n" +
				"env of container linkerd-proxy LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG=512",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, live := pod(tt.annotations, tt.env), listening("2.366.0", 4096, tt.in, tt.out, tt.admin)
			for role, want := range map[string]int64{"inbound": tt.in, "outbound": tt.out, "admin": tt.admin} {
				k := backlogOf(t, p, live, role)
				if got, ok := k.Asked.Get(); !ok || got != want {
					t.Errorf("%s: asked %d (known %v: %s), want %d", role, got, ok, k.Asked.Reason(), want)
				}
				if got, ok := k.InForce.Get(); !ok || got != want || k.SeenBy != "ss" {
					t.Errorf("%s: in force %d (known %v, seen by %q), want %d", role, got, ok, k.SeenBy, want)
				}
				if k.Why != "" {
					t.Errorf("%s: why %q, though nothing differs", role, k.Why)
				}
			}
			const kernel = "\nkernel net.core.somaxconn=4096 (does not bind)"
			if got, want := strings.Join(chainLines(backlogOf(t, p, live, "inbound")), "\n"), tt.inChain+kernel; got != want {
				t.Errorf("chain of inbound:\n%s\nwant:\n%s", got, want)
			}
			want := tt.inChain + "\nrule admin listener=" + inbound + " (it has no variable of its own and takes the inbound backlog)" + kernel
			if got := strings.Join(chainLines(backlogOf(t, p, live, "admin")), "\n"); got != want {
				t.Errorf("chain of admin:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestBacklogWhy(t *testing.T) {
	list := `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"512"}]`
	for _, tt := range []struct {
		name      string
		pod       *corev1.Pod
		version   string
		somaxconn int64 // 0: unknown
		inForce   int64
		want      string
	}{
		{
			"somaxconn caps it", pod(nil, pairs{inbound, "512"}), "2.366.0", 256, 256,
			"net.core.somaxconn of the pod is 256 and caps it",
		},
		{
			"somaxconn was raised since", pod(nil, pairs{inbound, "512"}), "2.366.0", 4096, 256,
			"the kernel takes net.core.somaxconn when listen() is called: it is 4096 now and may have been 256 then",
		},
		{
			"somaxconn is unknown", pod(nil, pairs{inbound, "512"}), "2.366.0", 0, 256,
			"net.core.somaxconn of the pod caps every backlog, but it is unknown here",
		},
		{
			"the proxy is too old", pod(nil, pairs{inbound, "512"}), "2.346.9", 4096, 128,
			"proxy 2.346.9 is older than 2.347.0 and ignores LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG",
		},
		{
			"the proxy may be too old", pod(nil, pairs{inbound, "512"}), "", 4096, 128,
			"proxies before 2.347.0 ignore LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG, and the version of this one is unknown",
		},
		{
			"the annotation came after the pod", pod(pairs{additional, list}, nil), "2.366.0", 4096, 128,
			`annotation config.linkerd.io/proxy-additional-env asks for "512", but the container does not set ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG: it was injected before the annotation was set; restart the workload`,
		},
		{
			"the injector does not know the annotation",
			pod(pairs{additional, list, "linkerd.io/proxy-version", "edge-26.4.2"}, nil), "2.366.0", 4096, 128,
			`annotation config.linkerd.io/proxy-additional-env asks for "512", but the container does not set ` +
				`LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG: it was injected by "edge-26.4.2", ` +
				`and only Linkerd 2.20.0 (edge-26.4.3) knows the annotation`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := listening(tt.version, tt.somaxconn, tt.inForce, 128, tt.inForce)
			for _, role := range []string{"inbound", "admin"} {
				k := backlogOf(t, tt.pod, live, role)
				if k.Asked.Or(0) != 512 || k.InForce.Or(0) != tt.inForce {
					t.Errorf("%s: asked %d, in force %d; want 512, %d", role, k.Asked.Or(0), k.InForce.Or(0), tt.inForce)
				}
				if k.Why != tt.want {
					t.Errorf("%s: why:\n%s\nwant:\n%s", role, k.Why, tt.want)
				}
			}
			if k := backlogOf(t, tt.pod, live, "outbound"); k.Why != "" || k.Differs() {
				t.Errorf("outbound: why %q, though nobody asked for it", k.Why)
			}
		})
	}
}

// A malformed list asks for nothing, which somebody should be told.
func TestBacklogOfMalformedAnnotation(t *testing.T) {
	k := backlogOf(t, pod(pairs{additional, "LINKERD2=1"}, nil), listening("2.366.0", 4096, 128, 128, 128), "inbound")
	if k.Asked.Or(0) != 128 || k.Why != `annotation config.linkerd.io/proxy-additional-env="LINKERD2=1" is ignored: not a JSON list of name and value` {
		t.Errorf("asked %d, why %q", k.Asked.Or(0), k.Why)
	}
}

// An old proxy does not read the variable, so a malformed one does not end it.
func TestMalformedBacklogOfOldProxy(t *testing.T) {
	k := backlogOf(t, pod(nil, pairs{inbound, "4k"}), listening("2.346.0", 4096, 128, 128, 128), "inbound")
	if k.Asked.IsKnown() || strings.Contains(k.Asked.Reason(), "exit code") {
		t.Errorf("asked: known %v, reason %q", k.Asked.IsKnown(), k.Asked.Reason())
	}
}

func TestBacklogHidden(t *testing.T) {
	live := listening("2.366.0", 4096, 1024, 128, 1024)
	k := backlogOf(t, hide(pod(nil, nil), inbound), live, "inbound")
	if k.Asked.IsKnown() || !strings.Contains(k.Asked.Reason(), "valueFrom") || k.Why != "" {
		t.Errorf("asked: known %v, reason %q, why %q", k.Asked.IsKnown(), k.Asked.Reason(), k.Why)
	}
	list := `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","valueFrom":{"configMapKeyRef":{"name":"a","key":"b"}}}]`
	k = backlogOf(t, pod(pairs{additional, list}, nil), live, "inbound")
	if k.Asked.IsKnown() || !strings.Contains(k.Asked.Reason(), "valueFrom") {
		t.Errorf("asked: known %v, reason %q", k.Asked.IsKnown(), k.Asked.Reason())
	}
}

// The limit in force is that of the socket which refuses next; the app's
// listeners do not count.
func TestBacklogInForceOfTheWorstSocket(t *testing.T) {
	socket := func(address string, port uint16, depth, limit int64) model.Socket {
		return model.Socket{Address: address, Port: port, Depth: model.Known(depth), Limit: model.Known(limit)}
	}
	for _, tt := range []struct {
		name    string
		sockets []model.Socket
		want    int64
	}{
		{"the fuller one", []model.Socket{socket("127.0.0.1", 4140, 0, 128), socket("::1", 4140, 200, 256)}, 256},
		{"the lower one of two empty ones", []model.Socket{socket("127.0.0.1", 4140, 0, 256), socket("::1", 4140, 0, 128)}, 128},
		{"not the app's", []model.Socket{socket("0.0.0.0", 8080, 5, 5), socket("127.0.0.1", 4140, 0, 128)}, 128},
	} {
		live := running("2.366.0", 1)
		live.Listeners = model.GroupSockets(tt.sockets)
		if k := backlogOf(t, pod(nil, nil), live, "outbound"); k.InForce.Or(-1) != tt.want {
			t.Errorf("%s: in force %d, want %d", tt.name, k.InForce.Or(-1), tt.want)
		}
	}
}

func TestBacklogInForceUnknown(t *testing.T) {
	one := func(s model.Socket) model.Pod {
		live := running("2.366.0", 1)
		live.Listeners = model.GroupSockets([]model.Socket{s})
		return live
	}
	stuck := running("2.366.0", 1)
	stuck.Collection.Message = "ErrImagePull"
	refused := model.Unknown[int64]("sock_diag refused, read from /proc/net/tcp")
	for _, tt := range []struct {
		name, want string
		live       model.Pod
	}{
		{"no listeners", "the pod's listeners were not read", running("2.366.0", 1)},
		{"no listeners, as the kubelet says", "the pod's listeners were not read: ErrImagePull", stuck},
		{"proxy does not listen", "nothing listens on the proxy's inbound port", one(model.Socket{Port: 8080})},
		{
			"limit unknown", "sock_diag refused, read from /proc/net/tcp",
			one(model.Socket{Port: 4143, Depth: model.Known[int64](0), Limit: refused}),
		},
	} {
		k := backlogOf(t, pod(nil, nil), tt.live, "inbound")
		if k.InForce.IsKnown() || k.InForce.Reason() != tt.want || k.SeenBy != "" {
			t.Errorf("%s: known %v, reason %q, seen by %q", tt.name, k.InForce.IsKnown(), k.InForce.Reason(), k.SeenBy)
		}
		if k.Asked.Or(0) != 128 {
			t.Errorf("%s: asked %d", tt.name, k.Asked.Or(0))
		}
	}
}

// The remedy is never the annotation on a namespace: the injector would make an
// invalid patch of it.
func TestBacklogRemedy(t *testing.T) {
	form := `[{"name":"LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG","value":"N"}]`
	two := `[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG","value":"9"}]`
	for _, tt := range []struct {
		name, version string
		annotations   pairs
		want          model.Remedy
	}{
		{"as a rule", "2.366.0", nil, model.Remedy{Where: "pod template annotation", Name: additional, Form: form}},
		{
			"with other entries", "2.366.0",
			pairs{additional, two},
			model.Remedy{Where: "pod template annotation", Name: additional, Form: form + ", beside the 2 other entries of the list"},
		},
		{
			"an injector that does not know the annotation", "2.366.0",
			pairs{"linkerd.io/proxy-version", "stable-2.19.1"},
			model.Remedy{Where: "Helm value", Name: "proxy.additionalEnv", Form: form},
		},
		{
			"a proxy that does not read the variable", "2.340.0", nil,
			model.Remedy{
				Where: "pod template annotation", Name: additional,
				Form: "takes proxy 2.347.0 or later (Linkerd 2.20, edge-26.4.1); then " + form,
			},
		},
	} {
		live := listening(tt.version, 4096, 128, 128, 128)
		if tt.version == "2.366.0" { // one that reads it
			tt.want.Variable = "LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG"
		}
		if got := backlogOf(t, pod(tt.annotations, nil), live, "outbound").Remedy; got != tt.want {
			t.Errorf("%s: remedy %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if got := backlogOf(t, pod(nil, nil), listening("2.366.0", 4096, 128, 128, 128), "admin").Remedy.Form; !strings.Contains(got, inbound) {
		t.Errorf("the admin listener's remedy is %q", got)
	}
}
