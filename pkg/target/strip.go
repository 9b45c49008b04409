package target

import (
	corev1 "k8s.io/api/core/v1"
)

// strip takes out of a pod what nobody reads, so that thousands of pods fit: a
// third to a half of a pod's bytes are managedFields alone. What stays is what
// decides how a proxy runs (containers, env, ports, resources, security
// context, annotations) and how the pod is (status). A stripped pod must never
// be written back.
func strip(pod *corev1.Pod) {
	pod.ManagedFields = nil
	delete(pod.Annotations, corev1.LastAppliedConfigAnnotation)
	spec := &pod.Spec
	spec.Volumes = nil
	spec.Affinity = nil
	spec.Tolerations = nil
	spec.TopologySpreadConstraints = nil
	spec.ImagePullSecrets = nil
	spec.SchedulingGates = nil
	spec.ReadinessGates = nil
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			c.VolumeMounts, c.VolumeDevices = nil, nil
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
			c.Lifecycle = nil
		}
	}
	for i := range spec.EphemeralContainers {
		spec.EphemeralContainers[i].VolumeMounts = nil
	}
}
