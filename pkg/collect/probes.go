package collect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Probes are the probes of a pod, those that have ended too, in the order in
// which they were added. It asks nobody.
func Probes(pod *corev1.Pod) []model.ProbeInfo {
	var probes []model.ProbeInfo
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; probeIndex(c.Name) > 0 {
			probes = append(probes, probeInfo(pod, c))
		}
	}
	slices.SortStableFunc(probes, func(a, b model.ProbeInfo) int {
		return cmp.Compare(probeIndex(a.Name), probeIndex(b.Name))
	})
	return probes
}

func probeInfo(pod *corev1.Pod, c *corev1.EphemeralContainer) model.ProbeInfo {
	p := model.ProbeInfo{
		Name: c.Name,
		Pod: model.Meta{
			Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), Created: pod.CreationTimestamp.UTC(),
		},
		Node: pod.Spec.NodeName, Image: c.Image, Target: c.TargetContainerName,
		By: setting(c, envBy), Reason: setting(c, envReason),
	}
	stage, message := ProbeState(pod, c.Name)
	p.Message = message
	switch stage {
	case model.StageWaiting:
		p.State = model.ProbeRunning
	case model.StageEnded, model.StageGone:
		p.State = model.ProbeEnded
	case model.StageFailed:
		p.State = model.ProbeFailed
	default:
		p.State = model.ProbeStarting
	}
	s := probeStatus(pod, c.Name)
	switch {
	case s == nil:
	case s.State.Running != nil:
		p.Started = s.State.Running.StartedAt.UTC()
		if ttl := lifetime(c); ttl > 0 && p.State == model.ProbeRunning && !p.Started.IsZero() {
			p.Until = p.Started.Add(ttl)
		}
	case s.State.Terminated != nil:
		p.Started, p.Ended = s.State.Terminated.StartedAt.UTC(), s.State.Terminated.FinishedAt.UTC()
	}
	return p
}

// ProbedPods lists the pods that have probes, page by page: a cluster has many
// pods, and few of them. namespace "" means all.
func ProbedPods(ctx context.Context, client kubernetes.Interface, namespace, labels string) ([]*corev1.Pod, error) {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.CoreV1().Pods(namespace).List(ctx, options)
	})
	var pods []*corev1.Pod
	err := pages.EachListItemWithAlloc(ctx, metav1.ListOptions{LabelSelector: labels}, func(object runtime.Object) error {
		if pod, ok := object.(*corev1.Pod); ok && len(Probes(pod)) > 0 {
			pods = append(pods, pod)
		}
		return nil
	})
	return pods, err
}

// setting is what Container wrote into the environment. It may be anything by
// now: whoever may add an ephemeral container may call it a probe.
func setting(c *corev1.EphemeralContainer, name string) string {
	for i := range c.Env {
		if c.Env[i].Name == name {
			return strings.ReplaceAll(c.Env[i].Value, "$$", "$")
		}
	}
	return ""
}

// lifetime is the TTL that a probe was given; 0 when it has none.
func lifetime(c *corev1.EphemeralContainer) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Second)
	seconds, err := strconv.ParseInt(setting(c, envTTL), 10, 64)
	if err != nil || seconds <= 0 || seconds > most {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
