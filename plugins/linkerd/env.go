package linkerd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The variables of the proxy that decide on its listeners, workers and backlogs.
const (
	varInboundAddr   = "LINKERD2_PROXY_INBOUND_LISTEN_ADDR"
	varOutboundAddrs = "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS"
	varOutboundAddr  = "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR"
	varAdminAddr     = "LINKERD2_PROXY_ADMIN_LISTEN_ADDR"
	varControlAddr   = "LINKERD2_PROXY_CONTROL_LISTEN_ADDR"
	varTapName       = "LINKERD2_PROXY_TAP_SVC_NAME"

	varCores    = "LINKERD2_PROXY_CORES"
	varCoresMin = "LINKERD2_PROXY_CORES_MIN"
	varCoresMax = "LINKERD2_PROXY_CORES_MAX"
	varRatio    = "LINKERD2_PROXY_CORES_MAX_RATIO"

	varInboundBacklog  = "LINKERD2_PROXY_INBOUND_TCP_LISTEN_BACKLOG"
	varOutboundBacklog = "LINKERD2_PROXY_OUTBOUND_TCP_LISTEN_BACKLOG"
)

// setting is one variable as the process gets it, as far as the spec tells.
type setting struct {
	set   bool
	value string
	// hidden says why the value cannot be told from the spec; empty when it can.
	hidden string
	// told is how the value became known that the spec does not show.
	told string
}

// literal reports whether the variable is set to a value that the spec shows.
func (s setting) literal() bool { return s.set && s.hidden == "" }

// lookup finds a variable of the container as the process has it: from its spec,
// and where that does not tell from the process itself.
func (c configuration) lookup(name string) setting {
	s := lookup(c.container, name)
	if s.hidden == "" {
		return s
	}
	value, asked := c.env[name]
	text, known := value.Get()
	switch {
	case !asked:
		return s
	case known:
		return setting{set: true, value: text, told: s.hidden + "; the running process has this value"}
	case value.Reason() == "": // it is not set
		return setting{}
	}
	s.hidden += " (" + value.Reason() + ")"
	return s
}

// lookup finds a variable of the container. The injector appends additional
// variables behind its own, and the kubelet lets the last of equal names win.
func lookup(c *corev1.Container, name string) setting {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if c.Env[i].Name == name {
			return fromEntry(c.Env[i])
		}
	}
	for _, from := range c.EnvFrom {
		// A whole ConfigMap or Secret: its keys are not in the pod's spec.
		if strings.HasPrefix(name, from.Prefix) {
			return setting{hidden: "the container takes variables from a ConfigMap or Secret (envFrom), and " + name + " may be among them"}
		}
	}
	return setting{}
}

func fromEntry(e corev1.EnvVar) setting {
	switch {
	case e.ValueFrom != nil:
		return setting{set: true, hidden: e.Name + " is set by valueFrom, which the pod's spec does not resolve"}
	case strings.Contains(e.Value, "$("):
		return setting{set: true, hidden: e.Name + " refers to another variable (" + quote(e.Value) + ")"}
	}
	return setting{set: true, value: e.Value}
}
