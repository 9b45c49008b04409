package source

import (
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// noteThreads says where a busy ratio is from that no metrics told.
const noteThreads = "the busy ratio is from the threads of the workers: CPU time and the wait for a CPU"

// sidecar is the container of a proxy that stands in front of the app's server;
// empty where there is none.
func (f *follower) sidecar() string {
	if teller, ok := f.adapter.(plugins.SidecarTeller); ok && teller.Sidecar(f.current()) {
		return f.proxy
	}
	return ""
}

// hasMetrics says whether the pod's proxy or server has figures of its own to read,
// or it is known why they cannot be read. The caller holds the lock.
func (f *follower) hasMetrics() bool {
	teller, ok := f.adapter.(plugins.AdminTeller)
	if !ok {
		return false
	}
	endpoint := teller.Admin(f.pod)
	return endpoint.Port != 0 || endpoint.Why != ""
}

// fillFromThreads adds how busy the workers were by their threads, where they tell
// nothing themselves and the probe shares their processes.
func (f *follower) fillFromThreads(p *model.Pod) {
	// A runtime that stands still says so itself.
	if p.Runtime.Window.Busy.IsKnown() || p.Runtime.Window.Stalled.Or(0) >= model.StallSeconds || f.proxy != "" && f.proxy != p.Process.Container {
		return
	}
	teller := threadTeller(f.adapter, f.opt.Adapters)
	if teller == nil || !p.Process.Seconds.IsKnown() {
		return
	}
	workers, reason := teller.WorkerThreads(p.Process)
	if reason != "" {
		return
	}
	w := &p.Runtime.Window
	if w.Busy = model.BusyOfThreads(workers); !w.Busy.IsKnown() {
		return
	}
	w.Seconds = p.Process.Seconds
	p.Notes = append(p.Notes, noteThreads)
}

// threadTeller is the adapter itself, or the one that is for whatever server there
// is: it knows the threads of proxies too that report only some of their figures.
func threadTeller(adapter plugins.Adapter, all []plugins.Adapter) plugins.ThreadTeller {
	if teller, ok := adapter.(plugins.ThreadTeller); ok {
		return teller
	}
	if len(all) > 0 {
		if teller, ok := all[len(all)-1].(plugins.ThreadTeller); ok {
			return teller
		}
	}
	return nil
}
