package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The places in which a pod may live that are not a plain one: a namespace that
// refuses privileges, a native sidecar, IPv6, and a probe without its tools.

// A namespace that enforces Pod Security "restricted", a proxy without a shell
// on a read-only root file system: the figures are as real as anywhere.
func TestPodSecurityRestricted(t *testing.T) {
	e := newEnv(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	_, err := cluster.client.CoreV1().Pods(e.ns).Create(t.Context(), proxyPod("plain", nil), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Fatalf("the namespace does not enforce anything, a pod with root's containers gives: %v", err)
	}
	e.create(proxyPod("a", map[string]string{"TOKIOPROXY_BURN_US": "3000"}, restricted))
	e.running("a")
	for _, shell := range []string{"sh", "/bin/sh", "/bin/busybox"} {
		if out, err := e.tryExec(t.Context(), "a", "linkerd-proxy", shell, "-c", "true"); err == nil {
			t.Errorf("%s runs in the proxy's container, so the image has a shell: %q", shell, out)
		}
	}

	// One worker takes about 333 connections a second: 300 at once overflow 128.
	e.exec("a", "load", "burst", "-addr", "127.0.0.1:4143", "-n", "300", "-every", "1s", "-for", "2s", "-timeout", "1s")
	before := e.quiet("a")
	p := e.getJSON("a")["a"]
	for _, port := range []uint16{4143, 4140, 4191} {
		if s := e.listener(p, port).Worst(); s.Limit != model.Known[int64](128) || s.Depth != model.Known[int64](0) || s.Drops != model.Known(before.drops[port]) {
			t.Errorf("port %d: %+v, ss says 0/128 and %d drops", port, s, before.drops[port])
		}
	}
	if before.overflows == 0 || p.Counters.ListenOverflows != model.Known(before.overflows) || p.Counters.ListenDrops != model.Known(before.listDrops) {
		t.Errorf("counters %+v, nstat says %d overflows and %d drops", p.Counters, before.overflows, before.listDrops)
	}
	if p.Runtime.Workers != model.Known[int64](1) || !p.Runtime.Window.Busy.IsKnown() {
		t.Errorf("workers %+v, busy %+v", p.Runtime.Workers, p.Runtime.Window.Busy)
	}
	probes := e.probes("a")
	if len(probes) != 1 || probes[0].State.Running == nil {
		t.Errorf("the pod's probes: %+v, want one that runs", probes)
	}
}

// restricted makes a pod satisfy Pod Security "restricted", with read-only root
// file systems on top.
func restricted(p *corev1.Pod) {
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr(true), RunAsUser: ptr(int64(65534)), RunAsGroup: ptr(int64(65534)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		c.SecurityContext.AllowPrivilegeEscalation = ptr(false)
		c.SecurityContext.ReadOnlyRootFilesystem = ptr(true)
		c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	}
}

// A native sidecar is an init container that stays: Linkerd's default since 2.20.
func TestNativeSidecar(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{
		"LINKERD2_PROXY_CORES": "2", "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG": "64",
	}, func(p *corev1.Pod) {
		proxy := p.Spec.Containers[0]
		proxy.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
		initial := sleeper("linkerd-init", toolsImage)
		initial.Command = []string{"true"}
		p.Spec.InitContainers = []corev1.Container{initial, proxy}
		p.Spec.Containers = p.Spec.Containers[1:]
	}))
	e.running("a")
	p := e.getJSON("a")["a"]
	if p.Proxy.Adapter != "linkerd" || p.Proxy.Container != "linkerd-proxy" || p.Proxy.Version != model.Known("2.366.0") {
		t.Errorf("proxy = %+v", p.Proxy)
	}
	truth := e.read("a")
	for port, want := range map[uint16]struct {
		role  model.Role
		limit int64
	}{4143: {model.RoleInbound, 64}, 4140: {model.RoleOutbound, 128}, 4191: {model.RoleAdmin, 64}} {
		l := e.listener(p, port)
		if l.Role != want.role || l.Worst().Limit != model.Known(want.limit) || truth.limit[port] != want.limit {
			t.Errorf("port %d: %s, limit %+v, ss says %d; want %s, %d", port, l.Role, l.Worst().Limit, truth.limit[port], want.role, want.limit)
		}
	}
	if p.Runtime.Workers != model.Known[int64](2) {
		t.Errorf("workers = %+v, want 2", p.Runtime.Workers)
	}
	for name, want := range map[string]int64{"workers": 2, "inbound backlog": 64, "outbound backlog": 128, "admin backlog": 64} {
		i := slices.IndexFunc(p.Knobs, func(k model.Knob) bool { return k.Name == name })
		if i < 0 {
			t.Errorf("no knob %q in %+v", name, p.Knobs)
		} else if k := p.Knobs[i]; k.Asked != model.Known(want) || k.InForce != model.Known(want) || k.SeenBy == "" {
			t.Errorf("%s: asked %+v, in force %+v seen by %q; want %d", name, k.Asked, k.InForce, k.SeenBy, want)
		}
	}
	if state, why := p.Condition(); state != model.StateOK {
		t.Errorf("the pod is %s: %s", state, why)
	}
	// A sidecar's processes can be a probe's target like any other container's.
	p = e.getJSON("a", "-c", "linkerd-proxy")["a"]
	if p.Collection.Stage != model.StageOK || p.Collection.Probe != "backlog-probe-2" || e.listener(p, 4143).Worst().Limit != model.Known[int64](64) {
		t.Errorf("with the sidecar as target: %+v", p.Collection)
	}
}

