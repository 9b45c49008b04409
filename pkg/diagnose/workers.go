package diagnose

import "github.com/kubectl-backlog/kubectl-backlog/pkg/model"

// answer to a question that may be open.
type answer int8

const (
	open answer = iota
	yes
	no
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// workers are the facts of those who accept from a listener and serve what they
// accepted: the proxy's runtime, or the threads of a process.
type workers struct {
	// busy 0 to 1 of all workers; cpu in cores; wait for a CPU in seconds per second.
	busy, cpu, wait model.Value[float64]
	// limit is the CPU limit of their container, in cores.
	limit   model.Value[float64]
	count   model.Value[int64]
	seconds float64
	// saturated: they do all they can. starved: they want CPU that they do not get.
	// headroom: neither. asleep: they do next to nothing.
	saturated, starved, headroom, asleep answer
	// fdsFull: no descriptor is left. runtimeStalled in seconds, 0 for no.
	fdsFull answer
	// fdsOpen of fdsMost at last; both 0 when the proxy could not read them.
	fdsOpen, fdsMost int64
	fdsSeconds       float64
	runtimeStalled   float64
	stopped          bool // threads are stopped (state T): SIGSTOP, a debugger
	sleepsIn         string
	words            []model.Evidence
	unknown          []string
}

// workersOf are those of a listener, over its span. Listeners of the same
// workers without pressure share the whole window, and so what is known of them.
func (f *facts) workersOf(l *listener) *workers {
	proxied := f.last.Proxy.Sidecar
	ofProxy := proxied && l.role != "" && l.role != model.RoleApp
	whole := l.spanFrom == 0 && l.spanTo == len(f.samples)-1
	shared := &f.appWorkers
	if ofProxy {
		shared = &f.proxyWorkers
	}
	if whole && *shared != nil {
		return *shared
	}
	w := f.readWorkers(l, proxied, ofProxy)
	if whole {
		*shared = w
	}
	return w
}

func (f *facts) readWorkers(l *listener, proxied, ofProxy bool) *workers {
	w := &workers{
		busy: model.Unknown[float64]("not read"), cpu: model.Unknown[float64]("not read"),
		wait: model.Unknown[float64]("not read"), count: model.Unknown[int64]("not read"),
	}
	processIsProxy := f.last.Process.Container != "" && f.last.Process.Container == f.last.Proxy.Container
	switch {
	case ofProxy:
		f.readRuntime(w, l.spanFrom, l.spanTo)
		if processIsProxy {
			f.readProcess(w, l.spanFrom, l.spanTo)
		}
	case !proxied || !processIsProxy:
		f.readProcess(w, l.spanFrom, l.spanTo)
	default:
		w.unknown = append(w.unknown, "what the app's threads do: the probe shares the proxy's process namespace, not the app's")
	}
	if !proxied && f.last.Runtime.Workers.IsKnown() {
		threads := *w
		f.readRuntime(w, l.spanFrom, l.spanTo)
		w.also(&threads)
	}
	w.conclude()
	return w
}

// also adds what the threads of the same process told: what one of the two saw is
// not taken back by what the other did not.
func (w *workers) also(threads *workers) {
	if threads.starved == yes || w.starved == open {
		w.starved = threads.starved
	}
	if threads.saturated == yes || w.saturated == open {
		w.saturated = threads.saturated
	}
	if threads.headroom == no || w.headroom == open {
		w.headroom = threads.headroom
	}
	if threads.asleep == no || w.asleep == open {
		w.asleep = threads.asleep
	}
	if !w.cpu.IsKnown() {
		w.cpu, w.wait = threads.cpu, threads.wait
	}
	if !w.limit.IsKnown() {
		w.limit = threads.limit
	}
}

// conclude: whoever is starved is not saturated, and headroom is neither.
func (w *workers) conclude() {
	if w.starved == yes {
		w.saturated, w.headroom, w.asleep = no, no, no
	}
	if w.saturated == yes {
		w.headroom, w.asleep = no, no
	}
}
