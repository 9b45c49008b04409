package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// What would follow is said by node, from bursts that are real, and the API server
// takes the change that is printed, while nothing is changed.
func TestPlan(t *testing.T) {
	e := newEnv(t, nil)
	pod := loaded("planned", burstyEnv(), map[string]string{
		"config.linkerd.io/proxy-additional-env": `[{"name":"FOO","value":"kept"}]`,
	}, "burst -addr 127.0.0.1:4143 -n 150 -every 2s -for 600s -timeout 900ms")
	pod.Labels["linkerd.io/control-plane-ns"] = "linkerd"
	pod.Annotations = map[string]string{"config.linkerd.io/proxy-additional-env": `[{"name":"FOO","value":"kept"}]`}
	e.deployed(pod)

	r := e.backlog("plan", "deploy/planned", "--workers", "2", "--backlog", "512", "--window", "8s", "--dry-run=server", "-o", "json")
	if r.code != 0 {
		t.Fatalf("exit code %d", r.code)
	}
	var made plan.Plan
	if err := json.Unmarshal([]byte(r.stdout), &made); err != nil {
		t.Fatal(err)
	}
	cpus := e.nodeCPUs()
	found := false
	for _, k := range made.Workers {
		if k.CPUs.Or(0) != cpus || k.Pods == 0 {
			continue
		}
		found = true
		if k.Now.Or(0) != 1 || k.Planned.Or(0) != min(2, cpus) {
			t.Errorf("on %d CPUs: %v workers now, %v planned", cpus, k.Now, k.Planned)
		}
		served := made.Demand.Served.Or(0)
		if !k.Busy.IsKnown() || served <= 0 || k.BusyAtLeast.Or(0) != min(1, served/float64(min(2, cpus))) {
			t.Errorf("busy %v, at least %v, of %v workers' work", k.Busy, k.BusyAtLeast, served)
		}
	}
	if !found {
		t.Errorf("the pod's node is missing: %+v", made.Workers)
	}
	if len(made.Queues) == 0 || made.Queues[0].Port != 4143 {
		t.Fatalf("queues %+v", made.Queues)
	}
	if q := made.Queues[0]; q.Limit.Or(0) != 16 || q.Biggest.Or(0) < 20 || q.Needed.Or(0) <= 16+20 || q.InForce.Or(0) != min(512, q.Somaxconn.Or(512)) {
		t.Errorf("bursts of 150 to a backlog of 16: %+v", q)
	}
	if !strings.HasPrefix(made.Checked, "the API server takes it") || len(made.Apply) != 1 || !containsAll(made.Apply[0].Command, "--context", "-n "+e.ns, `\"FOO\"`, "512", "proxy-cpu-limit") {
		t.Errorf("checked: %q, apply %+v", made.Checked, made.Apply)
	}
	d, err := cluster.client.AppsV1().Deployments(e.ns).Get(t.Context(), "planned", metav1.GetOptions{})
	if err != nil || d.Generation != 1 {
		t.Errorf("the deployment was changed: generation %d (%v)", d.Generation, err)
	}

	// As a page, without anything wanted: what the evidence needs. The probe is there.
	r = e.backlog("plan", "deploy/planned")
	if r.code != 0 || !containsAll(r.stdout, "NEEDED, by what was seen", "ASSUMPTIONS", "in:4143") || strings.Contains(r.stdout, "DO IT") {
		t.Errorf("exit code %d", r.code)
	}
}
