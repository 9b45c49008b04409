package nginx

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// titleWorker is how a worker calls itself. Cache manager and cache loader are
// children of the master as well and have the same name, and a worker that is
// shutting down accepts no more.
const titleWorker = "nginx: worker"

// WorkerThreads gives the threads of each worker, which is a process.
func (Adapter) WorkerThreads(p model.Process) (workers [][]model.Thread, reason string) {
	if len(p.Threads) == 0 {
		return nil, cmp.Or(p.CPU.Reason(), "the threads of nginx were not read")
	}
	if p.OmittedChildren > 0 || p.OmittedThreads > 0 {
		return nil, strconv.Itoa(p.OmittedChildren+p.OmittedThreads) + " threads and processes of nginx were not read"
	}
	untitled := 0
	for _, c := range p.Children {
		switch {
		case c.Title == titleWorker:
			workers = append(workers, threadsOf(p, c.PID))
		case c.Name == "nginx" && c.Title == "":
			untitled++
		}
	}
	switch {
	case len(workers) > 0:
		return workers, ""
	case untitled > 0:
		return nil, "nginx's child processes do not say what they are for"
	case p.Name == "nginx" && len(p.Children) == 0:
		return nil, "nginx runs without child processes (master_process off), or the kernel does not tell of them (CONFIG_PROC_CHILDREN)"
	}
	return nil, "no worker of nginx descends from the target"
}

func threadsOf(p model.Process, pid int) (own []model.Thread) {
	for _, t := range p.Threads {
		if t.PID == pid {
			own = append(own, t)
		}
	}
	return own
}

// workers is the knob of the worker processes.
func (a Adapter) workers(c *corev1.Container, nodeCPUs model.Value[int64], live model.Pod) model.Knob {
	k := model.Knob{
		Name: "workers", Available: nodeCPUs,
		Remedy: model.Remedy{Where: "nginx's configuration", Name: "worker_processes", Form: "a whole number, or auto for the node's CPUs; a reload is enough"},
	}
	k.InForce = a.inForce(c, live.Process)
	if k.InForce.IsKnown() {
		k.SeenBy = "threads"
	}
	if isIngress(c) {
		k.Remedy.Where, k.Remedy.Name = "the ConfigMap of ingress-nginx", "worker-processes"
	}
	text, origin, reason := asked(c)
	if reason != "" {
		k.Asked = model.Unknown[int64](reason)
		return k
	}
	if text == "auto" {
		k.Asked = nodeCPUs
		if !nodeCPUs.IsKnown() {
			k.Asked = model.Unknown[int64]("worker_processes is auto, which is the node's CPUs, and those are unknown: " + cmp.Or(nodeCPUs.Reason(), "not read"))
		}
		origin.Note = "the node's CPUs, whatever the container's limit is"
		if q, ok := c.Resources.Limits[corev1.ResourceCPU]; ok {
			origin.Note += " (" + q.String() + ")"
		}
	} else if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		k.Asked = model.Known(n)
	} else {
		k.Asked = model.Unknown[int64]("worker_processes is " + quote(text) + ", which is no number")
	}
	k.Chain = append(k.Chain, origin)
	if k.Differs() && text == "auto" {
		k.Why = "auto is the CPUs that are online when nginx starts: a cpuset does not narrow them, but another node has others"
	}
	return k
}

func (a Adapter) inForce(c *corev1.Container, p model.Process) model.Value[int64] {
	if p.Container != "" && p.Container != c.Name {
		return model.Unknown[int64]("the threads that were read are those of container " + p.Container + "; -c " + c.Name + " names this one for a new probe")
	}
	workers, reason := a.WorkerThreads(p)
	if reason != "" {
		return model.Unknown[int64](reason)
	}
	return model.Known(int64(len(workers)))
}

// asked finds what worker_processes is told to be by the spec: by -g on the command
// line, or by a variable of an image that turns it into the directive.
func asked(c *corev1.Container) (text string, origin model.Origin, reason string) {
	words := slices.Concat(c.Command, c.Args)
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "-g") }) {
		for _, w := range words {
			if v, ok := directive(w, "worker_processes"); ok {
				return v, model.Origin{Where: "arguments of container " + c.Name, Name: "worker_processes", Value: clip(v)}, ""
			}
		}
	}
	for _, e := range c.Env {
		switch e.Name {
		case "NGINX_WORKER_PROCESSES": // Bitnami's image
			if e.ValueFrom == nil && strings.Contains(c.Image, "bitnami") {
				return e.Value, model.Origin{Where: "env of container " + c.Name, Name: e.Name, Value: clip(e.Value)}, ""
			}
		case "NGINX_ENTRYPOINT_WORKER_PROCESSES_AUTOTUNE":
			if e.Value != "" {
				return "", origin, e.Name + " is set: the image's entrypoint sets worker_processes by the container's CPU limit"
			}
		}
	}
	return "", origin, "worker_processes stands in nginx's configuration, in an image or a ConfigMap, which is not read"
}

// directive finds "NAME VALUE;" in a text of directives.
func directive(text, name string) (string, bool) {
	for text != "" {
		before, after, found := strings.Cut(text, name)
		if !found {
			return "", false
		}
		text = after
		value, _, ended := strings.Cut(after, ";")
		whole := before == "" || strings.HasSuffix(before, ";") || strings.ContainsRune(" \t\n'\"", rune(before[len(before)-1]))
		if ended && whole && strings.HasPrefix(value, " ") {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// clip shortens a foreign value.
func clip(text string) string {
	const most = 80
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
