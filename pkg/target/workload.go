package target

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Workload tells what owns the pod, from the pod alone: its controller, or what
// the controller's name gives away one level up. A ReplicaSet named after a
// pod-template-hash belongs to a Deployment (or to an Argo Rollout, which has a
// label of its own), a Job named after the minute of its schedule to a CronJob.
// It is the zero Workload for a pod that nothing controls.
func Workload(pod *corev1.Pod) model.Workload {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return model.Workload{}
	}
	switch controller.Kind {
	case "ReplicaSet":
		if name, ok := withoutHash(controller.Name, pod.Labels["pod-template-hash"]); ok {
			return model.Workload{Kind: "Deployment", Name: name}
		}
		if name, ok := withoutHash(controller.Name, pod.Labels["rollouts-pod-template-hash"]); ok {
			return model.Workload{Kind: "Rollout", Name: name}
		}
	case "Job":
		if name, ok := withoutSchedule(controller.Name, pod.CreationTimestamp.Time); ok {
			return model.Workload{Kind: "CronJob", Name: name}
		}
	}
	return model.Workload{Kind: controller.Kind, Name: controller.Name}
}

func withoutHash(name, hash string) (string, bool) {
	if hash == "" {
		return "", false
	}
	owner, ok := strings.CutSuffix(name, "-"+hash)
	return owner, ok && owner != ""
}

// latestRetry is how long after its scheduled minute a Job of a CronJob may
// still make pods and be taken for one. It keeps a Job with a date in its name
// ("migrate-20260101") from passing for a CronJob's: read as minutes since
// 1970, such a date lies decades away from the pod.
const latestRetry = 30 * 24 * time.Hour

// withoutSchedule takes the scheduled minute off the name that the CronJob
// controller gave a Job: NAME-UNIXMINUTES, eight digits until the year 2160.
func withoutSchedule(job string, podCreated time.Time) (string, bool) {
	dash := strings.LastIndexByte(job, '-')
	if dash <= 0 || len(job)-dash-1 != 8 {
		return "", false
	}
	minutes, err := strconv.ParseUint(job[dash+1:], 10, 32)
	if err != nil {
		return "", false
	}
	age := podCreated.Sub(time.Unix(int64(minutes)*60, 0))
	if podCreated.IsZero() || age > -time.Hour && age < latestRetry {
		return job[:dash], true
	}
	return "", false
}
