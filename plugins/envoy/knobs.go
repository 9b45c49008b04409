package envoy

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// maxListeners bounds the knobs of one pod.
const maxListeners = 64

// Knobs works out the workers, and for each of Envoy's listeners its backlog and
// its number of sockets: one for each worker with enable_reuse_port, which is the
// default, else one. What Envoy asks for is read from the bootstrap in the spec,
// else from the running Envoy's own configuration.
func (Adapter) Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob {
	c, _ := container(pod)
	if c == nil {
		return nil
	}
	args := readArguments(c)
	knobs := []model.Knob{workers(c, args, nodeCPUs, live)}
	listeners := wanted(pod, c, args, live)
	unnamed := 0
	for _, l := range listeners {
		if l.Role == "" {
			unnamed++
		}
	}
	used := map[string]bool{}
	for _, l := range listeners {
		suffix := ""
		if l.Role == "" && unnamed > 1 || l.Role != "" && used[string(l.Role)] {
			suffix = " of port " + strconv.Itoa(int(l.Port))
		}
		prefix := ""
		if l.Role != "" {
			prefix, used[string(l.Role)] = string(l.Role)+" ", true
		}
		knobs = append(knobs, l.backlog(prefix+"backlog"+suffix, live))
		if k, ok := l.sockets(prefix+"sockets"+suffix, live); ok {
			knobs = append(knobs, k)
		}
	}
	return knobs
}

// listener is one of Envoy's, with the place where its setting was read.
type listener struct {
	model.ListenerSetting
	where string
}

// wanted lists Envoy's listeners by port. Where nothing tells which are Envoy's, all
// are in a pod of which it is the only container.
func wanted(pod *corev1.Pod, c *corev1.Container, args arguments, live model.Pod) []listener {
	var found []listener
	add := func(s model.ListenerSetting, where string) {
		if len(found) < maxListeners && !slices.ContainsFunc(found, func(l listener) bool { return l.Port == s.Port }) {
			found = append(found, listener{s, where})
		}
	}
	for _, s := range args.inline.Listeners {
		add(s, "--config-yaml of container "+c.Name)
	}
	for _, s := range live.Runtime.Configured {
		add(s, "Envoy's /config_dump")
	}
	if len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0 {
		reason := "Envoy's bootstrap does not stand in the pod's spec, and its admin port was not read"
		if live.Runtime.Workers.IsKnown() {
			reason = "Envoy does not list this port among its listeners"
		}
		admin, _ := adminPort(pod, c)
		for i := range live.Listeners {
			if port := live.Listeners[i].Port; port != admin {
				add(model.ListenerSetting{Port: port, Backlog: model.Unknown[int64](reason), ReusePort: model.Unknown[bool](reason)}, "")
			}
		}
	}
	slices.SortFunc(found, func(a, b listener) int { return cmp.Compare(a.Port, b.Port) })
	return found
}

// backlog compares what is asked for, what the kernel allows, and what is in force.
func (l listener) backlog(name string, live model.Pod) model.Knob {
	k := model.Knob{
		Name: name, Asked: l.Backlog, InForce: l.inForce(live),
		Remedy: model.Remedy{
			Where: "the listener on port " + strconv.Itoa(int(l.Port)) + " in Envoy's configuration", Name: "tcp_backlog_size",
			Form: "a whole number; takes a restart where the listener is a static one",
		},
	}
	if k.InForce.IsKnown() {
		k.SeenBy = "ss"
	}
	somaxconn, known := live.Counters.Somaxconn.Get()
	switch {
	case l.Unset && older(live.Proxy.Version, somaxconnBacklog):
		k.Asked = model.Known[int64](128)
		k.Chain = append(k.Chain, model.Origin{Where: "default", Name: "tcp_backlog_size", Value: "128", Note: "before Envoy " + somaxconnBacklog})
	case l.Unset && known:
		k.Asked = model.Known(somaxconn)
		k.Chain = append(k.Chain, model.Origin{
			Where: "default", Name: "tcp_backlog_size", Value: strconv.FormatInt(somaxconn, 10), Note: "not set in " + l.where + ": net.core.somaxconn",
		})
	case l.Unset:
		k.Asked = model.Unknown[int64]("tcp_backlog_size is not set, which means net.core.somaxconn, and that is unknown: " + cmp.Or(live.Counters.Somaxconn.Reason(), "not read"))
		k.Chain = append(k.Chain, model.Origin{Where: "default", Name: "tcp_backlog_size", Value: "net.core.somaxconn", Note: "not set in " + l.where})
	case l.Backlog.IsKnown():
		k.Chain = append(k.Chain, model.Origin{Where: l.where, Name: "tcp_backlog_size", Value: strconv.FormatInt(l.Backlog.Or(0), 10)})
	}
	if asked, ok := k.Asked.Get(); ok && known && asked > somaxconn {
		k.Chain = append(k.Chain, model.Origin{Where: "kernel", Name: "net.core.somaxconn", Value: strconv.FormatInt(somaxconn, 10), Note: "caps it"})
	}
	if k.Differs() {
		k.Why = l.why(k, live.Counters.Somaxconn)
	}
	return k
}

