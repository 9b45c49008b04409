// Package linkerd knows Linkerd's proxy: where it stands in a pod, which ports
// it listens on and what for, what its metrics say of its tokio runtime, and
// which annotations and variables lead to its workers and backlogs.
//
// It reads a pod's spec and values that were parsed elsewhere, and does no I/O.
// The rules are those of linkerd2-proxy up to 2.366; where an older proxy
// behaves otherwise, the version that changed is named beside the rule.
package linkerd

// Adapter recognises and explains Linkerd's proxy.
type Adapter struct{}

// New returns the adapter; it holds no state.
func New() Adapter { return Adapter{} }

// Name is "linkerd".
func (Adapter) Name() string { return "linkerd" }
