package collect

import corev1 "k8s.io/api/core/v1"

// Living says whether the pod has a probe that Ensure would take again for this
// spec, so that looking at the pod adds nothing to it.
func Living(pod *corev1.Pod, spec ProbeSpec) bool {
	_, ok := reusable(pod, spec)
	return ok
}

// Running says whether such a probe runs already, as far as the pod tells.
func Running(pod *corev1.Pod, spec ProbeSpec) bool {
	probe, ok := reusable(pod, spec)
	return ok && !probe.Started.IsZero()
}
