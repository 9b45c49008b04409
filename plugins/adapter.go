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
	// Match gives the container of the proxy or server in this pod; false when there
	// is none. An adapter for whatever server there is names no container.
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

// PageReader reads the runtime of a proxy whose admin endpoint is not one page of
// metrics. It is asked before RuntimeReader.
type PageReader interface {
	// Pages are the paths to ask for, in this order, at each reading.
	Pages(pod *corev1.Pod) []string
	// ReadPages gets the bodies in the same order, nil for one that was not answered
	// with 200. An error says that none of them is such a proxy's.
	//
	// A reading whose clock begins at the process's start, since nothing tells when
	// that was, has an unknown Start.
	ReadPages(bodies [][]byte) (model.Runtime, model.Value[string], error)
}

// SeldomReader tells which of a PageReader's pages hold nothing that changes while
// the process lives. They are asked for at first, when another process is noticed,
// and once a minute, and their last answer is given to ReadPages.
type SeldomReader interface {
	Seldom(path string) bool
}

// SidecarTeller says whether the proxy stands in front of the app's own server.
// One that does not say is the server itself.
type SidecarTeller interface {
	Sidecar(pod *corev1.Pod) bool
}

// ThreadTeller tells a server's workers by the threads of its process and of the
// processes that descend from it, where its own figures do not tell how busy they
// are.
type ThreadTeller interface {
	// WorkerThreads gives the threads of each worker, or why they cannot be told.
	WorkerThreads(process model.Process) (workers [][]model.Thread, reason string)
}

// EnvReader asks the running proxy for variables that decide on a knob and that
// the pod's spec does not resolve (valueFrom); never for any other.
type EnvReader interface {
	// EnvPath is the page to ask for; empty when nothing needs to be asked.
	EnvPath(pod *corev1.Pod) string
	// ReadEnv gives the value of each variable that EnvPath asked for.
	ReadEnv(pod *corev1.Pod, body []byte) map[string]model.Value[string]
}

// ManifestReader names the annotations of pod templates and namespaces that it
// compares with the pod's own, by the beginning of their names.
type ManifestReader interface {
	AnnotationPrefixes() []string
}

// KnobTeller works out from a spec alone what a pod's workers will be: the rule,
// and the CPU limit (in whole CPUs, rounded as the proxy does) that caps it.
type KnobTeller interface {
	WorkerRule(pod *corev1.Pod) (rule model.WorkerRule, limit model.Value[int64], ok bool)
}

// Configurer works out what was asked for, beside what is in force: live holds
// the pod's listeners and runtime as measured, its manifest, and what the running
// proxy told of its environment; nodeCPUs are the CPUs of its node.
type Configurer interface {
	Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob
}

// LogReader tells the workers in force from the beginning of the proxy's own
// log, for when its metrics cannot be read.
type LogReader interface {
	WorkersFromLog(log []byte) model.Value[int64]
}
