package istio

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// adminPort is Envoy's, on the pod's loopback. Istio has it fixed.
const adminPort = 15000

// Roles tells what the sidecar's ports are for; Istio has them fixed. 15008 takes
// what other pods of the mesh send (HBONE). Health (15021), metrics (15090), and
// what the agent beside Envoy serves, merged metrics (15020) and DNS (15053), are
// the administration's.
func (Adapter) Roles(pod *corev1.Pod) map[uint16]model.Role {
	if c, _ := container(pod); c == nil {
		return nil
	}
	return map[uint16]model.Role{
		15001: model.RoleOutbound, 15006: model.RoleInbound, 15008: model.RoleInbound,
		adminPort: model.RoleAdmin, 15020: model.RoleAdmin, 15021: model.RoleAdmin, 15053: model.RoleAdmin, 15090: model.RoleAdmin,
	}
}

// Admin is Envoy's admin port.
func (Adapter) Admin(pod *corev1.Pod) model.Endpoint {
	if c, _ := container(pod); c == nil {
		return model.Endpoint{}
	}
	return model.Endpoint{Port: adminPort, Metrics: "/stats/prometheus", Ready: "/ready"}
}

// Pages are those of Envoy's admin port, without its listeners: a sidecar has a
// thousand and more without a socket of their own.
func (Adapter) Pages(*corev1.Pod) []string { return parse.EnvoyPaths(false) }

// Seldom is true of those on which nothing changes while the process lives.
func (Adapter) Seldom(path string) bool { return parse.EnvoySeldom(path) }

// ReadPages reads them.
func (Adapter) ReadPages(bodies [][]byte) (model.Runtime, model.Value[string], error) {
	return parse.ReadEnvoyPages(bodies)
}
