package collect

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestProbeState(t *testing.T) {
	waiting := func(reason, message string) *corev1.ContainerState {
		return &corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	exited := func(code int32, reason, message string) *corev1.ContainerState {
		return &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	tests := map[string]struct {
		phase   corev1.PodPhase
		added   bool
		state   *corev1.ContainerState
		stage   model.Stage
		message string
	}{
		"not added":        {stage: model.StageAsking},
		"just added":       {added: true, stage: model.StageStarting},
		"a status of none": {added: true, state: &corev1.ContainerState{}, stage: model.StageStarting},
		"creating":         {added: true, state: waiting("ContainerCreating", ""), stage: model.StageStarting},
		"running":          {added: true, state: &corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, stage: model.StageWaiting},
		"no such image": {
			added: true, state: waiting("ErrImagePull", "pulling nope: not found\n"),
			stage: model.StageFailed, message: "ErrImagePull: pulling nope: not found",
		},
		"a root image": {
			added: true, state: waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
			stage: model.StageFailed, message: "CreateContainerConfigError: container has runAsNonRoot and image will run as root",
		},
		"a bare reason": {added: true, state: waiting("InvalidImageName", ""), stage: model.StageFailed, message: "InvalidImageName"},
		"its time is over": {
			added: true, state: exited(0, "Completed", ""),
			stage: model.StageEnded, message: "it ended (exit code 0)",
		},
		"its target restarted": {
			added: true, state: exited(137, "Error", ""),
			stage: model.StageEnded, message: "killed (exit code 137), as when its target container restarts",
		},
		"stopped": {added: true, state: exited(143, "Error", ""), stage: model.StageEnded, message: "stopped (exit code 143)"},
		"no shell": {
			added: true, state: exited(128, "StartError", `exec: "sh": executable file not found in $PATH`),
			stage: model.StageFailed, message: `exit code 128, StartError: exec: "sh": executable file not found in $PATH`,
		},
		"the pod has finished": {
			phase: corev1.PodSucceeded, added: true, state: exited(137, "Error", ""),
			stage: model.StageGone, message: "the pod has finished (Succeeded)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podWith(nil, nil)
			if tt.phase != "" {
				pod.Status.Phase = tt.phase
			}
			if tt.added {
				addProbe(pod, "backlog-probe-1", ProbeSpec{}, tt.state)
			}
			stage, message := ProbeState(pod, "backlog-probe-1")
			if stage != tt.stage || message != tt.message {
				t.Errorf("%s %q, want %s %q", stage, message, tt.stage, tt.message)
			}
		})
	}
}

// addProbe puts a probe into a pod by hand; without a state the kubelet has not
// seen it.
func addProbe(pod *corev1.Pod, name string, spec ProbeSpec, state *corev1.ContainerState) {
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName:      spec.Target,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: spec.Image},
	})
	if state != nil {
		pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses,
			corev1.ContainerStatus{Name: name, State: *state})
	}
}
