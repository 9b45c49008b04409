package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/source"
)

// meshed is what was measured of meshedPod(0): one worker, busy for half of the time.
func meshed(template map[string]string) model.Pod {
	p := okPod("server-0", 3, 40)
	p.Node, p.Workload = "n0", model.Workload{Kind: "Deployment", Name: "server"}
	p.Proxy = model.Proxy{Adapter: "linkerd", Container: "linkerd-proxy", Sidecar: true}
	p.Listeners[0].Port, p.Listeners[0].Role = 4143, model.RoleInbound
	p.Counters.Somaxconn = model.Known[int64](4096)
	p.Runtime.Workers = model.Known[int64](1)
	p.Runtime.Window = model.RuntimeWindow{Seconds: model.Known(3.0), Busy: model.Known(0.5), Stalled: model.Known(0.0)}
	p.Manifest = model.Manifest{Template: model.Known(template), Strategy: "RollingUpdate", Replicas: model.Known[int64](3)}
	p.Knobs = []model.Knob{
		{Name: "workers", Remedy: model.Remedy{Where: "pod template annotation", Name: linkerdLimit, Unit: "cpus"}},
		{Name: "inbound backlog", Remedy: model.Remedy{Where: "pod template annotation", Name: additionalEnv, Variable: inboundVariable}},
	}
	return p
}

// planFor runs plan on what was measured, and a cluster of three nodes.
func planFor(t *testing.T, p model.Pod, change func(*planOptions), client *fake.Clientset) (stdout string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	clock := time.Unix(1000, 0)
	s := &script{snapshots: []model.Snapshot{snap(p)}, clock: &clock}
	o := &planOptions{getOptions: getOptions{selection: newSelection(genericclioptions.NewConfigFlags(true)), IOStreams: streams, format: newFormat()}}
	o.now = func() time.Time { return clock }
	o.timeout, o.args, o.context = 5*time.Second, []string{"deploy/server"}, "prod"
	o.openSource = func(context.Context) (source.Source, error) { return s, nil }
	o.dial = func() (kubernetes.Interface, error) { return client, nil }
	change(o)
	if err := o.validate(); err != nil {
		return "", err
	}
	err = o.run(t.Context())
	return out.String(), err
}

func threeNodes() *fake.Clientset {
	tainted := node("gpu", "64")
	tainted.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	return fake.NewClientset(node("n0", "2"), node("n1", "8"), tainted, meshedPod(0, nil, nil), deployment(nil))
}

func TestPlanSaysWhatFollows(t *testing.T) {
	out, err := planFor(t, meshed(map[string]string{}), func(o *planOptions) {
		o.wanted = plan.Wanted{Workers: model.Known[int64](4), Backlog: model.Known[int64](512)}
	}, threeNodes())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2          1      1     2          1            2        at least 0.25, about",
		"8          1      0     4          1            4        at least 0.12, about",
		"on nodes with 2 CPUs there would be 2 workers, not 4",
		"in:4143   16     ≥17   40       ?        64      512      4096       512",
		`kubectl --context prod -n shop patch deployment/server --type merge -p '{"spec":{"template":{"metadata":{"annotations":{` +
			`"config.linkerd.io/proxy-additional-env":"[{\"name\":\"` + inboundVariable + `\",\"value\":\"512\"}]","config.linkerd.io/proxy-cpu-limit":"4"}}}}}'`,
		"restarts 3 pods of Deployment/server",
		"free room, cordons, spreading",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "64          ") {
		t.Errorf("the tainted node is none that it may run on:\n%s", out)
	}
}

func TestPlanCommands(t *testing.T) {
	workers := []model.Action{{Kind: model.ActAddWorkers, Knob: "workers", To: model.Known[int64](2)}}
	backlog := []model.Action{{Kind: model.ActRaiseBacklog, Knob: "inbound backlog", To: model.Known[int64](512)}}
	for _, tt := range []struct {
		name    string
		pod     model.Pod
		changes []model.Action
		ratio   float64
		want    string // of the annotations in the patch, as JSON; empty: no patch
		command bool
		note    string
	}{
		{"a list that is there is kept", meshed(map[string]string{additionalEnv: `[{"name":"A","value":"b"}]`}), backlog, 0, `{"config.linkerd.io/proxy-additional-env":"[{\"name\":\"A\",\"value\":\"b\"},{\"name\":\"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG\",\"value\":\"512\"}]"}`, true, "keeps what else is in the list"},
		{"an unreadable one is not replaced", meshed(map[string]string{additionalEnv: "oops"}), backlog, 0, "", false, "no JSON list"},
		{"one that may not be read neither", changed(meshed(nil), func(p *model.Pod) { p.Manifest.Template = model.Unknown[map[string]string]("forbidden") }), backlog, 0, "", false, "could not be read"},
		{"a ratio", meshed(map[string]string{}), workers, 0.25, `{"config.linkerd.io/proxy-cpu-ratio-limit":"0.25"}`, true, "2.18"},
		{"a ratio in place of a limit", meshed(map[string]string{linkerdLimit: "2"}), workers, 0.25, `{"config.linkerd.io/proxy-cpu-limit":null,"config.linkerd.io/proxy-cpu-ratio-limit":"0.25"}`, true, "would beat the ratio"},
		{"what Helm owns gets values", changed(meshed(map[string]string{}), func(p *model.Pod) { p.Manifest.Manager = model.Manager{Tool: "Helm", Name: "shop"} }), workers, 0, `{"config.linkerd.io/proxy-cpu-limit":"2"}`, false, ""},
		{"a bare pod", changed(meshed(map[string]string{}), func(p *model.Pod) { p.Workload = model.Workload{} }), workers, 0, "", false, "no workload is known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &planOptions{getOptions: getOptions{selection: newSelection(genericclioptions.NewConfigFlags(true))}}
			if tt.ratio > 0 {
				o.wanted.Ratio = model.Known(tt.ratio)
			}
			got := o.changeOf(tt.pod, &plan.Plan{Changes: tt.changes})
			if len(got.apply) != 1 {
				t.Fatalf("%d actions: %+v", len(got.apply), got.apply)
			}
			a := got.apply[0]
			if (a.Command != "") != tt.command || !strings.Contains(strings.Join(a.Notes, "\n"), tt.note) {
				t.Errorf("command %q, notes %q", a.Command, a.Notes)
			}
			if a.Command == "" && tt.want != "" && (a.Values == "" || !strings.Contains(a.Place, "Helm shop")) {
				t.Errorf("place %q, values %q", a.Place, a.Values)
			}
			var patch struct {
				Spec struct {
					Template struct {
						Metadata struct{ Annotations json.RawMessage }
					}
				}
			}
			if tt.want == "" {
				if got.patch != nil {
					t.Errorf("patch %s", got.patch)
				}
				return
			}
			if err := json.Unmarshal(got.patch, &patch); err != nil {
				t.Fatal(err)
			}
			if text := string(patch.Spec.Template.Metadata.Annotations); text != tt.want {
				t.Errorf("annotations %s\nwant        %s", text, tt.want)
			}
		})
	}
}

