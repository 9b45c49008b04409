package linkerd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Knobs works out the workers and the backlogs of the inbound, outbound and
// admin listeners: what annotations and environment lead to, beside what live
// shows. Where an annotation asks for something that the environment does not
// hold, the annotation is what somebody wanted, so it is what counts as asked:
// that of the pod template before that of the namespace, and the pod's own where
// these are not known.
//
// nodeCPUs are the CPUs of the pod's node; where they are unknown, only a ratio
// makes the asked-for workers unknown too.
func (a Adapter) Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob {
	container := proxyContainer(pod)
	if container == nil {
		return nil
	}
	c := configure(pod, container, live)
	knobs := []model.Knob{c.workers(nodeCPUs, live)}
	roles := a.Roles(pod)
	for _, b := range backlogs() {
		knobs = append(knobs, c.backlog(b, roles, live))
	}
	return knobs
}

// reasons collects explanations in the order in which they were found.
type reasons []string

func (r *reasons) add(words string) {
	if words != "" {
		*r = append(*r, words)
	}
}

func (r reasons) String() string { return strings.Join(r, "; ") }
