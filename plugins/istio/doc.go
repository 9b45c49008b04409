// Package istio knows Istio's sidecar: which container it is, what its ports are
// for, and how annotations, mesh settings and the CPU limit lead to its number of
// workers. Its admin port is Envoy's, and is read as Envoy's.
//
// It reads a pod's spec and pages that were fetched elsewhere, and does no I/O.
// The rules are those of Istio since 1.18.
package istio

// Adapter recognises and explains Istio's sidecar.
type Adapter struct{}

// New returns the adapter; it holds no state.
func New() Adapter { return Adapter{} }

// Name is "istio".
func (Adapter) Name() string { return "istio" }