// Listeners on IPv6 addresses, of the proxy (all addresses) and of the app (the
// loopback): addresses and limits as ss has them, overflows where they belong.
func TestIPv6(t *testing.T) {
	e := newEnv(t, nil)
	e.create(proxyPod("a", map[string]string{"LINKERD2_PROXY_INBOUND_LISTEN_ADDR": "[::]:4143"}, func(p *corev1.Pod) {
		server := sleeper("server", loadImage)
		server.Command = []string{"badserver", "-listen", "[::1]:8080/16", "-never-accept"}
		p.Spec.Containers = append(p.Spec.Containers, server)
	}))
	e.running("a")
	wait := e.background("a", "load", "burst", "-addr", "[::1]:8080", "-n", "60", "-every", "1s", "-for", "20s", "-timeout", "900ms")
	e.eventually("overflows of the app", func() error {
		if e.read("a").overflows == 0 {
			return errorf("none yet")
		}
		return nil
	})
	before := e.read("a")
	p := e.getJSON("a")["a"]
	after := e.read("a")

	addresses := e.addresses("a")
	for port, want := range map[uint16]struct {
		role  model.Role
		limit int64
	}{4143: {model.RoleInbound, 128}, 8080: {model.RoleApp, 16}} {
		l := e.listener(p, port)
		if l.String() != addresses[port] || l.Role != want.role || l.Worst().Limit != model.Known(want.limit) || before.limit[port] != want.limit {
			t.Errorf("port %d: %s %s, limit %+v; ss says %s, %d", port, l, l.Role, l.Worst().Limit, addresses[port], before.limit[port])
		}
	}
	if a := e.listener(p, 8080).Address; a != "::1" {
		t.Errorf("the app's address is %q, want ::1", a)
	}
	between(t, "overflows", p.Counters.ListenOverflows, before.overflows, after.overflows)
	between(t, "drops of [::1]:8080", e.listener(p, 8080).Worst().Drops, before.drops[8080], after.drops[8080])
	total, ok := p.Window.Overflows.Get()
	if !ok || total == 0 || e.listener(p, 8080).Window.Overflows != model.Known(total) || p.Window.Unattributed != model.Known[int64](0) {
		t.Errorf("the window %+v is not that of [::1]:8080, %+v", p.Window, e.listener(p, 8080).Window)
	}
	if o := e.listener(p, 4143).Window.Overflows; o != model.Known[int64](0) {
		t.Errorf("the inbound listener, which nobody called, has %+v", o)
	}
	t.Log(wait())
}