func (l listener) why(k model.Knob, somaxconn model.Value[int64]) string {
	asked, inForce := k.Asked.Or(0), k.InForce.Or(0)
	top, known := somaxconn.Get()
	switch {
	case !known && asked > inForce:
		return "net.core.somaxconn of the pod caps every backlog, but it is unknown here"
	case asked > inForce && inForce == top:
		return "net.core.somaxconn of the pod is " + strconv.FormatInt(top, 10) + " and caps it"
	case l.Unset:
		return "Envoy takes net.core.somaxconn as it is when it listens: it is " + strconv.FormatInt(top, 10) + " now and was " + strconv.FormatInt(inForce, 10) + " then"
	case asked > inForce:
		return "the kernel takes net.core.somaxconn when listen() is called: it is " + strconv.FormatInt(top, 10) +
			" now and may have been " + strconv.FormatInt(inForce, 10) + " then"
	}
	return ""
}

// inForce is the lowest limit among the listener's sockets.
func (l listener) inForce(live model.Pod) model.Value[int64] {
	sockets, reason := l.live(live)
	if reason != "" {
		return model.Unknown[int64](reason)
	}
	slices.SortStableFunc(sockets, func(a, b model.Socket) int {
		return cmp.Compare(a.Limit.Or(math.MaxInt64), b.Limit.Or(math.MaxInt64))
	})
	return sockets[0].Limit
}

// live gives the listener's sockets, or why there are none.
func (l listener) live(live model.Pod) (sockets []model.Socket, reason string) {
	if len(live.Listeners) == 0 {
		return nil, cmp.Or(live.Collection.Message, "the pod's listeners were not read")
	}
	for i := range live.Listeners {
		if live.Listeners[i].Port == l.Port {
			sockets = append(sockets, live.Listeners[i].Sockets...)
		}
	}
	if len(sockets) == 0 {
		return nil, "nothing listens on port " + strconv.Itoa(int(l.Port))
	}
	return sockets, ""
}

// sockets is how many accept queues the listener has. With several addresses on one
// port their number says nothing.
func (l listener) sockets(name string, live model.Pod) (model.Knob, bool) {
	reuse, ok := l.ReusePort.Get()
	found := 0
	k := model.Knob{Name: name}
	for i := range live.Listeners {
		if live.Listeners[i].Port == l.Port {
			found++
			k.InForce = model.Known(int64(len(live.Listeners[i].Sockets)))
		}
	}
	if !ok || found > 1 {
		return model.Knob{}, false
	}
	if found == 0 {
		_, reason := l.live(live)
		k.InForce = model.Unknown[int64](reason)
	} else {
		k.SeenBy = "ss"
	}
	k.Asked = model.Known[int64](1)
	note := "one queue for all workers"
	if reuse {
		k.Asked, note = live.Runtime.Workers, "a queue for each worker"
	}
	k.Chain = append(k.Chain, model.Origin{Where: l.where, Name: "enable_reuse_port", Value: strconv.FormatBool(reuse), Note: note})
	k.Remedy = model.Remedy{
		Where: "the listener on port " + strconv.Itoa(int(l.Port)) + " in Envoy's configuration", Name: "enable_reuse_port", Form: "true or false; takes a restart",
	}
	return k, true
}
