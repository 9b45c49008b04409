package plugins

import (
	"github.com/kubectl-backlog/kubectl-backlog/plugins/envoy"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/istio"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/linkerd"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/nginx"
	"github.com/kubectl-backlog/kubectl-backlog/plugins/process"
)

// All gives the adapters in order of precedence: the first that matches a pod
// speaks for it.
func All() []Adapter {
	return []Adapter{
		linkerd.New(),
		istio.New(),
		envoy.New(),
		nginx.New(),
		process.New(), // matches every pod
	}
}
