package istio

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// WorkerRule tells from the spec alone how many workers the sidecar will have.
// limit is the CPU limit rounded up, where that decides.
func (Adapter) WorkerRule(pod *corev1.Pod) (rule model.WorkerRule, limit model.Value[int64], ok bool) {
	c, _ := container(pod)
	if c == nil {
		return model.WorkerRule{}, model.Value[int64]{}, false
	}
	w := want(pod, c, model.Unknown[map[string]string]("not asked for"))
	if w.explicit != nil {
		limit = model.Unknown[int64](w.explicit.origin.Name + " beats the CPU limit")
		if n, _ := w.explicit.n.Get(); n > 0 {
			return model.WorkerRule{Min: model.Known(n), Max: model.Known(n)}, limit, true
		}
		return model.WorkerRule{Ratio: model.Known(1.0)}, limit, true
	}
	if w.limit.IsKnown() {
		return model.WorkerRule{Min: w.limit, Max: w.limit}, w.limit, true
	}
	return model.WorkerRule{Ratio: model.Known(1.0)}, w.limit, true
}

// Knobs works out the workers, and the backlogs of the inbound and outbound
// listeners, which Istio itself leaves unset.
func (a Adapter) Knobs(pod *corev1.Pod, nodeCPUs model.Value[int64], live model.Pod) []model.Knob {
	c, _ := container(pod)
	if c == nil {
		return nil
	}
	knobs := []model.Knob{workers(want(pod, c, live.Manifest.Template), nodeCPUs, live)}
	if !a.Sidecar(pod) {
		return knobs // a gateway's listeners are those that somebody asked for
	}
	for _, role := range []model.Role{model.RoleInbound, model.RoleOutbound} {
		knobs = append(knobs, backlog(role, a.Roles(pod), live))
	}
	return knobs
}

func workers(w wanted, nodeCPUs model.Value[int64], live model.Pod) model.Knob {
	k := model.Knob{Name: "workers", InForce: live.Runtime.Workers, Available: nodeCPUs, Chain: w.chain, Remedy: w.remedy()}
	if k.InForce.IsKnown() {
		k.SeenBy = "server.concurrency"
	} else if k.InForce.Reason() == "" {
		k.InForce = model.Unknown[int64](cmp.Or(live.Collection.Metrics, "the proxy's admin port was not read"))
	}
	all := nodeCPUs
	if n, ok := nodeCPUs.Get(); !ok || n < 1 {
		all = model.Unknown[int64]("there is a worker for each CPU of the node, and those are unknown: " + cmp.Or(nodeCPUs.Reason(), "not read"))
	}
	switch {
	case w.explicit != nil && w.explicit.n.Or(0) > 0:
		k.Asked = w.explicit.n
	case w.explicit == nil && w.limit.IsKnown():
		k.Asked = w.limit
	default:
		k.Asked = all
		o := model.Origin{Where: "node", Name: "CPUs", Value: "unknown", Note: all.Reason()}
		if n, ok := all.Get(); ok {
			o.Value, o.Note = strconv.FormatInt(n, 10), ""
		}
		k.Chain = append(k.Chain, o)
	}
	why := slices.Clone(w.problems)
	if k.Differs() {
		why = append(why, w.drift...)
		switch {
		case len(w.drift) > 0:
			k.Remedy.Restart = true
			why = append(why, "restart the workload")
		case w.explicit == nil || w.explicit.n.Or(0) == 0:
			why = append(why, "it follows from the CPUs or the limit that the proxy saw when it started; Istio before 1.18 takes 2 where nothing is set")
		}
	}
	k.Why = strings.Join(why, "; ")
	return k
}

// remedy is the annotation that asks for a number, in whatever else it holds; the
// CPU limit where that decides now.
func (w wanted) remedy() model.Remedy {
	if w.explicit == nil && w.limit.IsKnown() {
		return model.Remedy{
			Where: wherePodTemplate, Name: annLimit, Unit: "cpus",
			Form: `CPUs, rounded up to workers ("2"); limits the CPU too, and takes a restart`,
		}
	}
	return model.Remedy{
		Where: wherePodTemplate, Name: annConfig,
		Form: "concurrency: N, beside what else the annotation holds; takes a restart",
	}
}

// backlog of a role. Nothing of Istio's own sets one, so that net.core.somaxconn is
// asked for; an EnvoyFilter may, and the pod's spec does not show it.
func backlog(role model.Role, roles map[uint16]model.Role, live model.Pod) model.Knob {
	k := model.Knob{
		Name: string(role) + " backlog", InForce: inForce(role, roles, live),
		Remedy: model.Remedy{Where: "EnvoyFilter for the sidecar's " + string(role) + " listener", Name: "tcp_backlog_size", Form: "a whole number; takes a restart"},
	}
	if k.InForce.IsKnown() {
		k.SeenBy = "ss"
	}
	top, known := live.Counters.Somaxconn.Get()
	o := model.Origin{
		Where: "default", Name: "tcp_backlog_size", Value: "net.core.somaxconn", Note: "Istio does not set it; an EnvoyFilter may",
	}
	if known {
		o.Value = strconv.FormatInt(top, 10)
		o.Note = "net.core.somaxconn: " + o.Note
	}
	k.Chain = append(k.Chain, o)
	switch n, ok := k.InForce.Get(); {
	case !known:
		k.Asked = model.Unknown[int64]("net.core.somaxconn of the pod, which Envoy takes by default, is unknown: " + cmp.Or(live.Counters.Somaxconn.Reason(), "not read"))
	case ok && n != top:
		k.Asked = model.Unknown[int64]("an EnvoyFilter may set tcp_backlog_size, or net.core.somaxconn was " + strconv.FormatInt(n, 10) + " when Envoy listened; neither stands in the pod's spec")
	default:
		k.Asked = model.Known(top)
	}
	return k
}

// inForce is the lowest limit among the sockets of a role.
func inForce(role model.Role, roles map[uint16]model.Role, live model.Pod) model.Value[int64] {
	lowest, found := model.Value[int64]{}, false
	for i := range live.Listeners {
		if roles[live.Listeners[i].Port] != role {
			continue
		}
		for _, s := range live.Listeners[i].Sockets {
			if !found || s.Limit.Or(math.MaxInt64) < lowest.Or(math.MaxInt64) {
				lowest, found = s.Limit, true
			}
		}
	}
	switch {
	case len(live.Listeners) == 0:
		return model.Unknown[int64](cmp.Or(live.Collection.Message, "the pod's listeners were not read"))
	case !found:
		return model.Unknown[int64]("nothing listens on the proxy's " + string(role) + " port")
	}
	return lowest
}
