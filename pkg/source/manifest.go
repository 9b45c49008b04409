package source

import (
	"context"
	"time"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// manifestEvery is how often a pod's manifest is asked for. What it is asked of
// remembers the answers, which are the same for all pods of a workload.
const manifestEvery = 30 * time.Second

// reasonNoManifest is why a manifest is unknown before it was read.
const reasonNoManifest = "the workload and the namespace were not read yet"

// followManifest keeps what the pod was made from current, beside everything
// else: no row waits for it.
func (f *follower) followManifest(ctx context.Context) {
	if f.opt.Manifest == nil {
		return
	}
	for {
		m := f.opt.Manifest(ctx, f.current())
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		f.manifest = m
		f.mu.Unlock()
		if pause(ctx, manifestEvery) != nil {
			return
		}
	}
}

// noManifest is the manifest before anything was read.
func noManifest(o ClusterOptions) model.Manifest {
	if o.Manifest == nil {
		return model.UnknownManifest("the workload and the namespace are not read here")
	}
	return model.UnknownManifest(reasonNoManifest)
}
