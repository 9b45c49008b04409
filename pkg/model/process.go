package model

// Process is what the threads of a container do, read without privilege by a
// probe that shares its process namespace.
type Process struct {
	// Container whose first process it is; PID as the probe sees it.
	Container string `json:"container,omitempty"`
	PID       int    `json:"pid,omitempty"`
	// Name of the process (comm, up to 15 bytes of anything).
	Name string `json:"name,omitempty"`
	// Uptime is the pod's own clock when the threads were read, every few ticks.
	Uptime  Value[float64] `json:"uptime"`
	Threads []Thread       `json:"threads,omitempty"`
	// Seconds between the two readings that CPU and Wait of the threads are from.
	Seconds Value[float64] `json:"seconds"`
	// CPU is the use of all threads in cores; Wait the time they together could
	// run but did not get a CPU, in seconds per second: throttling by the CPU
	// limit is part of it.
	CPU  Value[float64] `json:"cpu"`
	Wait Value[float64] `json:"wait"`
	// CPUsAllowed is how many CPUs it may run on (Cpus_allowed_list): the node's
	// unless a CPU set says otherwise.
	CPUsAllowed Value[int64] `json:"cpusAllowed"`
	// OpenFDs needs the process's own user and group; MaxFDs (the soft limit) does
	// not.
	OpenFDs Value[int64] `json:"openFDs"`
	MaxFDs  Value[int64] `json:"maxFDs"`
}

// Thread is one thread of a Process.
type Thread struct {
	TID  int    `json:"tid"`
	Name string `json:"name"`
	// State is the kernel's letter: R runs or could, S sleeps, D waits for a
	// device, T is stopped; empty when it was not read.
	State string `json:"state"`
	// CPU is its use in cores, 0 to 1; Wait the share of the time in which it
	// could run and did not get a CPU, 0 to 1. Both over Process.Seconds.
	CPU  Value[float64] `json:"cpu"`
	Wait Value[float64] `json:"wait"`
	// Wchan is the kernel function it sleeps in: inet_csk_accept, ep_poll.
	Wchan Value[string] `json:"wchan"`
}

// UnknownProcess is a process of which nothing is known, for the given reason.
func UnknownProcess(reason string) Process {
	i, f := Unknown[int64](reason), Unknown[float64](reason)
	return Process{Uptime: f, Seconds: f, CPU: f, Wait: f, CPUsAllowed: i, OpenFDs: i, MaxFDs: i}
}
