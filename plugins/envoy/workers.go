package envoy

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// varCgroup in Envoy's environment, when it is "false", makes it take no notice of
// the container's CPU limit.
const varCgroup = "ENVOY_CGROUP_CPU_DETECTION"

// WorkerRule tells from the spec alone what --concurrency asks for. Without it the
// workers are the CPUs, under a limit that is rounded down where the image's tag
// says that this version takes it into account.
func (Adapter) WorkerRule(pod *corev1.Pod) (rule model.WorkerRule, limit model.Value[int64], ok bool) {
	c, _ := container(pod)
	if c == nil {
		return model.WorkerRule{}, model.Value[int64]{}, false
	}
	args := readArguments(c)
	if args.given {
		return model.WorkerRule{Min: args.concurrency, Max: args.concurrency}, model.Unknown[int64]("--concurrency does not look at the CPU limit"), true
	}
	return model.WorkerRule{Ratio: model.Known(1.0)}, cgroupLimit(c, imageVersion(c)), true
}

// cgroupLimit is the CPU limit in workers; unknown with the reason where it does
// not count.
func cgroupLimit(c *corev1.Container, version model.Value[string]) model.Value[int64] {
	q, ok := c.Resources.Limits[corev1.ResourceCPU]
	switch {
	case !ok || q.IsZero():
		return model.Unknown[int64]("container " + c.Name + " has no CPU limit")
	case older(version, cgroupWorkers):
		return model.Unknown[int64]("Envoy before " + cgroupWorkers + " does not look at the CPU limit")
	}
	for _, e := range c.Env {
		if e.Name == varCgroup && strings.EqualFold(e.Value, "false") {
			return model.Unknown[int64](varCgroup + " is false: the CPU limit is not looked at")
		}
	}
	// Rounded down, so that something is left for the other threads.
	return model.Known(max(1, q.MilliValue()/1000))
}

// workers is the knob of the worker threads; the main thread is not among them.
func workers(c *corev1.Container, args arguments, nodeCPUs model.Value[int64], live model.Pod) model.Knob {
	where := "arguments of container " + c.Name
	k := model.Knob{
		Name: "workers", InForce: live.Runtime.Workers, Available: nodeCPUs,
		Remedy: model.Remedy{Where: where, Name: "--concurrency", Form: "a whole number; takes a restart"},
	}
	if k.InForce.IsKnown() {
		k.SeenBy = "server.concurrency"
	} else if k.InForce.Reason() == "" {
		k.InForce = model.Unknown[int64](cmp.Or(live.Collection.Metrics, "Envoy's admin port was not read"))
	}
	if args.given {
		k.Asked = args.concurrency
		o := model.Origin{Where: where, Name: "--concurrency", Value: clip(args.text)}
		if !args.concurrency.IsKnown() {
			o.Note = args.concurrency.Reason()
		} else if args.text == "0" {
			o.Note = "0 is one worker"
		}
		k.Chain = append(k.Chain, o)
		return k
	}
	version := live.Proxy.Version
	if !version.IsKnown() {
		version = imageVersion(c)
	}
	limit := cgroupLimit(c, version)
	k.Asked = defaultWorkers(nodeCPUs, limit, version)
	k.Chain = append(k.Chain, model.Origin{Where: "default", Name: "--concurrency", Value: "the CPUs available"})
	o := model.Origin{Where: "formula", Name: "available CPUs", Value: "unknown", Note: "those of the node are unknown"}
	if n, ok := nodeCPUs.Get(); ok {
		o.Value, o.Note = strconv.FormatInt(min(n, limit.Or(math.MaxInt64)), 10), "the node has "+strconv.FormatInt(n, 10)
	}
	if q, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
		o.Note += "; CPU limit " + q.String()
		if !limit.IsKnown() {
			o.Note += " does not count: " + limit.Reason()
		} else {
			o.Note += ", rounded down"
		}
	}
	k.Chain = append(k.Chain, o)
	if k.Differs() {
		k.Why = "it follows from the CPUs that Envoy might use when it started: a cpuset may be narrower than the node, and a CPU limit changed in place counts only after a restart"
	}
	return k
}

// defaultWorkers are one for each CPU that Envoy sees.
func defaultWorkers(nodeCPUs, limit model.Value[int64], version model.Value[string]) model.Value[int64] {
	n, ok := nodeCPUs.Get()
	lim, limited := limit.Get()
	switch {
	case limited && lim == 1 && version.IsKnown():
		return model.Known[int64](1)
	case !ok || n < 1:
		return model.Unknown[int64]("without --concurrency there is a worker for each CPU of the node, and those are unknown: " + cmp.Or(nodeCPUs.Reason(), "not read"))
	case !limited:
		return model.Known(n)
	case lim < n && !version.IsKnown():
		return model.Unknown[int64]("without --concurrency Envoy takes its CPU limit into account since " + cgroupWorkers + ", and the version of this one is unknown")
	}
	return model.Known(min(n, lim))
}
