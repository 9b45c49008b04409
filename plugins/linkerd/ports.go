package linkerd

import (
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// listen says where the port of one role is set.
type listen struct {
	role model.Role
	// vars in order of precedence; the first that holds an address counts.
	vars []string
	// annotation is what the injector makes the variable from; it tells the port
	// where the variable is hidden or missing.
	annotation string
	// port is what the proxy takes when nothing is set.
	port uint16
}

func listens() []listen {
	return []listen{
		{model.RoleInbound, []string{varInboundAddr}, "config.linkerd.io/inbound-port", 4143},
		{model.RoleOutbound, []string{varOutboundAddrs, varOutboundAddr}, "config.linkerd.io/outbound-port", 4140},
		{model.RoleAdmin, []string{varAdminAddr}, "config.linkerd.io/admin-port", 4191},
		{model.RoleTap, []string{varControlAddr}, "config.linkerd.io/control-port", 4190},
	}
}

// Roles tells what the proxy's ports are for, from the listen addresses in its
// environment. The tap listener exists only where the viz extension has set the
// tap service's name, though its address is always set.
func (Adapter) Roles(pod *corev1.Pod) map[uint16]model.Role {
	c := proxyContainer(pod)
	if c == nil {
		return nil
	}
	roles := make(map[uint16]model.Role)
	for _, l := range listens() {
		if l.role == model.RoleTap && !hasTap(c) {
			continue
		}
		for _, port := range l.ports(pod, c) {
			// Two listeners cannot share a port; a pod that says so does not run.
			if _, taken := roles[port]; !taken {
				roles[port] = l.role
			}
		}
	}
	return roles
}

// Admin tells where the proxy serves its metrics and readiness.
func (Adapter) Admin(pod *corev1.Pod) model.Endpoint {
	c := proxyContainer(pod)
	if c == nil {
		return model.Endpoint{}
	}
	for _, l := range listens() {
		if l.role == model.RoleAdmin {
			return model.Endpoint{Port: l.ports(pod, c)[0], Metrics: "/metrics", Ready: "/ready"}
		}
	}
	return model.Endpoint{}
}

func hasTap(c *corev1.Container) bool {
	s := lookup(c, varTapName)
	return s.set && (s.value != "" || s.hidden != "")
}

// ports are the ports of one role, at least one.
func (l listen) ports(pod *corev1.Pod, c *corev1.Container) []uint16 {
	for _, name := range l.vars {
		if s := lookup(c, name); s.literal() {
			if ports := addressPorts(s.value); len(ports) > 0 {
				return ports
			}
		}
	}
	if n, err := strconv.ParseUint(pod.Annotations[l.annotation], 10, 16); err == nil && n > 0 {
		return []uint16{uint16(n)}
	}
	return []uint16{l.port}
}

// addressPorts reads the ports of one or two addresses: "127.0.0.1:4140,[::1]:4140".
func addressPorts(text string) []uint16 {
	var ports []uint16
	for addr := range strings.SplitSeq(text, ",") {
		ap, err := netip.ParseAddrPort(strings.TrimSpace(addr))
		if err != nil || ap.Port() == 0 {
			continue
		}
		ports = append(ports, ap.Port())
	}
	return ports
}
