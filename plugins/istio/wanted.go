package istio

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

const (
	// annConfig holds a ProxyConfig in YAML, of which concurrency is one field.
	annConfig = "proxy.istio.io/config"
	// annLimit becomes the CPU limit of the sidecar's container.
	annLimit = "sidecar.istio.io/proxyCPULimit"
	// varConfig holds the ProxyConfig as the injector saw it, the mesh's settings
	// included. The agent lays the annotation over it.
	varConfig = "PROXY_CONFIG"

	wherePodTemplate = "pod template annotation"
	wherePod         = "pod annotation"
)

// AnnotationPrefixes are those of the annotations that lead to the workers.
func (Adapter) AnnotationPrefixes() []string {
	return []string{"proxy.istio.io/", "sidecar.istio.io/"}
}

// asked is how many workers something asks for. 0 is a thread for each CPU.
type asked struct {
	n      model.Value[int64]
	origin model.Origin
}

// wanted is all that decides on the workers of one sidecar.
type wanted struct {
	// explicit is the first that asks for a number, nil where nothing does.
	explicit *asked
	// limit in whole CPUs, rounded up; unknown where there is none.
	limit model.Value[int64]
	chain []model.Origin
	// problems say what is ignored and why, drift what was changed since the pod
	// was made.
	problems, drift []string
}

// want follows the agent: its own flag beats the annotation, which beats the
// mesh's setting, and where none asks, the CPU limit decides. template holds the
// annotations of the pod template as they are now, where they are known.
func want(pod *corev1.Pod, c *corev1.Container, template model.Value[map[string]string]) wanted {
	var w wanted
	w.limit = model.Unknown[int64]("container " + c.Name + " has no CPU limit")
	if text, ok := flag(c, "--concurrency"); ok {
		w.take(asked{number(text), model.Origin{Where: "arguments of container " + c.Name, Name: "--concurrency", Value: clip(text)}}, true)
	}
	text, where, set := w.annotation(pod, template, annConfig)
	if set {
		n, shown, found := concurrencyOf(text)
		if found {
			w.take(asked{n, model.Origin{Where: where, Name: annConfig, Value: shown}}, false)
		}
	}
	for _, e := range c.Env {
		if e.Name == varConfig && e.ValueFrom == nil {
			if n, shown, found := concurrencyOf(e.Value); found {
				w.take(asked{n, model.Origin{Where: "env of container " + c.Name, Name: varConfig, Value: shown, Note: "the mesh's settings when the pod was made"}}, false)
			}
		}
	}
	w.cpuLimit(pod, c, template)
	return w
}

// annotation is the value that counts from the next start on: the template's,
// where that is known, else the pod's own. A difference is a drift.
func (w *wanted) annotation(pod *corev1.Pod, template model.Value[map[string]string], name string) (text, where string, set bool) {
	own, has := pod.Annotations[name]
	now, known := template.Get()
	next, wants := now[name]
	if !known || has == wants && own == next {
		return own, wherePod, has
	}
	switch {
	case !wants:
		w.drift = append(w.drift, "annotation "+name+" was taken from the pod template since the pod was made")
	default:
		w.drift = append(w.drift, "annotation "+name+" of the pod template is another than the pod was made with")
	}
	return next, wherePodTemplate, wants
}

// take notes what asks; the first valid one counts. A flag of 0 asks for nothing.
func (w *wanted) take(a asked, isFlag bool) {
	n, ok := a.n.Get()
	switch {
	case !ok:
		a.origin.Note = "ignored: " + a.n.Reason()
		w.problems = append(w.problems, a.origin.Name+" is ignored: "+a.n.Reason())
	case isFlag && n == 0:
		a.origin.Note = "0 asks for nothing"
	case w.explicit != nil:
		a.origin.Note = "not used: " + w.explicit.origin.Name + " beats it"
	default:
		if n == 0 {
			a.origin.Note = "0 is a thread for each CPU"
		}
		w.explicit = &a
	}
	w.chain = append(w.chain, a.origin)
}

