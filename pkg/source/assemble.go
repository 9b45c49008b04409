package source

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/collect"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/plugins"
)

// metricsOldAfter is when the last page of metrics is too old to be shown as
// the present.
const metricsOldAfter = 5 * time.Second

// ReasonNoMetricsYet is why a proxy's figures are unknown until its first page
// was read.
const ReasonNoMetricsYet = "no metrics read yet"

// snapshot gathers what is known of the pod now.
func (f *follower) snapshot() model.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.opt.Now()
	p := describePod(f.pod)
	p.Manifest = f.manifest
	if f.opt.Workload != nil {
		p.Workload = f.opt.Workload(f.pod)
	}
	p.Collection = f.collection(now)
	f.history.fill(&p)
	f.nameCallers(&p)
	if f.stage == model.StageOK && now.Sub(p.Sample.Arrived) > StaleAfter {
		p.Collection.Stage = model.StageStale
		p.Collection.Message = "no new frame since " + p.Sample.Arrived.UTC().Format("15:04:05Z")
		switch {
		case f.pod.DeletionTimestamp != nil:
			p.Collection.Message += ": the pod is being deleted"
		case f.broken != "":
			p.Collection.Message += ": " + f.broken
		}
	}
	// A row that will get no more frames does not go on showing old ones as the
	// present; a deleted pod's are the last there will be, and say so.
	ended := f.stage == model.StageFailed || f.stage == model.StageEnded
	if ended && len(f.history.frames) > 0 && now.Sub(p.Sample.Arrived) > StaleAfter {
		p = model.WithoutQueues(p, f.message)
	}
	if p.HostNetwork {
		p.Notes = append(p.Notes, model.ReasonHostNetwork+" (no probe was added)")
	}
	f.fillProxy(&p, now)
	if p.Runtime.Clock.IsKnown() {
		p.Raw = append(p.Raw, f.page...)
	}
	fillContainers(&p, f.pod)
	f.fall(&p)
	return p
}

// collection says how the figures come about.
func (f *follower) collection(now time.Time) model.Collection {
	c := model.Collection{Via: f.opt.Via, Stage: f.stage, Message: f.message, Probe: f.probe, Metrics: f.problem}
	if c.Via == "" {
		c.Via = model.ViaProbe
	}
	if c.Stage == model.StageStarting && f.pulling != "" {
		c.Stage, c.Message = model.StagePulling, f.pulling
	}
	c.Rights = slices.Concat(f.rights, f.problemRights)
	if c.Message == "" && f.broken != "" && len(f.history.frames) == 0 {
		c.Message = f.broken
	}
	limit := f.opt.StartLimit
	if limit == 0 {
		limit = time.Minute
	}
	switch c.Stage {
	case model.StageAsking, model.StagePulling, model.StageStarting, model.StageWaiting:
		if took := now.Sub(f.begun); f.started && took > limit && len(f.history.frames) == 0 {
			c.Stage = model.StageFailed
			c.Message = strings.TrimSuffix(fmt.Sprintf("no figures within %s, it is still %s: %s", limit, c.Stage, c.Message), ": ")
		}
	}
	if f.probe != "" {
		for _, probe := range collect.Probes(f.pod) {
			if probe.Name == f.probe {
				c.Until, c.By, c.Reason = probe.Until, probe.By, probe.Reason
			}
		}
	}
	return c
}

// nameCallers adds whose addresses those are that wait.
func (f *follower) nameCallers(p *model.Pod) {
	if f.opt.Caller == nil {
		return
	}
	for i := range p.Listeners {
		w := p.Listeners[i].Waiting
		if w == nil {
			continue
		}
		for j := range w.Callers {
			w.Callers[j].Pod = f.opt.Caller(w.Callers[j].Address)
		}
	}
}

// fall marks a pod whose queues could not be read but whose proxy tells of its
// workers. Under a rung that was asked for by name nothing falls.
func (f *follower) fall(p *model.Pod) {
	if p.Collection.Stage != model.StageFailed || !p.Runtime.Workers.IsKnown() {
		return
	}
	switch f.opt.Via {
	case "", model.ViaMetrics:
		p.Collection.Via = model.ViaMetrics
		if len(f.history.frames) == 0 {
			*p = model.WithoutQueues(*p, p.Collection.Message)
		}
	}
}

