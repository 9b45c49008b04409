package model

// BusyOfThreads is how busy workers were, 0 to 1, by the CPU time of their threads and
// the time in which they could have run and did not get a CPU: each worker is one
// loop, and a worker of several threads counts as one. It is wall time, as the ratio
// that a runtime tells itself, and says nothing of a worker that blocks.
func BusyOfThreads(workers [][]Thread) Value[float64] {
	if len(workers) == 0 {
		return Unknown[float64]("no worker was found")
	}
	var sum float64
	for _, threads := range workers {
		var busy float64
		if len(threads) == 0 {
			return Unknown[float64]("the threads of a worker were not read")
		}
		for i := range threads {
			cpu, ok := threads[i].CPU.Get()
			if !ok {
				return Unknown[float64]("a worker's CPU time: " + threads[i].CPU.Reason())
			}
			wait, ok := threads[i].Wait.Get()
			if !ok {
				return Unknown[float64]("a worker's wait for a CPU: " + threads[i].Wait.Reason())
			}
			busy += cpu + wait
		}
		sum += min(busy, 1)
	}
	return Known(sum / float64(len(workers)))
}
