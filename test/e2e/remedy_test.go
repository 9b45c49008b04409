package e2e

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// deployed makes a Deployment of one pod that looks like the given one, and waits
// for it.
func (e *env) deployed(pod *corev1.Pod) {
	e.Helper()
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec},
		},
	}
	if _, err := cluster.client.AppsV1().Deployments(e.ns).Create(e.Context(), d, metav1.CreateOptions{}); err != nil {
		e.Fatalf("creating deployment %s: %v", pod.Name, err)
	}
	e.onePod(pod.Name)
}

// onePod waits until a Deployment has one pod, of its newest template, which
// runs.
func (e *env) onePod(name string) {
	e.Helper()
	e.eventually("one pod of "+name, func() error {
		d, err := cluster.client.AppsV1().Deployments(e.ns).Get(e.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		if pods := e.podsOf(name); s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 1 || s.AvailableReplicas != 1 || s.Replicas != 1 || len(pods) != 1 {
			return errorf("%d pods, %+v", len(pods), s)
		}
		return nil
	})
}

// follow runs a printed command as a person would: in a shell.
func (e *env) follow(line string) {
	e.Helper()
	if line == "" {
		e.Fatal("there is no command to follow")
	}
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	defer cancel()
	c := command(ctx, "sh", "-c", line)
	c.Env = append(os.Environ(), "KUBECONFIG="+cluster.kubeconfig)
	out, err := c.CombinedOutput()
	e.Logf("%s\n%s", line, out)
	if err != nil {
		e.Fatalf("the printed command fails: %v", err)
	}
}

// described is the one pod of a Deployment, with its verdicts.
func (e *env) described(name, window string) item {
	e.Helper()
	for _, p := range e.parse(e.backlog("describe", "-o", "json", "--window", window, "deployment/"+name).stdout) {
		if p.Collection.Stage != model.StageGone {
			return p
		}
	}
	e.Fatalf("nothing was printed of deployment %s", name)
	return item{}
}

// fixOf is the command of the verdict that is wanted.
func (e *env) fixOf(p item, want model.Class) model.Action {
	e.Helper()
	for _, v := range p.Verdicts {
		if v.Class == want && len(v.Fix) > 0 {
			return v.Fix[0]
		}
	}
	e.Fatalf("no %s with a remedy among %+v", want, p.Verdicts)
	return model.Action{}
}

// loaded is a pod whose container "load" makes load for as long as it runs.
func loaded(name string, env, annotations map[string]string, load string) *corev1.Pod {
	p := proxyPod(name, env, func(p *corev1.Pod) {
		p.Annotations = map[string]string{"linkerd.io/inject": "enabled"}
		for k, v := range annotations {
			p.Annotations[k] = v
		}
		p.Labels = map[string]string{"app": name}
		wantsCPU(p)
		p.Spec.Containers[1].Command = []string{"sh", "-c", "trap 'exit 0' TERM; sleep 2; while :; do " + load + " >/dev/null; done"}
	})
	return p
}

// Whoever follows the printed command gets rid of the overflow: by a deeper
// backlog where bursts come, by workers where they never rest; and plan had said
// how busy these would be.
func TestPrintedCommandsHelp(t *testing.T) {
	const backlog = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	sixteen := `{"name":"` + backlog + `","value":"16"}`
	t.Run("bursts", func(t *testing.T) {
		e := newInjectedEnv(t)
		e.deployed(loaded("bursty", map[string]string{"TOKIOPROXY_BURN_US": "1000"}, map[string]string{
			"config.linkerd.io/proxy-additional-env": `[{"name":"FOO","value":"kept"},` + sixteen + `]`,
		}, "burst -addr 127.0.0.1:4143 -n 150 -every 3s -for 600s -timeout 900ms"))
		fix := e.fixOf(e.described("bursty", "14s"), model.ClassBurst)
		e.follow(fix.Command)
		e.onePod("bursty")
		e.described("bursty", "3s") // the start is a burst of its own
		p := e.described("bursty", "14s")
		if n, ok := p.Window.Overflows.Get(); !ok || n != 0 {
			t.Errorf("%v overflows after %d as the backlog", p.Window.Overflows, fix.To.Or(0))
		}
		l := e.listener(p, 4143)
		if got := l.Worst().Limit; got != fix.To {
			t.Errorf("limit %v in force, asked for %v", got, fix.To)
		}
		pod := e.podsOf("bursty")[0]
		if got := pod.Annotations["config.linkerd.io/proxy-additional-env"]; !json.Valid([]byte(got)) || !containsAll(got, `"FOO"`, `"kept"`) {
			t.Errorf("what else was in the list is lost: %s", got)
		}
	})
	t.Run("saturated workers", func(t *testing.T) {
		e := newInjectedEnv(t)
		e.deployed(loaded("saturated", map[string]string{"TOKIOPROXY_BURN_US": "7000"}, map[string]string{
			"config.linkerd.io/proxy-additional-env": `[` + sixteen + `]`,
		}, "burst -addr 127.0.0.1:4143 -n 8 -every 50ms -for 600s -timeout 900ms"))
		p := e.described("saturated", "12s")
		fix := e.fixOf(p, model.ClassSaturated)
		predicted := e.predictedBusy("saturated", "2")
		e.follow(fix.Command)
		e.onePod("saturated")
		e.described("saturated", "4s")
		// On a machine that is short of CPU for a moment, workers are busy waiting.
		for range looks {
			p = e.described("saturated", "12s")
			busy := p.Runtime.Window.Busy.Or(0)
			t.Logf("plan said %.2f, it is %.2f; %v overflows", predicted, busy, p.Window.Overflows)
			if p.Window.Overflows == model.Known[int64](0) && math.Abs(busy-predicted) <= 0.15 {
				return
			}
		}
		t.Errorf("%v overflows with %v workers, busy %v, predicted %.2f", p.Window.Overflows, p.Runtime.Workers, p.Runtime.Window.Busy, predicted)
	})
}

func containsAll(s string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// predictedBusy is what plan says of so many workers.
func (e *env) predictedBusy(name, workers string) float64 {
	e.Helper()
	r := e.backlog("plan", "deployment/"+name, "--workers", workers, "-o", "json", "--window", "10s")
	var made struct {
		Workers []struct {
			Busy *float64 `json:"busy"`
		} `json:"workers"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &made); err != nil || len(made.Workers) == 0 || made.Workers[0].Busy == nil {
		e.Fatalf("no busy ratio in the plan: %v\n%s", err, r.stdout)
	}
	return *made.Workers[0].Busy
}