// cpuLimit is the container's, or what the annotation will make of it.
func (w *wanted) cpuLimit(pod *corev1.Pod, c *corev1.Container, template model.Value[map[string]string]) {
	has, limited := c.Resources.Limits[corev1.ResourceCPU]
	limited = limited && !has.IsZero()
	text, where, set := w.annotation(pod, template, annLimit)
	if set {
		o := model.Origin{Where: where, Name: annLimit, Value: clip(text)}
		q, err := resource.ParseQuantity(text)
		switch {
		case err != nil || q.Sign() <= 0:
			o.Note = "ignored: no CPU quantity above 0"
			w.problems = append(w.problems, annLimit+" is "+quote(text)+", which is no CPU quantity above 0")
		default:
			if !limited || has.Cmp(q) != 0 {
				w.drift = append(w.drift, "annotation "+annLimit+" asks for "+quote(text)+", but the container has "+limitWords(has, limited)+": it was made before")
			}
			has, limited = q, true
		}
		w.chain = append(w.chain, o)
	}
	if !limited {
		return
	}
	n := ceil(has)
	w.limit = model.Known(n)
	o := model.Origin{Where: "container " + c.Name, Name: "CPU limit", Value: has.String()}
	if w.explicit != nil {
		o.Note = "not used: " + w.explicit.origin.Name + " beats it"
	} else if has.Cmp(*resource.NewQuantity(n, resource.DecimalSI)) != 0 {
		o.Note = "rounded up to " + strconv.FormatInt(n, 10)
	}
	w.chain = append(w.chain, o)
}

func limitWords(q resource.Quantity, limited bool) string {
	if !limited {
		return "no CPU limit"
	}
	return "a limit of " + q.String()
}

// ceil rounds up to whole CPUs, as the kubelet does for ISTIO_CPU_LIMIT.
func ceil(q resource.Quantity) int64 {
	q = q.DeepCopy()
	q.RoundUp(0)
	return max(1, q.Value())
}

// flag finds "--name value" and "--name=value" in what the container starts.
func flag(c *corev1.Container, name string) (string, bool) {
	for _, line := range [][]string{c.Command, c.Args} {
		for i, arg := range line {
			if value, ok := strings.CutPrefix(arg, name+"="); ok {
				return value, true
			}
			if arg == name && i+1 < len(line) {
				return line[i+1], true
			}
		}
	}
	return "", false
}

// maxConfig bounds what is read of a ProxyConfig: annotations together have 256 KiB
// at most.
const maxConfig = 256 << 10

// concurrencyOf finds concurrency in a ProxyConfig, YAML or JSON; found is false
// where it does not set it. shown is what to repeat of it.
func concurrencyOf(text string) (n model.Value[int64], shown string, found bool) {
	if len(text) > maxConfig {
		return model.Unknown[int64]("it is larger than 256 KiB"), clip(text), true
	}
	var config map[string]json.RawMessage
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return model.Unknown[int64]("it is no YAML object"), clip(text), true
	}
	raw, ok := config["concurrency"]
	if !ok || string(raw) == "null" {
		return n, "", false
	}
	var word string
	if json.Unmarshal(raw, &word) != nil {
		word = string(raw)
	}
	return number(word), "concurrency: " + clip(word), true
}

// number reads an int32 that is not negative.
func number(text string) model.Value[int64] {
	n, err := strconv.ParseInt(text, 10, 32)
	if f, ferr := strconv.ParseFloat(text, 64); err != nil && ferr == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
		n, err = int64(f), nil // 2.0 is 2 to Istio
	}
	if err != nil || n < 0 {
		return model.Unknown[int64]("concurrency is " + quote(text) + ", which is no whole number from 0")
	}
	return model.Known(n)
}

// shown is how much of a value from a pod's spec is repeated.
const shown = 120

func clip(s string) string {
	if utf8.RuneCountInString(s) <= shown {
		return s
	}
	return string([]rune(s)[:shown]) + "…"
}

func quote(s string) string { return strconv.Quote(clip(s)) }
