// Package nginx knows nginx: which container it is, ingress-nginx's own status page,
// its workers, which are processes, and what its listen directives lead to.
//
// It reads a pod's spec, what is measured elsewhere, and pages that were fetched
// elsewhere; it does no I/O. nginx's configuration stands in an image or a
// ConfigMap, which is not read: what it asks for is mostly unknown.
package nginx

// Adapter recognises and explains nginx.
type Adapter struct{}

// New returns the adapter; it holds no state.
func New() Adapter { return Adapter{} }

// Name is "nginx".
func (Adapter) Name() string { return "nginx" }
