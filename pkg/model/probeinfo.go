package model

import "time"

// ProbeState says how a probe is, in a word.
type ProbeState string

// The states of a probe. A starting one waits for its image or its container.
const (
	ProbeStarting ProbeState = "starting"
	ProbeRunning  ProbeState = "running"
	ProbeEnded    ProbeState = "ended"
	ProbeFailed   ProbeState = "failed"
)

// ProbeInfo is a probe as it stands in its pod: who added it, when and why, and
// until when it runs. Its entry stays in the pod when it has ended.
type ProbeInfo struct {
	// Name is the ephemeral container's.
	Name string `json:"name"`
	Pod  Meta   `json:"pod"`
	Node string `json:"node,omitempty"`

	State ProbeState `json:"state"`
	// Message explains a state, in the kubelet's own words where it has any.
	Message string `json:"message,omitempty"`

	// By is who added it, as the API server knew them, and Reason why; empty where
	// that was not kept with it.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`

	// Started and Ended are when its process did, by the node's clock. Until is
	// when a running one ends by itself; zero when it does not, or has ended.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Until   time.Time `json:"until,omitzero"`

	Image string `json:"image,omitempty"`
	// Target is the container whose processes it sees; empty for none.
	Target string `json:"target,omitempty"`
}
