package model

// Runtime is one reading of a proxy's own metrics: how many workers it has and
// how busy they were. All counters are since the process started.
type Runtime struct {
	// Workers in force, as the process itself says (tokio_rt_workers).
	Workers Value[int64] `json:"workers"`
	// BusySeconds is the time all workers together spent working, in seconds of
	// wall time: being throttled or preempted counts as busy.
	BusySeconds Value[float64] `json:"busySeconds"`
	// CPUSeconds is the CPU time of the whole process.
	CPUSeconds Value[float64] `json:"cpuSeconds"`
	// Parks, Polls, Steals and Spills count over all workers. Parks that stand
	// still while Polls move are the sharpest sign of a saturated worker. Spills
	// (tokio_rt_overflow_total) are of the run queue, not of the accept queue.
	Parks  Value[int64] `json:"parks"`
	Polls  Value[int64] `json:"polls"`
	Steals Value[int64] `json:"steals"`
	Spills Value[int64] `json:"spills"`
	// LocalQueue is the number of tasks that wait in the workers' run queues.
	LocalQueue Value[int64] `json:"localQueue"`
	// Start is the process's start in Unix seconds: a new one starts all
	// differences afresh. Clock is the process's own Unix time at the scrape, with
	// fractions of a second where the proxy reports its uptime.
	Start Value[float64] `json:"start"`
	Clock Value[float64] `json:"clock"`
	// RefreshEvery is the period, in seconds, at which the process books its figures
	// into its metrics, where that is on a fixed schedule.
	RefreshEvery Value[float64] `json:"-"`
	// ClockBooked says that the clock is one of the figures that are booked: it moves
	// only when they do (Envoy's server.uptime, flushed with the rest every 5 s). Any
	// two readings then hold exactly the time between their clocks, whenever they
	// were taken, and a clock that stands still is no stall.
	ClockBooked bool `json:"-"`
	// Configured is what the process says of its own configuration, where it was
	// asked, ordered by port.
	Configured []ListenerSetting `json:"-"`
	// Requests and Failures are what the proxy itself counted, all listeners together:
	// connections that the kernel refused are in neither.
	Requests Value[int64] `json:"requests"`
	Failures Value[int64] `json:"failures"`
	// Accepts and Handled are connections that the server accepted, and those that
	// it did not close at once for lack of a free slot (nginx's stub_status).
	Accepts Value[int64] `json:"accepts"`
	Handled Value[int64] `json:"handled"`
	// PollDelaySeconds is the time that events waited for their worker's loop, of
	// all workers together (Envoy's poll_delay_us).
	PollDelaySeconds Value[float64] `json:"pollDelaySeconds"`
	// OpenFDs and MaxFDs are descriptors of the process.
	OpenFDs Value[int64] `json:"openFDs"`
	MaxFDs  Value[int64] `json:"maxFDs"`
	// Ready is the proxy's own readiness, where it was asked.
	Ready Value[bool] `json:"ready"`
	// Window is what the workers did between two observed refreshes.
	Window RuntimeWindow `json:"window"`
}

// RuntimeWindow is what a runtime did between two observed refreshes of its
// metrics.
type RuntimeWindow struct {
	// Seconds between the two refreshes, by the proxy's own clock.
	Seconds Value[float64] `json:"seconds"`
	// Busy is the share of the workers' time spent working, 0 to 1. A long poll
	// is booked when it ends, so a short window can exceed 1: it is then 1 here
	// and Clamped is set.
	Busy    Value[float64] `json:"busy"`
	Clamped bool           `json:"clamped,omitempty"`
	// CPU is the process's CPU use in cores.
	CPU Value[float64] `json:"cpu"`
	// Parks and Polls of the window.
	Parks Value[int64] `json:"parks"`
	Polls Value[int64] `json:"polls"`
	// Stalled is how long the metrics have stood still while the process's clock
	// moved, in seconds; known and 0 when they move. At 3 s and more the runtime
	// is stalled, never "idle": the task that refreshes them runs on it.
	Stalled Value[float64] `json:"stalled"`
}

// UnknownRuntime is a runtime of which nothing is known, for the given reason.
func UnknownRuntime(reason string) Runtime {
	i, f := Unknown[int64](reason), Unknown[float64](reason)
	return Runtime{
		Workers: i, BusySeconds: f, CPUSeconds: f, Parks: i, Polls: i, Steals: i, Spills: i, LocalQueue: i,
		Start: f, Clock: f, RefreshEvery: f, Requests: i, Failures: i, Accepts: i, Handled: i, PollDelaySeconds: f,
		OpenFDs: i, MaxFDs: i, Ready: Unknown[bool](reason), Window: unknownRuntimeWindow(reason),
	}
}
