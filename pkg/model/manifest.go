package model

// Manifest is what a pod was made from, as it is now: a difference to the pod takes
// effect with its next restart only.
type Manifest struct {
	// Template holds annotations of the workload's pod template, Namespace those of
	// the namespace: the ones that an adapter asked for. Unknown where they may not
	// be read.
	Template  Value[map[string]string]
	Namespace Value[map[string]string]
	// Strategy is how the workload replaces pods: "RollingUpdate", "Recreate",
	// "OnDelete"; empty when it is unknown.
	Strategy string
	// Outdated says that the template was changed after the pod was made of it. A pod
	// that is not, and still carries another annotation, got that elsewhere: from a
	// webhook, or by hand.
	Outdated Value[bool]
	// Paused says that the workload's rollout is paused: no pod is replaced.
	Paused bool
	// Replicas that are asked for.
	Replicas Value[int64]
	// Selector holds the labels by which the workload selects its pods.
	Selector map[string]string
	// Manager is the tool that would revert a change made by hand; zero when none is
	// known of.
	Manager Manager
}

// Manager is a tool that owns a workload's manifest.
type Manager struct {
	// Tool: "Helm", "Argo CD", "Flux". Name of the release, application or
	// kustomization there.
	Tool, Name string
}

// UnknownManifest is a manifest of which nothing is known, for the given reason.
func UnknownManifest(reason string) Manifest {
	return Manifest{
		Template: Unknown[map[string]string](reason), Namespace: Unknown[map[string]string](reason), Replicas: Unknown[int64](reason),
		Outdated: Unknown[bool](reason),
	}
}
