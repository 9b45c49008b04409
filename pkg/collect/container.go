package collect

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NamePrefix begins the name of every probe, so that an auditor can tell them
// from other ephemeral containers. A number from 1 follows.
const NamePrefix = "backlog-probe-"

// nobody is the user and group of a probe that shares nothing with a container
// of the pod: sockets and counters need no privilege at all.
const nobody int64 = 65534

// ProbeSpec says what to run in a pod.
type ProbeSpec struct {
	// Image must have sh, cat and sleep, and should have ss and nstat.
	Image string
	// PullPolicy is IfNotPresent when empty.
	PullPolicy corev1.PullPolicy
	// TTL is when the probe ends by itself, rounded up to a second; 0: never.
	TTL time.Duration
	// Target is the container whose process namespace is shared, so that its
	// threads are visible. Empty: none.
	Target string
	// Loose makes the target a preference: a living probe with another target, or
	// none, is taken before one is added.
	Loose bool
	// Ended is a probe that is known to have ended, whatever the pod that Ensure
	// is given still says of it: it is not taken again.
	Ended string
	// Reason is written into the container for whoever audits the pod.
	Reason string
	// By is who adds it, written into the container like Reason.
	By string
}

// Container gives the ephemeral container for a pod. It satisfies Pod Security
// "restricted". It is the same for the same arguments, always: a PATCH with an
// identical container changes nothing, so that two people who start at the same
// time share one probe.
func Container(pod *corev1.Pod, index int, spec ProbeSpec) corev1.EphemeralContainer {
	yes, no := true, false
	user, group := identity(pod, spec.Target)
	policy := spec.PullPolicy
	if policy == "" {
		policy = corev1.PullIfNotPresent
	}
	env := append([]corev1.EnvVar{{Name: envTTL, Value: ttlSeconds(spec.TTL)}}, targetEnv(pod, spec.Target)...)
	for _, text := range []corev1.EnvVar{{Name: envReason, Value: spec.Reason}, {Name: envBy, Value: spec.By}} {
		if text.Value != "" {
			// The kubelet would expand $(NAME).
			text.Value = strings.ReplaceAll(text.Value, "$", "$$")
			env = append(env, text)
		}
	}
	return corev1.EphemeralContainer{
		TargetContainerName: spec.Target,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name:            NamePrefix + strconv.Itoa(index),
			Image:           spec.Image,
			ImagePullPolicy: policy,
			Command:         []string{"sh", "-c", samplerScript, "backlog-probe"},
			Env:             env,
			SecurityContext: &corev1.SecurityContext{
				RunAsNonRoot:             &yes,
				RunAsUser:                &user,
				RunAsGroup:               &group,
				Privileged:               &no,
				AllowPrivilegeEscalation: &no,
				ReadOnlyRootFilesystem:   &yes,
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// targetEnv tells the sampler whose threads to show. In the target's own
// namespace its first process is process 1. In one that the whole pod shares
// that is the pod's pause, and the container's ID, which its cgroup's path
// holds, finds the process; it is another one after a restart.
func targetEnv(pod *corev1.Pod, target string) []corev1.EnvVar {
	if target == "" || pod == nil {
		return nil
	}
	env := []corev1.EnvVar{{Name: envContainer, Value: target}}
	if shared := pod.Spec.ShareProcessNamespace; shared == nil || !*shared {
		return append(env, corev1.EnvVar{Name: envTarget, Value: "1"})
	}
	s := ContainerStatus(pod, target)
	if s == nil {
		return env
	}
	_, id, _ := strings.Cut(s.ContainerID, "://")
	if len(id) < 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return env
	}
	return append(env, corev1.EnvVar{Name: envContainerID, Value: id})
}

// ContainerStatus is the status of a container, those that run before or beside
// the others included; nil when the kubelet has not told of it.
func ContainerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// maxTargetRestarts is how often a container may have restarted to be a target
// by default: the probe ends with its target.
const maxTargetRestarts = 2

// DefaultTarget is the container whose threads are worth showing when none was
// named: the first one that is not the proxy, which has its own metrics, and
// that runs and has not restarted more than twice. It is empty when there is
// none.
func DefaultTarget(pod *corev1.Pod, proxyContainer string) string {
	for i := range pod.Spec.Containers {
		name := pod.Spec.Containers[i].Name
		if name == proxyContainer {
			continue
		}
		if s := ContainerStatus(pod, name); s != nil && s.State.Running != nil && s.RestartCount <= maxTargetRestarts {
			return name
		}
	}
	return ""
}

// identity is the target's own user and group where the spec names both and
// neither is root. The kernel shows where a thread sleeps only to its own user
// and group; with one of the two alone it silently says "0", so that half an
// identity is worth no more than none.
func identity(pod *corev1.Pod, target string) (user, group int64) {
	if target == "" || pod == nil {
		return nobody, nobody
	}
	var u, g *int64
	if p := pod.Spec.SecurityContext; p != nil {
		u, g = p.RunAsUser, p.RunAsGroup
	}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if s := list[i].SecurityContext; list[i].Name == target && s != nil {
				if s.RunAsUser != nil {
					u = s.RunAsUser
				}
				if s.RunAsGroup != nil {
					g = s.RunAsGroup
				}
			}
		}
	}
	if u == nil || g == nil || *u == 0 || *g == 0 {
		return nobody, nobody
	}
	return *u, *g
}

// probeIndex is the number in a probe's name, 0 for any other container.
func probeIndex(name string) int {
	rest, ok := strings.CutPrefix(name, NamePrefix)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || strconv.Itoa(n) != rest {
		return 0
	}
	return n
}
