package model

// Class names what is wrong with a queue, or that nothing is.
type Class string

// The classes of verdicts.
const (
	ClassAcceptStalled   Class = "accept-stalled"      // nothing leaves the queue
	ClassFDExhausted     Class = "fd-exhausted"        // accept fails for lack of descriptors
	ClassCPUStarved      Class = "cpu-starved"         // the workers want CPU that they do not get
	ClassSaturated       Class = "workers-saturated"   // the workers do all that they can
	ClassAcceptSlow      Class = "accept-slow"         // something in the accept path blocks
	ClassImbalance       Class = "reuseport-imbalance" // one of several equal sockets is stuck
	ClassAppBacklog      Class = "app-backlog"         // the app's listener, behind a healthy proxy
	ClassSomaxconnCap    Class = "somaxconn-cap"       // it overflows at somaxconn
	ClassFixedBacklog    Class = "fixed-backlog"       // it overflows at a default of the program
	ClassBurst           Class = "burst-overflow"      // bursts exceed the queue, workers have headroom
	ClassSynQueue        Class = "syn-queue"           // the SYN queue, not the accept queue
	ClassConfigDrift     Class = "config-drift"        // asked and in-force values differ
	ClassNotAttributable Class = "not-attributable"    // nobody is known to own the drops
	ClassUndecided       Class = "undecided"           // one of Candidates
	ClassStarting        Class = "starting"            // not ready yet
	ClassHistory         Class = "history-only"        // counters not zero, nothing happens now
	ClassTooEarly        Class = "not-enough-seen"     // too little seen for a verdict
	ClassHealthy         Class = "healthy"             // not the queue
)

// Severity of a verdict.
type Severity string

// The severities, worst first.
const (
	SeverityCritical Severity = "critical"
	SeverityWarning  Severity = "warning"
	SeverityInfo     Severity = "info"
)

// Rank orders severities, worst first.
func (s Severity) Rank() int {
	switch s {
	case SeverityCritical:
		return 0
	case SeverityWarning:
		return 1
	}
	return 2
}

// AtLeast says whether a verdict is as severe as the other or worse.
func (s Severity) AtLeast(other Severity) bool { return s.Rank() <= other.Rank() }

// MaxCandidates is how many classes an undecided verdict may name.
const MaxCandidates = 3

// Verdict is one judgement of a pod, or of one of its listeners, from a history
// of samples.
type Verdict struct {
	Class    Class    `json:"class"`
	Severity Severity `json:"severity"`
	// Sentence says it in one sentence that ends with a full stop.
	Sentence string `json:"sentence"`
	// Listener is the address that it concerns; empty when it is the whole pod.
	Listener string `json:"listener,omitempty"`
	Port     uint16 `json:"port,omitempty"`
	Role     Role   `json:"role,omitempty"`
	// Candidates are the classes that the evidence allows, of an undecided verdict.
	// Another verdict names here what it might be as well.
	Candidates []Class `json:"candidates,omitempty"`
	// Window is the time that was looked at, in seconds of the pod's own clock.
	Window Value[float64] `json:"window"`
	// Since is the pod's clock when it began to hold, as far as was seen, and Held
	// for how many seconds that is. Longer says that it held already when the first
	// sample was taken, so that Held is a lower bound. Over says that it holds no
	// more, but did within the window.
	Since  Value[float64] `json:"since"`
	Held   Value[float64] `json:"held"`
	Longer bool           `json:"longer,omitempty"`
	Over   bool           `json:"over,omitempty"`
	// Evidence are measured figures. Now can be undone and restarts nothing, Fix
	// lasts, Not is the obvious but wrong remedy.
	Evidence []Evidence `json:"evidence,omitempty"`
	Now      []Action   `json:"now,omitempty"`
	Fix      []Action   `json:"fix,omitempty"`
	Not      []Action   `json:"not,omitempty"`
	// Unknown lists what was not known, in words.
	Unknown []string `json:"unknown,omitempty"`
}

// Evidence is one measured figure.
type Evidence struct {
	// Name is what was measured, in a few words: "refused packets".
	Name string `json:"name"`
	// Text is the figure in words.
	Text string `json:"text"`
	// Figure and Unit are the figure that the words rest on.
	Figure Value[float64] `json:"figure"`
	Unit   string         `json:"unit,omitempty"`
	// Window in seconds; unknown for a figure of one moment.
	Window Value[float64] `json:"window"`
	// Source is where it comes from: "nstat", "ss", "/metrics", "schedstat".
	Source string `json:"source"`
}

// ActionKind is a kind of remedy.
type ActionKind string

// The kinds of remedies. Commands are made of them elsewhere.
const (
	ActRaiseBacklog   ActionKind = "raise-backlog"
	ActAddWorkers     ActionKind = "add-workers"
	ActRaiseCPU       ActionKind = "raise-cpu"
	ActRaiseSomaxconn ActionKind = "raise-somaxconn"
	ActRaiseFDLimit   ActionKind = "raise-descriptor-limit"
	ActSynBacklog     ActionKind = "syn-backlog"
	ActSetKnob        ActionKind = "set-knob"
	ActRestart        ActionKind = "restart"
	ActIsolate        ActionKind = "isolate-pod"
	ActScaleOut       ActionKind = "scale-out"
	ActPauseRollout   ActionKind = "pause-rollout"
	ActAddAcceptors   ActionKind = "add-acceptors"
	ActFixAccept      ActionKind = "fix-accept-path"
	ActFixApp         ActionKind = "look-at-app"
	ActFixProxy       ActionKind = "look-at-proxy"
	ActWait           ActionKind = "wait"
	ActWatch          ActionKind = "watch"
	ActElsewhere      ActionKind = "look-elsewhere"
)

// Action is a remedy as data, with a plain sentence.
type Action struct {
	Kind ActionKind `json:"kind"`
	// Knob is the setting it changes, as Knob.Name has it, where it is one.
	Knob string `json:"knob,omitempty"`
	// Container that it concerns, where it is one container's.
	Container string `json:"container,omitempty"`
	// From is the value in force, To the value that would be needed.
	From Value[int64] `json:"from"`
	To   Value[int64] `json:"to"`
	Text string       `json:"text"`
	// Command does it, as a line for a shell; Undo takes it back. Empty where there
	// is none that would work.
	Command string `json:"command,omitempty"`
	Undo    string `json:"undo,omitempty"`
	// Values are lines for the manifest of whatever owns the workload, where a
	// command would be reverted; Place says where they go.
	Values string `json:"values,omitempty"`
	Place  string `json:"place,omitempty"`
	// Notes say what the command restarts, needs and leaves alone.
	Notes []string `json:"notes,omitempty"`
}
