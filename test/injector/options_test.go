package injector_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/test/injector"
)

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    injector.Options
		edit func(*corev1.Pod)
		want string
	}{
		{
			"default",
			injector.Options{},
			func(*corev1.Pod) {},
			"CONTROL_LISTEN_ADDR=0.0.0.0:4190 ADMIN_LISTEN_ADDR=0.0.0.0:4191 OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140 INBOUND_LISTEN_ADDR=0.0.0.0:4143",
		},
		{
			"dual stack",
			injector.Options{IPv6: true},
			func(*corev1.Pod) {},
			"CONTROL_LISTEN_ADDR=[::]:4190 ADMIN_LISTEN_ADDR=[::]:4191 OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140,[::1]:4140 INBOUND_LISTEN_ADDR=[::]:4143",
		},
		{
			"annotations",
			injector.Options{},
			func(p *corev1.Pod) {
				for name, port := range (annotations{"inbound": "15143", "outbound": "15140", "admin": "15191", "control": "15190"}) {
					p.Annotations["config.linkerd.io/"+name+"-port"] = port
				}
			},
			"CONTROL_LISTEN_ADDR=0.0.0.0:15190 ADMIN_LISTEN_ADDR=0.0.0.0:15191 OUTBOUND_LISTEN_ADDR=127.0.0.1:15140 " +
				"OUTBOUND_LISTEN_ADDRS=127.0.0.1:15140 INBOUND_LISTEN_ADDR=0.0.0.0:15143",
		},
		{
			"the test's own address",
			injector.Options{},
			func(p *corev1.Pod) {
				p.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: "[::1]:4143"}}
			},
			"INBOUND_LISTEN_ADDR=[::1]:4143 CONTROL_LISTEN_ADDR=0.0.0.0:4190 ADMIN_LISTEN_ADDR=0.0.0.0:4191 " +
				"OUTBOUND_LISTEN_ADDR=127.0.0.1:4140 OUTBOUND_LISTEN_ADDRS=127.0.0.1:4140",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, tt.o)
			r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations[inject] = "enabled"; tt.edit(p) })
			if got := env(proxy(t, patched(t, r, send(t, inj, r))), "LISTEN_ADDR"); got != tt.want {
				t.Errorf("addresses\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestHelm: the values of the chart that act on workers and backlogs.
func TestHelm(t *testing.T) {
	backlog := func(n string) corev1.EnvVar {
		return corev1.EnvVar{Name: "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG", Value: n}
	}
	o := injector.Options{
		Cores: 3, Version: "edge-26.1.1", ControlPlane: "mesh",
		AdditionalEnv: []corev1.EnvVar{backlog("512"), {Name: "OTHER", Value: "1"}},
	}
	inj := start(t, o)
	r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations = annotations{inject: "enabled", limit: "2", request: "2"} })
	pod := patched(t, r, send(t, inj, r))
	if got, want := env(proxy(t, pod), "CORES"), "CORES=3 CORES_MIN=3"; got != want {
		t.Errorf("proxy.cores: environment %q, want %q", got, want)
	}
	if got, want := env(proxy(t, pod), "BACKLOG"), "INBOUND_TCP_LISTEN_BACKLOG=512"; got != want {
		t.Errorf("proxy.additionalEnv: %q, want %q", got, want)
	}
	if pod.Annotations["linkerd.io/proxy-version"] != "edge-26.1.1" || pod.Labels["linkerd.io/control-plane-ns"] != "mesh" {
		t.Errorf("annotations %v, labels %v", pod.Annotations, pod.Labels)
	}

	r = edit(t, r, func(p *corev1.Pod) {
		p.Annotations[additional] = `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"1024"}]`
	})
	c := proxy(t, patched(t, r, send(t, inj, r)))
	if got, want := env(c, "BACKLOG"), "INBOUND_TCP_LISTEN_BACKLOG=1024"; got != want {
		t.Errorf("annotation over Helm: %q, want %q", got, want)
	}
	if got, want := env(c, "OTHER"), "OTHER=1"; got != want {
		t.Errorf("Helm's other variables: %q, want %q", got, want)
	}
}

// TestNotTaken: what cannot be read has no effect, and the one who creates the
// pod is told.
func TestNotTaken(t *testing.T) {
	for _, tt := range []struct{ name, annotation, value, warning string }{
		{"limit", limit, "two", `annotation config.linkerd.io/proxy-cpu-limit="two" is not taken: it is no CPU quantity above 0`},
		{"no limit", limit, "0", `annotation config.linkerd.io/proxy-cpu-limit="0" is not taken: it is no CPU quantity above 0`},
		{"request", request, "-1", `annotation config.linkerd.io/proxy-cpu-request="-1" is not taken: it is no CPU quantity above 0`},
		{"ratio 1.0", ratio, "1.0", `annotation config.linkerd.io/proxy-cpu-ratio-limit="1.0" is not taken: it does not lie between 0 and 1`},
		{"ratio 0", ratio, "0", `annotation config.linkerd.io/proxy-cpu-ratio-limit="0" is not taken: it does not lie between 0 and 1`},
		{"list", additional, "A=1", `annotation config.linkerd.io/proxy-additional-env="A=1" is not taken: it is no JSON list of variables`},
		{"port", "config.linkerd.io/inbound-port", "99999", `annotation config.linkerd.io/inbound-port="99999" is not taken: it is no port`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inj := start(t, injector.Options{})
			r := edit(t, review(t, "bare"), func(p *corev1.Pod) { p.Annotations = annotations{inject: "enabled", tt.annotation: tt.value} })
			answer := send(t, inj, r)
			pod := patched(t, r, answer)
			if got, want := env(proxy(t, pod), "CORES"), "CORES=1 CORES_MIN=1"; got != want {
				t.Errorf("environment %q, want %q", got, want)
			}
			if got, want := env(proxy(t, pod), "INBOUND_LISTEN"), "INBOUND_LISTEN_ADDR=0.0.0.0:4143"; got != want {
				t.Errorf("address %q, want %q", got, want)
			}
			if len(answer.Warnings) != 1 || answer.Warnings[0] != tt.warning {
				t.Errorf("warnings %q, want %q", answer.Warnings, tt.warning)
			}
		})
	}
}