// Names are words for the shell and never more.
func TestPlanCommandsAreQuoted(t *testing.T) {
	p := meshed(map[string]string{})
	p.Meta.Namespace, p.Workload.Name = "a'; touch /tmp/owned", "$(id)`id`"
	o := &planOptions{getOptions: getOptions{selection: newSelection(genericclioptions.NewConfigFlags(true))}}
	o.context = "my context"
	out, err := exec.Command("sh", "-c", `kubectl() { printf '%s\n' "$@"; }; `+remedy.Kubectl(p, o.remedyOptions(), "patch", "deployment/"+p.Workload.Name)).Output()
	if want := "--context\nmy context\n-n\n" + p.Meta.Namespace + "\npatch\ndeployment/$(id)`id`\n"; err != nil || string(out) != want {
		t.Errorf("a shell reads %q (%v), want %q", out, err, want)
	}
}

// The API server's answer is told, whatever it is, and nothing is changed.
func TestPlanDryRun(t *testing.T) {
	for _, refused := range []bool{false, true} {
		client := threeNodes()
		var options *metav1.PatchOptions
		client.PrependReactor("patch", "deployments", func(a clienttesting.Action) (bool, runtime.Object, error) {
			o := a.(clienttesting.PatchActionImpl).PatchOptions
			options = &o
			if refused {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "server", errors.New("a policy says no"))
			}
			return true, &appsv1.Deployment{}, nil
		})
		out, err := planFor(t, meshed(map[string]string{}), func(o *planOptions) {
			o.wanted.Backlog, o.dryRun = model.Known[int64](512), "server"
		}, client)
		if err != nil || options == nil || len(options.DryRun) != 1 || options.DryRun[0] != metav1.DryRunAll {
			t.Fatalf("%v, options %+v", err, options)
		}
		if want := map[bool]string{false: "server dry run: the API server takes it", true: "server dry run: refused: "}[refused]; !strings.Contains(out, want) || refused && !strings.Contains(out, "a policy says no") {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestPlanWithoutNodes(t *testing.T) {
	client := threeNodes()
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no"))
	})
	out, err := planFor(t, meshed(map[string]string{}), func(o *planOptions) { o.wanted.Workers = model.Known[int64](2) }, client)
	if err != nil || !strings.Contains(out, "the nodes that the workload may run on: listing nodes: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPlanRefuses(t *testing.T) {
	two := meshed(nil)
	two.Workload.Name = "other"
	two.Meta.UID = "other"
	for _, tt := range []struct {
		name   string
		change func(*planOptions)
		want   string
	}{
		{"two names", func(o *planOptions) { o.args = []string{"a", "b"} }, "a plan is of one workload"},
		{"a selector", func(o *planOptions) { o.args, o.labels = nil, "app=x" }, "a plan is of one workload"},
		{"workers and a ratio", func(o *planOptions) {
			o.wanted = plan.Wanted{Workers: model.Known[int64](1), Ratio: model.Known(0.5)}
		}, "only one of them"},
		{"a check of nothing", func(o *planOptions) { o.dryRun = "server" }, "checks a change"},
		{"pods of two workloads", func(o *planOptions) {
			clock := time.Unix(1000, 0)
			o.openSource = func(context.Context) (source.Source, error) {
				return &script{snapshots: []model.Snapshot{snap(meshed(nil), two)}, clock: &clock}, nil
			}
			o.window = 0
		}, "pods of several workloads"},
		{"a ratio without Linkerd", func(o *planOptions) {
			p := meshed(nil)
			p.Proxy.Adapter = "envoy"
			clock := time.Unix(1000, 0)
			o.openSource = func(context.Context) (source.Source, error) {
				return &script{snapshots: []model.Snapshot{snap(p)}, clock: &clock}, nil
			}
			o.window, o.wanted.Ratio = 0, model.Known(0.5)
		}, "a setting of Linkerd's proxy"},
	} {
		if _, err := planFor(t, meshed(nil), tt.change, threeNodes()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
