package envoy

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// Pages are those of the admin port.
func (Adapter) Pages(*corev1.Pod) []string { return parse.EnvoyPaths(true) }

// Seldom is true of those on which nothing changes while the process lives.
func (Adapter) Seldom(path string) bool { return parse.EnvoySeldom(path) }

// ReadPages reads them.
func (Adapter) ReadPages(bodies [][]byte) (model.Runtime, model.Value[string], error) {
	return parse.ReadEnvoyPages(bodies)
}
