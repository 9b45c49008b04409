package cmd

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
)

// admission decides which pods may get a new probe in this run. An entry in a
// pod's list of containers stays until the pod goes, so that each is a decision
// of somebody, and pods that come later count against the same limit.
type admission struct {
	// none refuses every new probe, with the reason; nil does not.
	none error
	// chosen are the pods that the user picked when there were too many; nil is all.
	chosen map[types.UID]bool
	// limit is how many pods may have a new probe at the same time.
	limit int
	// present gives the pods that there are now.
	present func() []*corev1.Pod

	mu    sync.Mutex
	added map[types.UID]bool
}

// allow is nil when a probe may be added to the pod.
func (a *admission) allow(_ context.Context, pod *corev1.Pod) error {
	if a.none != nil {
		return a.none
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.added[pod.UID] {
		return nil
	}
	if a.chosen != nil && !a.chosen[pod.UID] {
		return fmt.Errorf("no probe was added: it is not one of the %d pods that were chosen", len(a.chosen))
	}
	alive := 0
	for _, p := range a.present() {
		if a.added[p.UID] {
			alive++
		}
	}
	if alive >= a.limit {
		return fmt.Errorf("no probe was added: %d pods have one of this run already (--max-pods)", alive)
	}
	if a.added == nil {
		a.added = map[types.UID]bool{}
	}
	a.added[pod.UID] = true
	return nil
}

// needing are the pods to which a probe would have to be added, the others have
// one that lives, or can have none.
func needing(pods []*corev1.Pod, spec func(*corev1.Pod) collect.ProbeSpec) []*corev1.Pod {
	var need []*corev1.Pod
	for _, pod := range pods {
		if !pod.Spec.HostNetwork && collect.Possible(pod) == nil && !collect.Living(pod, spec(pod)) {
			need = append(need, pod)
		}
	}
	return need
}

// onePerNode are the first pods of each node.
func onePerNode(pods []*corev1.Pod) []*corev1.Pod {
	seen := map[string]bool{}
	var some []*corev1.Pod
	for _, pod := range pods {
		if !seen[pod.Spec.NodeName] {
			seen[pod.Spec.NodeName] = true
			some = append(some, pod)
		}
	}
	return some
}

func uids(pods []*corev1.Pod) map[types.UID]bool {
	m := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		m[pod.UID] = true
	}
	return m
}
