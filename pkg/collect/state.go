package collect

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// ProbeState says how far the named probe of a pod has come, from the pod's
// status alone, and explains it in the kubelet's own words where it has any.
func ProbeState(pod *corev1.Pod, name string) (model.Stage, string) {
	if why := finished(pod); why != "" {
		return model.StageGone, "the pod " + why
	}
	status := probeStatus(pod, name)
	if status == nil {
		if !hasProbe(pod, name) {
			return model.StageAsking, ""
		}
		return model.StageStarting, ""
	}
	switch s := status.State; {
	case s.Running != nil:
		return model.StageWaiting, ""
	case s.Terminated != nil:
		return exitState(s.Terminated)
	case s.Waiting != nil:
		return waitState(s.Waiting)
	}
	return model.StageStarting, ""
}

// waitState tells "not yet" from "not like this". The kubelet says
// ContainerCreating while it pulls an image, too: that it pulls is only in the
// events, which a reader may not be allowed to see.
func waitState(w *corev1.ContainerStateWaiting) (model.Stage, string) {
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return model.StageStarting, w.Message
	case "Pulling":
		return model.StagePulling, w.Message
	}
	if w.Message == "" {
		return model.StageFailed, w.Reason
	}
	return model.StageFailed, w.Reason + ": " + strings.TrimSpace(w.Message)
}

// exitState reads an exit code. The sampler ends with 0, by its time or by
// SIGTERM; 137 and 143 are signals from outside, not a fault of the probe.
func exitState(t *corev1.ContainerStateTerminated) (model.Stage, string) {
	var message string
	stage := model.StageFailed
	switch t.ExitCode {
	case 0:
		return model.StageEnded, "it ended (exit code 0)"
	case 137:
		stage, message = model.StageEnded, "killed (exit code 137), as when its target container restarts"
	case 143:
		stage, message = model.StageEnded, "stopped (exit code 143)"
	default:
		message = fmt.Sprintf("exit code %d", t.ExitCode)
	}
	if t.Reason != "" && t.Reason != "Error" {
		message += ", " + t.Reason
	}
	if m := strings.TrimSpace(t.Message); m != "" {
		message += ": " + m
	}
	return stage, message
}

// finished says in a few words that a pod is over; empty when it is not.
func finished(pod *corev1.Pod) string {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return fmt.Sprintf("has finished (%s)", pod.Status.Phase)
	}
	return ""
}

func probeStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.EphemeralContainerStatuses {
		if s := &pod.Status.EphemeralContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

func hasProbe(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			return true
		}
	}
	return false
}
