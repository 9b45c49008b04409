package diagnose

// The thresholds of all rules. Each has its reason; none is fitted to a server.
const (
	// window is how far back, in seconds, a verdict looks. Bursts were seen every
	// few seconds, connection retries come up to 4 s apart (tcp_syn_linear_timeouts):
	// half a minute holds several of either, and after that a fault is over.
	window = 30.0
	// minSamples: two samples give one difference, which cannot be told from the
	// one sample's noise (ss and nstat are not read at the same instant).
	minSamples = 3
	// high is the share of the limit from which a queue counts as full. The kernel
	// refuses at limit+1; a queue that is served one by one while it is full reads
	// a few less (62 to 65 of 64 in a throttled server).
	high = 0.9
	// low is the share of the limit up to which a queue counts as drained: somebody
	// who has just arrived may always be seen.
	low = 0.1
	// mostOf: a queue is full "most of the window" from half of the samples on.
	mostOf = 0.5
	// drainedOf: a queue that is found drained in 3 of 10 samples is emptied faster
	// than it fills; when nothing was refused before as many of them either, arrivals
	// come in bursts. A steady overload refuses all the time, even where a proxy
	// moves connections quickly on into its own run queue.
	drainedOf = 0.3
	// standing: a queue that is drained in less than a tenth of the samples never
	// empties: whoever comes waits, though nothing is refused.
	standing = 0.1
	// stallSeconds is how long nothing may be accepted, while somebody waits,
	// before the accept loop counts as stalled. Retries keep a queue filled for 1 s;
	// a freeze of 2 s (garbage collection, SIGSTOP) ends by itself. It is also
	// model.StallSeconds, when a runtime counts as stalled.
	stallSeconds = 3.0
	// slack: samples are taken every second, give or take that many seconds.
	slack = 0.1
	// stallFactor: an acceptor that blocks between two accepts leaves gaps of one
	// length. A gap is a stall only when it is that much longer than those before.
	stallFactor = 3.0
	// spanSeconds is the shortest time over which workers are judged: metrics are
	// booked once a second, and windows of one second read 0.88 to 1.07 where five
	// seconds read 0.96 to 1.01.
	spanSeconds = 3.0
	// overSeconds is how long pressure must have lasted to be judged by itself once
	// it is over; shorter, it was a burst, judged against the whole window.
	overSeconds = 8.0
	// busySaturated as model.BusySaturated: saturated workers 0.96 to 1.01 over 5 s,
	// a loaded but healthy one 0.83.
	busySaturated = 0.9
	// busyEnough: below this the workers have headroom whatever else is seen. From
	// here on parks that stand still while polls move mean saturation.
	busyEnough = 0.7
	// starvedFactor is wanted CPU over CPU got. Healthy proxies read up to 1.24
	// (two workers on a shared machine): below 1.5 it is not starvation.
	starvedFactor = 1.5
	// delayed is the share of the time that events wait for their worker's loop from
	// which the worker does not run when it wants to: 2 s of SIGSTOP read 2.05 s of
	// it, one that is idle or only busy next to nothing.
	delayed = 0.25
	// threadSaturated is a thread's CPU use, in cores, at which it has none left.
	threadSaturated = 0.9
	// limitReached is the share of the CPU limit at which it binds. The kernel hands
	// it out in slices of 5 ms to each CPU, and what is left of a slice at the end of
	// a period is lost: a limit of 6 ms in 100 on two CPUs shows as 5.
	limitReached = 0.8
	// fdReached is the share of the descriptor limit at which accept fails: a
	// connection is closed now and then, between two readings.
	fdReached = 0.98
	// synEvents is how many SYN-queue events make a verdict. Single ones are the
	// kernel's own noise under load.
	synEvents = 5
	// histShare: counters of the namespace that the present sockets' own drops
	// explain to less than a tenth are of sockets that are gone (restarted).
	histShare = 0.1
	// youngSeconds: in a pod this young the counters are the incident itself.
	youngSeconds = 300.0
	// startSeconds: a pod that is not ready for longer is not starting.
	startSeconds = 600.0
	// idleBusy is a busy ratio that is next to nothing: idle proxies read 0.0001,
	// and scrapes and probes alone stay below a twentieth.
	idleBusy = 0.05
	// otherAccepts is how many connections a second kubelet probes and scrapes make
	// on other listeners of the namespace, at most.
	otherAccepts = 2.0
	// comfortable is the busy ratio that added workers should lead to: saturation
	// begins at 0.9, and arrivals vary by half.
	comfortable = 0.6
)
