package model

import "time"

// Snapshot holds all pods of one tick.
type Snapshot struct {
	// Seq counts ticks from 1. Time is when the tick was gathered, in UTC.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Pods []Pod     `json:"items"`
	// Notes concern the whole run, newest last: a rung that was refused, an API
	// server that does not answer.
	Notes []string `json:"notes,omitempty"`
	// Problems are what was asked for and could not be looked at: a name that
	// means no pod.
	Problems []string `json:"problems,omitempty"`
}

// Meta names a pod as Kubernetes does.
type Meta struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	UID       string    `json:"uid,omitempty"`
	Created   time.Time `json:"creationTimestamp,omitzero"`
}

// Workload is what owns the pod, as far as its name tells: "Deployment/server".
type Workload struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Pod is everything known of one pod in one tick.
type Pod struct {
	Meta        Meta     `json:"metadata"`
	Node        string   `json:"node,omitempty"`
	Workload    Workload `json:"workload,omitzero"`
	Phase       string   `json:"phase,omitempty"`
	Ready       bool     `json:"ready"`
	HostNetwork bool     `json:"hostNetwork,omitempty"`
	Proxy       Proxy    `json:"proxy,omitzero"`

	Collection Collection `json:"collection"`
	Sample     Sample     `json:"sample"`

	// Sockets is how many listening sockets there are in the pod: 0 when nothing
	// listens, unknown when they could not be read.
	Sockets   Value[int64] `json:"listeningSockets"`
	Listeners []Listener   `json:"listeners"`
	Counters  Counters     `json:"counters"`
	Window    Window       `json:"window"`
	Runtime   Runtime      `json:"runtime"`
	// Process is what the threads of the target container do.
	Process Process `json:"process"`
	Knobs   []Knob  `json:"knobs,omitempty"`
	// Earlier are the samples since the snapshot before, oldest first, without the
	// newest, which is this pod's: where frames come faster than snapshots, or a
	// probe's log told of the time before. Only Sample, Listeners, Counters,
	// Process and Raw are set.
	Earlier []Pod `json:"-"`
	// Verdicts on the pod's history up to this tick, worst first; empty where
	// nobody judged.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Manifest is what the pod was made from, as that is now. It may hold what is
	// nobody's business, so it is never printed as a whole.
	Manifest Manifest `json:"-"`

	// Raw is what the newest frame and the newest page of metrics said, word for word:
	// for recordings and for whoever doubts a figure. It is not kept in any history.
	Raw []RawText `json:"-"`

	// Notes are about this pod: what was refused, what a figure does not mean.
	Notes []string `json:"notes,omitempty"`
}

// Key identifies a pod across ticks: its UID, or its name where it has none.
func (p Pod) Key() string {
	if p.Meta.UID != "" {
		return p.Meta.UID
	}
	return p.Meta.Namespace + "/" + p.Meta.Name
}

// Proxy is what terminates the pod's connections.
type Proxy struct {
	// Adapter is the plugin that recognised it: "linkerd"; empty for none.
	Adapter   string        `json:"adapter,omitempty"`
	Container string        `json:"container,omitempty"`
	Version   Value[string] `json:"version"`
	// Sidecar says that it stands in front of the app's own server; otherwise it is
	// the server itself.
	Sidecar bool `json:"sidecar,omitempty"`
	// CPULimit of its container in cores; unknown where it has none.
	CPULimit Value[float64] `json:"cpuLimit"`
	// Env holds variables of the running process by name, only those that decide on
	// a knob and that the pod's spec does not resolve.
	Env map[string]Value[string] `json:"-"`
	// Image of its container, as the spec names it.
	Image string `json:"image,omitempty"`
}

// Rung is a way of collecting.
type Rung string

// The rungs of the collecting ladder.
const (
	ViaProbe   Rung = "probe"
	ViaMetrics Rung = "metrics" // the proxy's own metrics alone: no queue
	ViaExec    Rung = "exec"    // a shell in one of the pod's own containers
	ViaLocal   Rung = "local"
)

// Stage says how far collecting has come for a pod.
type Stage string

// The stages, in the order in which a pod passes them.
const (
	StageAsking   Stage = "asking"   // the API server was asked for a probe
	StagePulling  Stage = "pulling"  // the kubelet pulls the image
	StageStarting Stage = "starting" // the container starts
	StageWaiting  Stage = "waiting"  // it runs, no complete frame yet
	StageOK       Stage = "ok"       // frames arrive
	StageStale    Stage = "stale"    // frames have stopped arriving
	StageFailed   Stage = "failed"   // it cannot work; Message says why
	StageEnded    Stage = "ended"    // the probe's time is over
	StageGone     Stage = "gone"     // the pod was deleted or finished
)

// Collection says how a pod's figures come about, and what went wrong.
type Collection struct {
	Via   Rung  `json:"via"`
	Stage Stage `json:"stage"`
	// Message explains a stage, in the words of the kubelet or API server where
	// they have any.
	Message string `json:"message,omitempty"`
	// Probe is the ephemeral container's name.
	Probe string `json:"probe,omitempty"`
	// Until is when the probe ends by itself, as far as is known; zero otherwise.
	Until time.Time `json:"until,omitzero"`
	// By is who started the probe and Reason why, where it was kept with it.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Metrics says why the proxy's metrics are missing; empty when they are not.
	Metrics string `json:"metricsProblem,omitempty"`
	// Rights are those that the user lacks and would need for more.
	Rights []Right `json:"missingRights,omitempty"`
}

// Right is what a Role grants: a verb on a resource in a namespace.
type Right struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"` // "pods/ephemeralcontainers"
	Namespace string `json:"namespace"`
}

// Sample identifies the frame that a pod's queue figures come from.
type Sample struct {
	Seq uint64 `json:"seq"`
	// Uptime is the pod's own clock in seconds (/proc/uptime of its node).
	Uptime Value[float64] `json:"uptime"`
	// Arrived is when the frame reached this process: for its age only.
	Arrived time.Time `json:"arrived,omitzero"`
	// Sandbox changes whenever counters may have started afresh.
	Sandbox string `json:"-"`
}