// fillProxy adds what the adapter knows.
func (f *follower) fillProxy(p *model.Pod, now time.Time) {
	for i := range p.Listeners {
		p.Listeners[i].Role = model.RoleApp
	}
	p.Runtime = f.runtime(now)
	if f.adapter == nil {
		return
	}
	if f.proxy != "" {
		p.Proxy = model.Proxy{Adapter: f.adapter.Name(), Container: f.proxy, Version: f.version, Env: f.environment()}
		if !f.hasMetrics() {
			p.Proxy.Version = model.Unknown[string]("no page of the server's that would tell it is known")
		}
	}
	if teller, ok := f.adapter.(plugins.SidecarTeller); ok {
		p.Proxy.Sidecar = teller.Sidecar(f.pod)
	}
	if f.logged.IsKnown() && len(f.history.readings) == 0 {
		p.Notes = append(p.Notes, "the workers are those of the proxy's start-up log line: its metrics cannot be read")
	}
	if teller, ok := f.adapter.(plugins.RoleTeller); ok {
		roles := teller.Roles(f.pod)
		for i, l := range p.Listeners {
			if role, ok := roles[l.Port]; ok {
				p.Listeners[i].Role = role
			}
		}
	}
	f.fillFromThreads(p)
	if c, ok := f.adapter.(plugins.Configurer); ok {
		p.Knobs = c.Knobs(f.pod, f.cpus(p), *p)
	}
}

// cpus are the node's, or, where nodes may not be read, those that the target
// may run on: the same, unless a CPU set narrows them.
func (f *follower) cpus(p *model.Pod) model.Value[int64] {
	if f.nodeCPUs.IsKnown() || !p.Process.CPUsAllowed.IsKnown() {
		return f.nodeCPUs
	}
	p.Notes = append(p.Notes, "the node's CPUs are taken from the target's Cpus_allowed_list: "+f.nodeCPUs.Reason())
	return p.Process.CPUsAllowed
}

// runtime is the newest reading with its window, or unknown with the reason:
// old figures are never carried forward.
func (f *follower) runtime(now time.Time) model.Runtime {
	var reason string
	switch n := len(f.history.readings); {
	case !f.hasMetrics():
		reason = "no proxy that reports its workers was recognised in this pod"
	case n == 0 && f.problem != "":
		reason = f.problem
	case n == 0:
		reason = ReasonNoMetricsYet
	case now.Sub(f.read) > metricsOldAfter && f.problem != "":
		reason = f.problem
	case now.Sub(f.read) > metricsOldAfter:
		reason = "the last metrics are of " + f.read.UTC().Format("15:04:05Z")
	default:
		r := f.history.readings[n-1]
		r.Window = model.BusyWindow(f.history.readings, f.opt.Window.Seconds())
		return r
	}
	r := model.UnknownRuntime(reason)
	// A proxy whose metrics were read before is away, or restarts: what its log said
	// when it began is not the present.
	if len(f.history.readings) == 0 && f.logged.IsKnown() {
		r.Workers = f.logged
	}
	return r
}

// fillContainers adds what the spec says of the containers that were looked at.
func fillContainers(p *model.Pod, pod *corev1.Pod) {
	if c := containerNamed(pod, p.Proxy.Container); c != nil {
		p.Proxy.Image, p.Proxy.CPULimit = c.Image, cpuLimit(c)
	}
	if c := containerNamed(pod, p.Process.Container); c != nil {
		p.Process.CPULimit = cpuLimit(c)
	}
}

func containerNamed(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// cpuLimit is in cores.
func cpuLimit(c *corev1.Container) model.Value[float64] {
	q, ok := c.Resources.Limits[corev1.ResourceCPU]
	if !ok {
		return model.Unknown[float64]("container " + c.Name + " has no CPU limit")
	}
	return model.Known(q.AsApproximateFloat64())
}

// describePod takes what the pod object itself says.
func describePod(pod *corev1.Pod) model.Pod {
	p := model.Pod{
		Meta: model.Meta{
			Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), Created: pod.CreationTimestamp.UTC(),
		},
		Node:        pod.Spec.NodeName,
		Phase:       string(pod.Status.Phase),
		HostNetwork: pod.Spec.HostNetwork,
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			p.Ready = c.Status == corev1.ConditionTrue
		}
	}
	return p
}
