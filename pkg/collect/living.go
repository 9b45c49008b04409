package collect

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// podNow gets the pod as it is now. It is a *GoneError when it is not there any
// more, or another one of its name is. One that has finished is given.
func podNow(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (*corev1.Pod, error) {
	name := pod.Namespace + "/" + pod.Name
	fresh, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, &GoneError{Pod: name, Why: "was deleted"}
	case err != nil:
		return nil, err
	case pod.UID != "" && fresh.UID != pod.UID:
		return nil, &GoneError{Pod: name, Why: "was replaced by another of the same name"}
	}
	return fresh, nil
}

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
