package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/test/injector"
)

// newInjectedEnv is a namespace in which annotations act as under Linkerd. The
// webhook runs in this process, so the API server must run on this machine.
func newInjectedEnv(t *testing.T) *env {
	t.Helper()
	if os.Getenv("E2E_OWN_CLUSTER") == "" {
		t.Skip("left out: only an API server that runs on this machine reaches a webhook here (E2E_OWN_CLUSTER)")
	}
	inj, err := injector.Start(context.Background(), injector.Options{
		NamespaceAnnotations: func(ctx context.Context, name string) (map[string]string, error) {
			ns, err := cluster.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return ns.Annotations, nil
		},
	})
	if err != nil {
		t.Fatalf("starting the injector: %v", err)
	}
	t.Cleanup(func() { _ = inj.Close() })
	e := newEnv(t, nil)
	hooks := cluster.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), inj.Configuration(e.ns), metav1.CreateOptions{}); err != nil {
		t.Fatalf("registering the injector: %v", err)
	}
	t.Cleanup(func() {
		if err := hooks.Delete(context.Background(), e.ns, metav1.DeleteOptions{}); err != nil {
			t.Errorf("removing the injector: %v", err)
		}
	})
	e.annotateNamespace(nil, map[string]string{injector.NamespaceLabel: e.ns})
	return e
}

// injects waits until the API server asks the webhook.
func (e *env) injects() {
	e.Helper()
	e.eventually("the webhook to be in force", func() error {
		pod := e.create(annotated("probe", nil))
		zero := int64(0)
		if err := cluster.client.CoreV1().Pods(e.ns).Delete(e.Context(), "probe", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			return err
		}
		if pod.Labels["linkerd.io/control-plane-ns"] == "" {
			return errorf("the pod was not injected")
		}
		return nil
	})
}

func (e *env) annotateNamespace(annotations, labels map[string]string) {
	e.Helper()
	ns, err := cluster.client.CoreV1().Namespaces().Get(e.Context(), e.ns, metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	if ns.Annotations == nil {
		ns.Annotations = map[string]string{}
	}
	for k, v := range annotations {
		ns.Annotations[k] = v
	}
	for k, v := range labels {
		ns.Labels[k] = v
	}
	if _, err := cluster.client.CoreV1().Namespaces().Update(e.Context(), ns, metav1.UpdateOptions{}); err != nil {
		e.Fatal(err)
	}
}

// annotated is a pod that wants to be injected.
func annotated(name string, annotations map[string]string) *corev1.Pod {
	return proxyPod(name, nil, func(p *corev1.Pod) {
		p.Annotations = map[string]string{"linkerd.io/inject": "enabled"}
		for k, v := range annotations {
			p.Annotations[k] = v
		}
		p.Labels = map[string]string{"app": name}
	})
}

// What the annotations ask for is what the process has, and the row says ok.
// What was asked for after the pod was made is not in force, and the row says so.
func TestAskedAgainstInForce(t *testing.T) {
	e := newInjectedEnv(t)
	const backlog = `[{"name":"LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG","value":"16"}]`
	e.injects()
	e.create(annotated("plain", nil))
	e.create(annotated("asked", map[string]string{
		"config.linkerd.io/proxy-cpu-limit": "1500m", "config.linkerd.io/proxy-additional-env": backlog,
	}))
	e.create(annotated("later", nil))
	e.running("plain", "asked", "later")
	if _, err := cluster.client.CoreV1().Pods(e.ns).Patch(t.Context(), "later", "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"config.linkerd.io/proxy-cpu-limit":"2"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	cpus := e.nodeCPUs()
	pods := e.getJSON()
	for name, want := range map[string]struct {
		asked, inForce, inbound, outbound int64
		state                             model.State
	}{
		"plain": {1, 1, 128, 128, model.StateOK},
		"asked": {min(2, cpus), min(2, cpus), 16, 128, model.StateOK},
		"later": {min(2, cpus), 1, 128, 128, model.StateDrift},
	} {
		p := pods[name]
		knob := knobNamed(p, "workers")
		if knob.Asked != model.Known(want.asked) || knob.InForce != model.Known(want.inForce) {
			t.Errorf("%s: workers asked %+v, in force %+v, want %d and %d", name, knob.Asked, knob.InForce, want.asked, want.inForce)
		}
		if l := e.listener(p, 4143).Worst().Limit; l != model.Known(want.inbound) {
			t.Errorf("%s: inbound backlog %+v, want %d", name, l, want.inbound)
		}
		if l := e.listener(p, 4140).Worst().Limit; l != model.Known(want.outbound) {
			t.Errorf("%s: outbound backlog %+v, want %d", name, l, want.outbound)
		}
		if cpus < 2 && name == "later" {
			continue // one CPU: nothing differs
		}
		if state, why := p.Condition(); state != want.state {
			t.Errorf("%s is %s (%s), want %s", name, state, why, want.state)
		}
	}
	if why := knobNamed(pods["later"], "workers").Why; !strings.Contains(why, "restart") {
		t.Errorf("the difference is not explained: %q", why)
	}
}

func knobNamed(p item, name string) model.Knob {
	for _, k := range p.Knobs {
		if k.Name == name {
			return k
		}
	}
	return model.Knob{}
}

func (e *env) nodeCPUs() int64 {
	e.Helper()
	nodes, err := cluster.client.CoreV1().Nodes().List(e.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		e.Fatalf("listing nodes: %v", err)
	}
	return nodes.Items[0].Status.Capacity.Cpu().Value()
}
