package remedy_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
)

const additional = "config.linkerd.io/proxy-additional-env"

// server is a meshed pod of a Deployment with the given template annotations.
func server(annotations map[string]string) model.Pod {
	return model.Pod{
		Meta:     model.Meta{Namespace: "shop", Name: "server-6bf978ccb4-m2m2q"},
		Workload: model.Workload{Kind: "Deployment", Name: "server"},
		Proxy: model.Proxy{
			Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true, Image: "cr.l5d.io/linkerd/proxy:edge-26.8.3",
		},
		Manifest: model.Manifest{
			Template: model.Known(annotations), Strategy: "RollingUpdate", Replicas: model.Known[int64](3),
			Selector: map[string]string{"app": "server", "tier": "web"},
		},
		Counters: model.Counters{Somaxconn: model.Known[int64](4096)},
		Knobs: []model.Knob{
			{Name: "workers", Available: model.Known[int64](8), Remedy: model.Remedy{
				Where: "pod template annotation", Name: "config.linkerd.io/proxy-cpu-limit", Unit: "cpus",
			}},
			{Name: "inbound backlog", Remedy: model.Remedy{
				Where: "pod template annotation", Name: additional, Variable: "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG",
			}},
		},
	}
}

// act fills one action of a pod and gives it back.
func act(p model.Pod, a model.Action) model.Action {
	p.Verdicts = []model.Verdict{{Fix: []model.Action{a}}}
	remedy.Fill(&p, remedy.Options{Context: "prod-eu1"})
	return p.Verdicts[0].Fix[0]
}

func raise(knob string, to int64) model.Action {
	return model.Action{Kind: model.ActRaiseBacklog, Knob: knob, To: model.Known(to)}
}

func TestCommands(t *testing.T) {
	ratio := server(nil)
	ratio.Knobs[0].Remedy = model.Remedy{Name: "config.linkerd.io/proxy-cpu-ratio-limit", Unit: "ratio"}
	daemon := server(nil)
	daemon.Workload = model.Workload{Kind: "DaemonSet", Name: "web"}
	onDelete := server(nil)
	onDelete.Workload.Kind, onDelete.Manifest.Strategy = "StatefulSet", "OnDelete"
	onDelete.Knobs[0].Remedy.Restart = true
	restart := server(nil)
	restart.Knobs[0].Remedy.Restart = true
	for _, tt := range []struct {
		name          string
		pod           model.Pod
		action        model.Action
		command, undo string
	}{
		{
			"a backlog where no list is", server(nil), raise("inbound backlog", 512),
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"config.linkerd.io/proxy-additional-env":"[{\"name\":\"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG\",\"value\":\"512\"}]"}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"a list that is there is kept, an old value of the same name is not",
			server(map[string]string{additional: `[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"256"}]`}),
			raise("inbound backlog", 512),
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"config.linkerd.io/proxy-additional-env":"[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}},{\"name\":\"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG\",\"value\":\"512\"}]"}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"workers by the limit", server(nil),
			model.Action{Kind: model.ActAddWorkers, Knob: "workers", To: model.Known[int64](2)},
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"config.linkerd.io/proxy-cpu-limit":"2"}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"workers by a ratio of eight CPUs", ratio,
			model.Action{Kind: model.ActAddWorkers, Knob: "workers", To: model.Known[int64](3)},
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"config.linkerd.io/proxy-cpu-ratio-limit":"0.375"}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"a rollout is paused", server(nil),
			model.Action{Kind: model.ActPauseRollout},
			"kubectl --context prod-eu1 -n shop rollout pause deployment/server", "kubectl --context prod-eu1 -n shop rollout resume deployment/server",
		},
		{"that of a DaemonSet cannot be", daemon, model.Action{Kind: model.ActPauseRollout}, "", ""},
		{
			"half as many replicas again", server(nil),
			model.Action{Kind: model.ActScaleOut},
			"kubectl --context prod-eu1 -n shop scale deployment/server --replicas=4", "kubectl --context prod-eu1 -n shop scale deployment/server --replicas=3",
		},
		{"a DaemonSet has no replicas", daemon, model.Action{Kind: model.ActScaleOut}, "", ""},
		{
			"a pod is taken out by the labels that select it", server(nil),
			model.Action{Kind: model.ActIsolate},
			"kubectl --context prod-eu1 -n shop label pod server-6bf978ccb4-m2m2q app- tier-",
			"kubectl --context prod-eu1 -n shop label pod server-6bf978ccb4-m2m2q app=server tier=web",
		},
		{
			"a template that changed waits for a restart", restart,
			model.Action{Kind: model.ActSetKnob, Knob: "workers"},
			"kubectl --context prod-eu1 -n shop rollout restart deployment/server", "",
		},
		{
			"with OnDelete a rollout restart does nothing", onDelete,
			model.Action{Kind: model.ActSetKnob, Knob: "workers"},
			"kubectl --context prod-eu1 -n shop delete pod server-6bf978ccb4-m2m2q", "",
		},
		{
			"CPU of the app", server(nil),
			model.Action{Kind: model.ActRaiseCPU, Container: "app", To: model.Known[int64](1500)},
			"kubectl --context prod-eu1 -n shop set resources deployment/server -c app --limits=cpu=1500m", "kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"CPU of the proxy, whose workers follow from it", server(nil),
			model.Action{Kind: model.ActRaiseCPU, Container: "linkerd-proxy", To: model.Known[int64](1500)},
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{"config.linkerd.io/proxy-cpu-limit":"2"}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"somaxconn of the pod", server(nil),
			model.Action{Kind: model.ActRaiseSomaxconn, To: model.Known[int64](8192)},
			`kubectl --context prod-eu1 -n shop patch deployment/server --type merge -p '{"spec":{"template":{"spec":{"securityContext":{"sysctls":[{"name":"net.core.somaxconn","value":"8192"}]}}}}}'`,
			"kubectl --context prod-eu1 -n shop rollout undo deployment/server",
		},
		{
			"more is to be seen", server(nil),
			model.Action{Kind: model.ActWatch},
			"kubectl backlog top --context prod-eu1 -n shop server-6bf978ccb4-m2m2q", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := act(tt.pod, tt.action)
			if got.Command != tt.command {
				t.Errorf("command:\n%s\nwant:\n%s\nnotes: %q", got.Command, tt.command, got.Notes)
			}
			if got.Undo != tt.undo {
				t.Errorf("undo:\n%s\nwant:\n%s", got.Undo, tt.undo)
			}
		})
	}
}

