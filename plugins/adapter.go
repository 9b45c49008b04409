// Package plugins knows what each proxy means: which container it is, what its
// ports are for, how its metrics become a runtime, and which knobs somebody
// turned. Adapters are pure: they get a pod and bytes that were already parsed,
// and give values.
package plugins

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/parse"
)

// Adapter recognises a proxy. It is all that an adapter must do; what else one
// can do it shows by the one-method interfaces below.
type Adapter interface {
	// Name is one lower-case word: "linkerd".
	Name() string
	// Match gives the proxy's container in this pod; false when there is none.
	Match(pod *corev1.Pod) (container string, ok bool)
}

// RoleTeller tells what the ports of a matched pod are for. Ports that it does
// not name belong to the app.
type RoleTeller interface {
	Roles(pod *corev1.Pod) map[uint16]model.Role
}

// AdminTeller tells where a matched pod's proxy serves its metrics.
type AdminTeller interface {
	Admin(pod *corev1.Pod) model.Endpoint
}

// RuntimeReader turns a metrics page into a runtime and the proxy's version.
// Figures that the page lacks are unknown with a reason.
type RuntimeReader interface {
	Runtime(page *parse.Metrics) (model.Runtime, model.Value[string])
}

// Configurer works out what was asked for, beside what is in force: live holds
// the pod's listeners and runtime as measured, nodeCPUs the CPUs of its node.
type Configurer interface {
	Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob
}

// LogReader tells the workers in force from the beginning of the proxy's own
// log, for when its metrics cannot be read.
type LogReader interface {
	WorkersFromLog(log []byte) model.Value[int64]
}
