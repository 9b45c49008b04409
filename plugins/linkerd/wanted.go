package linkerd

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// wanted is one variable as somebody wants it now: the last annotation that asks
// for it, else what the container's environment holds.
type wanted struct {
	variable string
	setting
	// chain is the annotation, if any, and the environment's entry.
	chain []model.Origin
	// drift says that the annotation asks for what the environment does not hold;
	// empty when it does or when nothing asks. restart: a restart settles it.
	drift   string
	restart bool
}

// configuration is all that decides on the knobs of one pod's proxy.
type configuration struct {
	pod       *corev1.Pod
	container *corev1.Container
	// proxy is the version that the running proxy states, env what its process told
	// of variables that the spec hides.
	proxy model.Value[string]
	env   map[string]model.Value[string]
	// asked is what annotations ask for now, made what those of the pod did.
	asked, made []ask
	refused     map[string]model.Origin
	// list is the annotation of additional variables that counts; empty when there
	// is none.
	list string
	// ratio is an annotation of the namespace that does nothing; nil when there is none.
	ratio *model.Origin
}

func configure(pod *corev1.Pod, container *corev1.Container, live model.Pod) configuration {
	c := configuration{pod: pod, container: container, proxy: live.Proxy.Version, env: live.Proxy.Env}
	at := places{pod, live.Manifest, live.Workload}
	c.asked, c.refused = asks(at.now, c.legacy())
	c.list = at.now(annAdditionalEnv).value
	c.made, _ = asks(at.ofPod, c.legacy())
	for _, was := range c.made {
		if _, still := c.ask(was.variable); !still {
			c.asked = append(c.asked, removed(was, at.now(was.origin.Name)))
		}
	}
	if share := at.now(annRatio); !share.set && len(share.others) > 0 {
		c.ratio = &share.others[0]
	}
	return c
}

// removed is what is asked of a variable that an annotation set when the pod was
// made, and no longer does: nothing, which for the minimum is one.
func removed(was ask, now placed) ask {
	now.gone = true
	a := ask{variable: was.variable, origin: was.origin, at: now}
	a.origin.Note = "this pod was made with it; it is gone since"
	if was.variable == varCoresMin {
		a.setting = setting{set: true, value: "1"}
	}
	return a
}

// legacy says whether the pod was injected by a Linkerd before 2.18, whose
// proxies know CORES only. Where the proxy does not say its version, the absence
// of all newer variables does: later injectors always set CORES_MIN.
func (c configuration) legacy() bool {
	if c.proxy.IsKnown() {
		return older(c.proxy, proxyCoreBounds)
	}
	for _, name := range []string{varCoresMin, varCoresMax, varRatio} {
		if s := c.lookup(name); s.set || s.hidden != "" {
			return false
		}
	}
	return true
}

// ask is the last annotation that asks for a variable.
func (c configuration) ask(variable string) (ask, bool) { return last(c.asked, variable) }

func last(asked []ask, variable string) (ask, bool) {
	for i := len(asked) - 1; i >= 0; i-- {
		if asked[i].variable == variable {
			return asked[i], true
		}
	}
	return ask{}, false
}

// want resolves one variable.
func (c configuration) want(variable string) wanted {
	env := c.lookup(variable)
	a, asked := c.ask(variable)
	w := wanted{variable: variable, setting: env}
	if asked {
		w.setting = a.setting
		w.chain = append(w.chain, c.beaten(a)...)
		w.chain = append(w.chain, a.at.others...)
		w.chain = append(w.chain, a.origin)
	}
	w.chain = append(w.chain, c.entries(variable, env)...)
	switch {
	case !asked:
	case a.setting.hidden != "" && env.told != "":
		// The annotation does not show the value either, but the process does.
		w.setting = env
	case a.setting.hidden != "":
	case env.hidden != "":
		// What the process got is not in the spec, so it cannot be said to differ.
		w.setting = env
	case !a.setting.set && !env.set, env.set && a.setting.set && sameNumber(env.value, a.setting.value):
	default:
		w.drift, w.restart = c.driftWords(a, env)
	}
	return w
}

// mostLinks bounds what a chain repeats of one variable.
const mostLinks = 4

// beaten are the annotations that ask for the same variable and do not count.
func (c configuration) beaten(by ask) []model.Origin {
	var links []model.Origin
	for _, a := range c.asked {
		if a.variable == by.variable && a.origin.Name != by.origin.Name && len(links) < mostLinks {
			o := a.origin
			o.Note = "not used: " + by.origin.Name + " sets " + by.variable + " behind it"
			links = append(links, o)
		}
	}
	return links
}

// entries are those of the environment, the one that counts last.
func (c configuration) entries(variable string, env setting) []model.Origin {
	const where = "env of container " + containerName
	var links []model.Origin
	for _, e := range c.container.Env {
		if e.Name == variable {
			links = append(links, model.Origin{
				Where: where, Name: variable, Value: clip(e.Value), Note: "not used: the name stands again further down",
			})
		}
	}
	if len(links) > 0 {
		links = links[:len(links)-1]
		links = links[max(0, len(links)-mostLinks):]
	}
	if !env.set {
		return links
	}
	return append(links, model.Origin{Where: where, Name: variable, Value: clip(env.value), Note: env.hidden + env.told})
}

// driftWords says why the environment does not hold what is asked for.
func (c configuration) driftWords(a ask, env setting) (words string, restart bool) {
	if a.at.gone {
		return c.goneWords(a, env)
	}
	has := "does not set " + a.variable
	if env.set {
		has = "sets " + a.variable + " to " + quote(env.value)
	}
	words = called(a.origin.Where) + " " + a.origin.Name + " asks for " + quote(a.setting.value) + ", but the container " + has
	r, gated := knows(a.origin.Name)
	switch {
	case gated && injectedBefore(c.pod, r):
		return words + ": it was injected by " + quote(c.pod.Annotations[annotationVersion]) + ", and only " + r.String() + " knows the annotation", false
	case c.helmCores() && a.origin.Name != annAdditionalEnv:
		return words + ": Helm's proxy.cores sets the workers, and the injector drops the annotation", false
	case a.at.changed != "":
		return words + ": " + a.at.changed, a.at.restart
	case a.at.note != "":
		return words + ": " + a.at.note + ", and the injector reads a pod's own only when it is made: put it on the pod template", false
	}
	words += ": it was injected before the annotation was set; restart the workload"
	if a.origin.Name != annAdditionalEnv {
		words += " (Helm's proxy.cores makes the injector drop it)"
	}
	return words, false
}

// goneWords says that the container holds what nobody asks for any more.
func (c configuration) goneWords(a ask, env setting) (words string, restart bool) {
	words = "annotation " + a.origin.Name + " made the container set " + a.variable + " to " + quote(env.value) + ", and "
	if a.at.changed == "" {
		return words + "no longer does", false
	}
	words += a.at.changed
	if a.origin.Name == annAdditionalEnv {
		words += " (Helm's proxy.additionalEnv may set it then)"
	}
	return words, a.at.restart
}

// called is a place in a sentence.
func called(where string) string {
	if where == wherePod {
		return "annotation"
	}
	return where
}

// helmCores says whether Helm's proxy.cores decides on the workers of this pod: a
// minimum above 1 that no annotation asks for. The injector then drops all that
// annotations say of them.
func (c configuration) helmCores() bool {
	least, both := c.lookup(varCoresMin), c.lookup(varCores)
	if _, asked := last(c.made, varCoresMin); asked || !least.literal() || least.value != both.value {
		return false
	}
	n, ok := whole(least.value)
	return ok && n > 1
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
