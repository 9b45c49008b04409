// Package envoy knows Envoy where it runs by itself: which container it is, where
// its admin port is, what its pages say of its workers and listeners, and which
// arguments and settings lead to them. Istio's sidecar has a package of its own.
//
// It reads a pod's spec and pages that were fetched elsewhere, and does no I/O.
// The rules are those of Envoy up to 1.40; where an older one behaves otherwise,
// the version that changed is named beside the rule.
package envoy

// Adapter recognises and explains Envoy.
type Adapter struct{}

// New returns the adapter; it holds no state.
func New() Adapter { return Adapter{} }

// Name is "envoy".
func (Adapter) Name() string { return "envoy" }