// What cannot be known leads to no command, and the reason is told.
func TestNoCommandWithoutKnowledge(t *testing.T) {
	hidden := server(nil)
	hidden.Manifest.Template = model.Unknown[map[string]string]("may not be read")
	for _, tt := range []struct {
		name   string
		pod    model.Pod
		action model.Action
		note   string
	}{
		{"the list may not be read", hidden, raise("inbound backlog", 512), "could not be read"},
		{"the list is no list", server(map[string]string{additional: "oops"}), raise("inbound backlog", 512), "no JSON list"},
		{"how deep is unknown", server(nil), model.Action{Kind: model.ActRaiseBacklog, Knob: "inbound backlog"}, "how deep"},
		{"how many is unknown", server(nil), model.Action{Kind: model.ActAddWorkers}, "how many"},
		{"a bare pod", func() model.Pod { p := server(nil); p.Workload = model.Workload{}; return p }(), raise("inbound backlog", 512), "no workload"},
	} {
		got := act(tt.pod, tt.action)
		if got.Command != "" || !strings.Contains(strings.Join(got.Notes, "; "), tt.note) {
			t.Errorf("%s: command %q, notes %q; want none, and a note on %q", tt.name, got.Command, got.Notes, tt.note)
		}
	}
}

// A change by hand of what a tool owns would be reverted: values stand instead.
func TestWhatAToolOwnsGetsValues(t *testing.T) {
	p := server(nil)
	p.Manifest.Manager = model.Manager{Tool: "Helm", Name: "checkout"}
	got := act(p, raise("inbound backlog", 512))
	want := additional + `: '[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"512"}]'`
	if got.Command != "" || got.Values != want || !strings.Contains(got.Place, "Helm checkout") {
		t.Errorf("command %q, values %q, place %q", got.Command, got.Values, got.Place)
	}
}

// The chart that is installed is named, at the version that is installed.
func TestChart(t *testing.T) {
	for image, want := range map[string]string{
		"cr.l5d.io/linkerd/proxy:edge-26.3.2":             "chart linkerd-control-plane, kept at version 2026.3.2",
		"ghcr.io/buoyantio/proxy:enterprise-2.19.1":       "chart linkerd-enterprise-control-plane, kept at version 2.19.1",
		"registry.example:5000/linkerd/proxy:stable-2.14": "chart linkerd-control-plane",
		"proxy@sha256:00": "chart linkerd-control-plane",
	} {
		p := server(nil)
		p.Proxy.Image = image
		p.Knobs[1].Remedy = model.Remedy{Where: "Helm value", Name: "proxy.additionalEnv", Variable: "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"}
		got := act(p, raise("inbound backlog", 512))
		if got.Place != "values of "+want {
			t.Errorf("%s: place %q, want %q", image, got.Place, "values of "+want)
		}
		if values := "proxy:\n  additionalEnv:\n    - name: LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG\n      value: \"512\""; got.Values != values {
			t.Errorf("values:\n%s\nwant:\n%s", got.Values, values)
		}
	}
}

// Whatever a name holds, a shell reads it as one word.
func TestNamesDoNotReachTheShell(t *testing.T) {
	p := server(nil)
	p.Meta.Name = "a'; touch /tmp/owned; echo '$(id)`id`"
	p.Meta.Namespace = "-n evil"
	got := act(p, model.Action{Kind: model.ActRestart})
	out, err := exec.Command("sh", "-c", `kubectl() { printf '%s\n' "$@"; }; `+got.Command).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "--context\nprod-eu1\n-n\n" + p.Meta.Namespace + "\ndelete\npod\n" + p.Meta.Name + "\n"; string(out) != want {
		t.Errorf("a shell reads %q, want %q", out, want)
	}
}

// The verdicts of the snapshot before stay as they are.
func TestFillChangesNothingInPlace(t *testing.T) {
	p := server(nil)
	actions := []model.Action{{Kind: model.ActPauseRollout}}
	p.Verdicts = []model.Verdict{{Now: actions}}
	remedy.Fill(&p, remedy.Options{})
	if actions[0].Command != "" {
		t.Error("Fill changed the actions that it was given")
	}
	if got := p.Verdicts[0].Now[0].Command; got != "kubectl -n shop rollout pause deployment/server" {
		t.Errorf("without a context: %q", got)
	}
}