// addresses are the listeners' addresses in ss's own writing, by port.
func (e *env) addresses(pod string) map[uint16]string {
	e.Helper()
	found := map[uint16]string{}
	for _, line := range strings.Split(e.exec(pod, "tools", "ss", "-HOltn"), "\n") {
		if f := strings.Fields(line); len(f) > 3 {
			found[uint16(e.number(f[3][strings.LastIndex(f[3], ":")+1:]))] = f[3]
		}
	}
	return found
}

// A probe image with neither ss nor nstat: what /proc tells is shown, what it
// does not tell is unknown with the reason, and a note says what is missing.
func TestProbeImageWithoutTools(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("a", []string{"-listen", "127.0.0.1:8080/16", "-listen", "[::1]:9090/8", "-never-accept"}))
	e.running("a")
	// History that is not zero, then depths that stay: 5 and 3 connections.
	e.background("a", "load", "burst", "-addr", "127.0.0.1:8080", "-fill", "5", "-hold", "2m")
	e.background("a", "load", "burst", "-addr", "[::1]:9090", "-fill", "3", "-hold", "2m")
	e.eventually("the connections to wait", func() error {
		if d := e.read("a").depth; d[8080] != 5 || d[9090] != 3 {
			return errorf("ss says %v", d)
		}
		return nil
	})
	p := e.getJSON("a", "--image", nossImage)["a"]
	for i, l := range p.Listeners {
		want := map[uint16]int64{8080: 5, 9090: 3}[l.Port]
		if s := l.Worst(); s.Depth != model.Known(want) || s.Limit.IsKnown() || s.Drops.IsKnown() {
			t.Errorf("%s: %+v, want a depth of %d and neither limit nor drops", l, s, want)
		}
		for _, field := range []string{"limit", "drops"} {
			if reason := p.reason(fmt.Sprintf("listeners[%d].sockets[0].%s", i, field)); !strings.Contains(reason, "/proc/net/tcp") {
				t.Errorf("%s of %s is unknown because %q, want it to name /proc/net/tcp", field, l, reason)
			}
		}
	}
	if len(p.Listeners) != 2 {
		t.Errorf("%d listeners, want 2: %+v", len(p.Listeners), p.Listeners)
	}

	// 12 more fit into the queue of 16 (it holds 17), the rest overflows.
	e.exec("a", "load", "burst", "-addr", "127.0.0.1:8080", "-n", "40", "-every", "1s", "-for", "1s", "-timeout", "900ms")
	truth := e.quiet("a")
	p = e.getJSON("a", "--image", nossImage)["a"]
	if truth.overflows == 0 || p.Counters.ListenOverflows != model.Known(truth.overflows) || p.Counters.ListenDrops != model.Known(truth.listDrops) {
		t.Errorf("counters %+v, nstat says %d overflows and %d drops", p.Counters, truth.overflows, truth.listDrops)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, missing := range []string{"ss is not in this image", "nstat is not in this image"} {
		if !strings.Contains(notes, missing) {
			t.Errorf("no note says %q: %q", missing, p.Notes)
		}
	}
	if n := len(e.probes("a")); n != 1 {
		t.Errorf("%d probes, want one that is shared", n)
	}
}

// reason is why the figure at a path is unknown; empty when it is not listed.
func (i item) reason(field string) string {
	for _, m := range i.Unknown {
		if m.Field == field {
			return m.Reason
		}
	}
	return ""
}

// quiet waits until the pod's counters stand still for two seconds: the last
// retransmissions of a burst are over.
func (e *env) quiet(pod string) truth {
	e.Helper()
	var last truth
	e.eventually("the counters of "+pod+" to stand still", func() error {
		before := e.read(pod)
		time.Sleep(2 * time.Second)
		last = e.read(pod)
		if before.overflows != last.overflows || before.listDrops != last.listDrops {
			return errorf("overflows went from %d to %d", before.overflows, last.overflows)
		}
		return nil
	})
	return last
}
