package nginx

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// defaultBacklog is NGX_LISTEN_BACKLOG on Linux.
	defaultBacklog = 511
	// maxPorts bounds the knobs of one pod.
	maxPorts = 64
)

// Knobs works out the workers, and for each port its backlog and its number of
// accept queues.
func (a Adapter) Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob {
	c := container(pod)
	if c == nil {
		return nil
	}
	knobs := []model.Knob{a.workers(c, nodeCPUs, live)}
	ports := portsOf(pod, c, live)
	for _, port := range ports {
		suffix := ""
		if len(ports) > 1 {
			suffix = " of port " + strconv.Itoa(int(port))
		}
		sockets := socketsOn(live, port)
		knobs = append(knobs, backlog("backlog"+suffix, port, c, sockets, live.Counters.Somaxconn), queues("sockets"+suffix, port, sockets))
	}
	return knobs
}

// portsOf are nginx's ports: those whose sockets it holds, where that is seen; in a
// pod of one container all; else the ones that its container declares.
func portsOf(pod *corev1.Pod, c *corev1.Container, live model.Pod) (ports []uint16) {
	admin, _, _ := status(pod)
	for i := range live.Listeners {
		l := &live.Listeners[i]
		if len(l.Sockets) == 0 || l.Port == admin || slices.Contains(ports, l.Port) || len(ports) == maxPorts || !isOwn(pod, c, l) {
			continue
		}
		ports = append(ports, l.Port)
	}
	slices.Sort(ports)
	return ports
}

func isOwn(pod *corev1.Pod, c *corev1.Container, l *model.Listener) bool {
	seen := false
	for _, s := range l.Sockets {
		for _, o := range s.Owners {
			if o.Name == "nginx" || o.Name == "openresty" {
				return true
			}
			seen = true
		}
	}
	if seen {
		return false
	}
	if len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == int32(l.Port) })
}

func socketsOn(live model.Pod, port uint16) (sockets []model.Socket) {
	for i := range live.Listeners {
		if live.Listeners[i].Port == port {
			sockets = append(sockets, live.Listeners[i].Sockets...)
		}
	}
	return sockets
}

// backlog is the lowest limit of a port's sockets beside what is known of why.
func backlog(name string, port uint16, c *corev1.Container, sockets []model.Socket, somaxconn model.Value[int64]) model.Knob {
	lowest := slices.MinFunc(sockets, func(a, b model.Socket) int {
		return cmp.Compare(a.Limit.Or(math.MaxInt64), b.Limit.Or(math.MaxInt64))
	})
	k := model.Knob{
		Name: name, InForce: lowest.Limit,
		Asked: model.Unknown[int64]("listen's backlog= stands in nginx's configuration, in an image or a ConfigMap, which is not read"),
		Chain: []model.Origin{{
			Where: "default", Name: "listen … backlog=", Value: strconv.Itoa(defaultBacklog), Note: "what nginx asks for unless told otherwise",
		}},
		Remedy: model.Remedy{
			Where: "the listen directive of port " + strconv.Itoa(int(port)), Name: "backlog=", Form: "a whole number, up to net.core.somaxconn of the pod; takes a restart",
		},
	}
	if isIngress(c) {
		// It reads net.core.somaxconn when it starts, and asks for 511 at least.
		k.Chain = []model.Origin{{Where: "default", Name: "listen … backlog=", Value: "net.core.somaxconn", Note: "ingress-nginx asks for it, and for 511 at least"}}
		k.Remedy = model.Remedy{Where: "the pod's securityContext.sysctls", Name: "net.core.somaxconn", Form: "a whole number; an unsafe sysctl, which the kubelet must allow"}
	}
	if k.InForce.IsKnown() {
		k.SeenBy = "ss"
	}
	if n, ok := somaxconn.Get(); ok {
		o := model.Origin{Where: "kernel", Name: "net.core.somaxconn", Value: strconv.FormatInt(n, 10)}
		if k.InForce == somaxconn {
			o.Note = "is what is in force: it may cap what nginx asks for"
		}
		k.Chain = append(k.Chain, o)
	}
	return k
}

// queues is how many accept queues a port has: with reuseport one for each worker
// and address, else one for each address.
func queues(name string, port uint16, sockets []model.Socket) model.Knob {
	return model.Knob{
		Name: name, InForce: model.Known(int64(len(sockets))), SeenBy: "ss",
		Asked: model.Unknown[int64]("reuseport stands in nginx's configuration, in an image or a ConfigMap, which is not read"),
		Remedy: model.Remedy{
			Where: "the listen directive of port " + strconv.Itoa(int(port)), Name: "reuseport", Form: "there or not; with it each worker has a queue of its own",
		},
	}
}
