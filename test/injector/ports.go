package injector

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// ports of the proxy.
type ports struct{ inbound, outbound, admin, control int }

func readPorts(annotations map[string]string, w *warnings) ports {
	read := func(name string, otherwise int) int {
		text, ok := annotations[configPrefix+name]
		if !ok {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 65535 {
			w.notTaken(configPrefix+name, text, "it is no port")
			return otherwise
		}
		return n
	}
	return ports{
		inbound: read("inbound-port", 4143), outbound: read("outbound-port", 4140),
		admin: read("admin-port", 4191), control: read("control-port", 4190),
	}
}

func listenAddresses(p ports, ipv6 bool) []corev1.EnvVar {
	all := "0.0.0.0"
	address := func(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
	outbound := address("127.0.0.1", p.outbound)
	if ipv6 {
		all = "::"
		outbound += "," + address("::1", p.outbound)
	}
	return []corev1.EnvVar{
		{Name: "LINKERD2_PROXY_CONTROL_LISTEN_ADDR", Value: address(all, p.control)},
		{Name: "LINKERD2_PROXY_ADMIN_LISTEN_ADDR", Value: address(all, p.admin)},
		{Name: "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDR", Value: address("127.0.0.1", p.outbound)},
		{Name: "LINKERD2_PROXY_OUTBOUND_LISTEN_ADDRS", Value: outbound},
		{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: address(all, p.inbound)},
	}
}
