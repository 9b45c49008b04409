package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// clientPod has a shell from which the test calls other pods.
func clientPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr(int64(1)),
			Containers:                    []corev1.Container{sleeper("load", loadImage)},
		},
	}
}

// call opens n connections from a pod to an address and holds them, sending
// nothing, for half a minute.
func (e *env) call(pod, address string, port, n int) {
	e.Helper()
	e.background(pod, "load", "sh", "-c",
		fmt.Sprintf("for i in $(seq %d); do sleep 30 | nc %s %d & done; wait", n, address, port))
}

// A server that never accepts, and clients in other pods that wait: who they are,
// how many, since when, and that nothing leaves the queue. Beside it a server
// that accepts, of which nothing of that kind is told.
func TestWhoWaitsInAStuckQueue(t *testing.T) {
	e := newEnv(t, nil)
	e.create(serverPod("stuck", []string{"-listen", "0.0.0.0:8080/16", "-never-accept"}))
	e.create(serverPod("fine", []string{"-listen", "0.0.0.0:8080/16", "-hold"}))
	e.create(clientPod("a"))
	e.create(clientPod("b"))
	e.running("stuck", "fine", "a", "b")
	for pod, n := range map[string]int{"a": 3, "b": 2} {
		for _, server := range []string{"stuck", "fine"} {
			e.call(pod, e.get(server).Status.PodIP, 8080, n)
		}
	}
	e.eventually("five connections to wait", func() error {
		if d := e.read("stuck").depth[8080]; d != 5 {
			return fmt.Errorf("ss says %d", d)
		}
		return nil
	})

	// The sampler asks every five seconds: seven hold two answers.
	pods := e.getJSON("stuck", "fine", "--window", "7s")
	if w := e.listener(pods["fine"], 8080).Waiting; w != nil {
		t.Errorf("at the server that accepts wait %+v", w)
	}
	first := e.listener(pods["stuck"], 8080).Waiting
	if first == nil {
		t.Fatal("nobody waits at the server that does not accept")
	}
	if first.Total() != 5 || len(first.Connections) != 5 || first.Omitted != 0 {
		t.Errorf("%d wait and %d are told, want 5", first.Total(), len(first.Connections))
	}
	want := fmt.Sprintf("%s 3, %s 2", e.get("a").Status.PodIP, e.get("b").Status.PodIP)
	var got []string
	for _, c := range first.Callers {
		got = append(got, fmt.Sprintf("%s %d", c.Address, c.Connections))
	}
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("callers %s, want %s", got, want)
	}
	if first.Stuck != model.Known[int64](5) || first.StandsStill().Or(0) < 4 {
		t.Errorf("stuck %+v, stands still %+v", first.Stuck, first.StandsStill())
	}

	e.eventually("a newer answer", func() error {
		w := e.listener(e.getJSON("stuck", "--window", "1s")["stuck"], 8080).Waiting
		switch {
		case w == nil || w.Uptime.Or(0) <= first.Uptime.Or(0):
			return fmt.Errorf("waiting is still %+v", w)
		case w.Stuck != model.Known[int64](5):
			t.Errorf("stuck %+v", w.Stuck)
		}
		// The kernel's figure grows with the clock of the pod.
		grown, passed := w.Oldest().Or(0)-first.Oldest().Or(0), w.Uptime.Or(0)-first.Uptime.Or(0)
		if grown < passed-1 || grown > passed+1 {
			t.Errorf("the oldest waited %.1f s, then %.1f s; %.1f s passed", first.Oldest().Or(-1), w.Oldest().Or(-1), passed)
		}
		return nil
	})
}
