package linkerd

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// WorkerRule is how the pod's proxy decides on its number of workers, from the
// spec of its container alone: what it does when it starts. Bounds that the spec
// does not show (valueFrom) are unknown with a reason. limit is the container's
// CPU limit rounded up to whole CPUs, as the proxy does. It is false for a pod
// without a proxy.
func (Adapter) WorkerRule(pod *corev1.Pod) (rule model.WorkerRule, limit model.Value[int64], ok bool) {
	c := proxyContainer(pod)
	if c == nil {
		return model.WorkerRule{}, limit, false
	}
	rule = workerRule(func(name string) setting { return lookup(c, name) })
	return rule, limitOf(c), true
}

// limitOf is a container's CPU limit in whole CPUs, rounded up.
func limitOf(c *corev1.Container) model.Value[int64] {
	q, ok := c.Resources.Limits[corev1.ResourceCPU]
	if !ok || q.IsZero() {
		return model.Unknown[int64]("container " + c.Name + " has no CPU limit")
	}
	return model.Known(max(1, ceil(q)))
}

// workerRule reads the four variables: MIN, else CORES, is the minimum. A value
// that is no whole number above 0, or no ratio in (0,1], counts as unset; the
// proxy says `Ignoring invalid configuration` in its log.
func workerRule(get func(string) setting) model.WorkerRule {
	lowest := wholeSetting(get(varCoresMin))
	if !lowest.IsKnown() && lowest.Reason() == "" {
		lowest = wholeSetting(get(varCores))
	}
	rule := model.WorkerRule{Min: lowest, Max: wholeSetting(get(varCoresMax))}
	switch s := get(varRatio); {
	case s.hidden != "":
		rule.Ratio = model.Unknown[float64](s.hidden)
	case s.set:
		if r, ok := ratio(s.value); ok {
			rule.Ratio = model.Known(r)
		}
	}
	return rule
}

// hiddenBound gives the reason why a rule cannot be applied; empty when it can.
// MAX beats the ratio, which then need not be known.
func hiddenBound(r model.WorkerRule) string {
	if why := r.Min.Reason(); why != "" {
		return why
	}
	if why := r.Max.Reason(); why != "" || r.Max.IsKnown() {
		return why
	}
	return r.Ratio.Reason()
}

func wholeSetting(s setting) model.Value[int64] {
	if s.hidden != "" {
		return model.Unknown[int64](s.hidden)
	}
	if n, ok := whole(s.value); s.set && ok {
		return model.Known(n)
	}
	return model.Value[int64]{}
}

// whole reads a number of workers as the proxy (Rust's usize) does: digits, with
// a plus at most, and above 0. What no machine can have is cut.
func whole(text string) (int64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
	if err != nil || n == 0 {
		return 0, false
	}
	return int64(min(n, math.MaxInt64)), true
}

// ratio reads a share of the available CPUs in (0,1]. Rust knows neither hex
// floats nor underscores, Go does.
func ratio(text string) (float64, bool) {
	if strings.ContainsAny(text, "xX_") {
		return 0, false
	}
	r, err := strconv.ParseFloat(text, 64)
	return r, err == nil && r > 0 && r <= 1
}

// backlog reads a backlog as the proxy (Rust's u32) does. 0 and 4294967295 are
// valid: the kernel cuts to net.core.somaxconn.
func backlog(text string) (int64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 32)
	return int64(n), err == nil
}
