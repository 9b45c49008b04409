package linkerd

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// wanted is one variable as somebody wanted it: the last annotation that asks
// for it, else what the container's environment holds.
type wanted struct {
	variable string
	setting
	// chain is the annotation, if any, and the environment's entry.
	chain []model.Origin
	// drift says that the annotation asks for what the environment does not hold;
	// empty when it does or when nothing asks.
	drift string
}

// configuration is all that decides on the knobs of one pod's proxy.
type configuration struct {
	pod       *corev1.Pod
	container *corev1.Container
	// proxy is the version that the running proxy states.
	proxy   model.Value[string]
	asked   []ask
	refused map[string]model.Origin
}

func configure(pod *corev1.Pod, c *corev1.Container, proxy model.Value[string]) configuration {
	asked, refused := asks(pod, legacy(c, proxy))
	return configuration{pod, c, proxy, asked, refused}
}

// legacy says whether the pod was injected by a Linkerd before 2.18, whose
// proxies know CORES only. Where the proxy does not say its version, the absence
// of all newer variables does: later injectors always set CORES_MIN.
func legacy(c *corev1.Container, proxy model.Value[string]) bool {
	if proxy.IsKnown() {
		return older(proxy, proxyCoreBounds)
	}
	for _, name := range []string{varCoresMin, varCoresMax, varRatio} {
		if s := lookup(c, name); s.set || s.hidden != "" {
			return false
		}
	}
	return true
}

// ask is the last annotation that asks for a variable.
func (c configuration) ask(variable string) (ask, bool) {
	for i := len(c.asked) - 1; i >= 0; i-- {
		if c.asked[i].variable == variable {
			return c.asked[i], true
		}
	}
	return ask{}, false
}

// want resolves one variable.
func (c configuration) want(variable string) wanted {
	env := lookup(c.container, variable)
	a, asked := c.ask(variable)
	w := wanted{variable: variable, setting: env}
	if asked {
		w.setting = a.setting
		w.chain = append(w.chain, a.origin)
	}
	if env.set {
		w.chain = append(w.chain, model.Origin{
			Where: "env of container " + containerName, Name: variable, Value: clip(env.value), Note: env.hidden,
		})
	}
	switch {
	case !asked || a.setting.hidden != "":
	case env.hidden != "":
		// What the process got is not in the spec, so it cannot be said to differ.
		w.setting = env
	case env.set && sameNumber(env.value, a.setting.value):
	default:
		w.drift = c.driftWords(a, env)
	}
	return w
}

func (c configuration) driftWords(a ask, env setting) string {
	has := "does not set " + a.variable
	if env.set {
		has = "sets " + a.variable + " to " + quote(env.value)
	}
	words := "annotation " + a.origin.Name + " asks for " + quote(a.setting.value) + ", but the container " + has
	if r, gated := knows(a.origin.Name); gated && injectedBefore(c.pod, r) {
		return words + ": it was injected by " + quote(c.pod.Annotations[annotationVersion]) + ", and only " + r.String() + " knows the annotation"
	}
	words += ": it was injected before the annotation was set; restart the workload"
	if a.origin.Name != annAdditionalEnv {
		words += " (Helm's proxy.cores makes the injector drop it)"
	}
	return words
}

// sameNumber compares values as the proxy does: "0.50" is 0.5.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && x == y
}
