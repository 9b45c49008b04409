package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// Pods with one worker on a big node, with a setting that is ignored, and with one
// that the proxy of their release does not know are found, and none of them gets a
// probe for it.
func TestAudit(t *testing.T) {
	e := newEnv(t, nil)
	big := e.nodeCPUs() >= 4 // then the others' single worker is a finding too
	ghost := e.ghostNode(nil)
	nodes := cluster.client.CoreV1().Nodes()
	// The cluster's own controllers write to a new node as well.
	e.eventually("the node to have eight CPUs", func() error {
		n, err := nodes.Get(t.Context(), ghost, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
		_, err = nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{})
		return err
	})
	e.ghostPod(ghost, "one-worker", func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, proxyContainer(map[string]string{"LINKERD2_PROXY_CORES_MIN": "1"}))
	})
	e.create(proxyPod("ignored", map[string]string{"LINKERD2_PROXY_CORES_MAX": "1500m", inboundBacklog: "512"}))
	e.create(proxyPod("too-old", map[string]string{"LINKERD2_PROXY_CORES": "1", inboundBacklog: "512"}, func(p *corev1.Pod) {
		p.Annotations = map[string]string{"linkerd.io/proxy-version": "stable-2.14.1"}
	}))
	e.create(proxyPod("fine", map[string]string{"LINKERD2_PROXY_CORES_MIN": "1", inboundBacklog: "512"}))
	e.running("ignored", "too-old", "fine")

	r := e.backlog("audit", "-o", "json", "--fail-on=warning")
	if r.code != 2 {
		t.Errorf("exit code %d, want 2", r.code)
	}
	var list struct{ Items []plan.Exposure }
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string][]plan.FindingKind{}
	for _, x := range list.Items {
		for _, f := range x.Findings {
			found[x.Names[0]] = append(found[x.Names[0]], f.Kind)
		}
	}
	for name, want := range map[string][]plan.FindingKind{
		"one-worker": {plan.FindOneWorker, plan.FindDefaultBacklog}, "ignored": {plan.FindIgnored}, "too-old": {plan.FindIgnored}, "fine": nil,
	} {
		if big && name != "one-worker" {
			want = append(want, plan.FindOneWorker)
		}
		if got := found[name]; len(got) != len(want) || len(want) > 0 && got[0] != want[0] {
			t.Errorf("%s: found %v, want %v", name, got, want)
		}
	}
	if r := e.backlog("audit", "pod/fine"); !big && (r.code != 0 || r.stdout != "" || !strings.HasPrefix(r.stderr, "Nothing found in 1 pod")) {
		t.Errorf("exit code %d", r.code)
	}
	for _, name := range []string{"one-worker", "ignored", "too-old", "fine"} {
		if added := e.get(name).Spec.EphemeralContainers; len(added) > 0 {
			t.Errorf("%s got %d ephemeral containers", name, len(added))
		}
	}
}
