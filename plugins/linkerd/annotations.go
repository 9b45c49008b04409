package linkerd

import (
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The annotations that the injector turns into variables of the proxy. Those of
// a namespace are copied to the pod when it is created (the ratio is not), so
// the pod's own are what it was made with.
const (
	annRequest       = "config.linkerd.io/proxy-cpu-request"
	annLimit         = "config.linkerd.io/proxy-cpu-limit"
	annRatio         = "config.linkerd.io/proxy-cpu-ratio-limit"
	annAdditionalEnv = "config.linkerd.io/proxy-additional-env"
)

// ask is a variable that an annotation asks for.
type ask struct {
	variable string
	setting  setting
	// origin is the annotation itself, at is all that is known of where it stands.
	origin model.Origin
	at     placed
}

// conversion is how the injector makes a variable from an annotation.
type conversion struct {
	annotation, variable string
	convert              func(string) (value, note string, ok bool)
}

// conversions gives the injector's table. One older than Linkerd 2.18 made
// CORES from the limit and nothing from the request.
func conversions(legacy bool) []conversion {
	limit := conversion{annLimit, varCoresMax, wholeCPUs}
	share := conversion{annRatio, varRatio, ratioLimit}
	if legacy {
		limit.variable = varCores
		return []conversion{limit, share}
	}
	return []conversion{{annRequest, varCoresMin, wholeCPUs}, limit, share}
}

// asks lists what annotations ask for, in ascending precedence: the injector
// puts additional variables behind all others. refused holds the annotations
// that the injector does not take, by their names.
func asks(get func(name string) placed, legacy bool) (asked []ask, refused map[string]model.Origin) {
	refused = make(map[string]model.Origin)
	for _, rule := range conversions(legacy) {
		at := get(rule.annotation)
		if !at.set {
			continue
		}
		value, note, ok := rule.convert(at.value)
		origin := at.origin(at.value, note)
		if !ok {
			refused[rule.annotation] = origin
			continue
		}
		asked = append(asked, ask{rule.variable, setting{set: true, value: value}, origin, at})
	}

	if at := get(annAdditionalEnv); at.set {
		entries, err := additionalEnv(at.value)
		if err != nil {
			refused[annAdditionalEnv] = at.origin(at.value, "ignored: not a JSON list of name and value")
		}
		for _, e := range deciding(entries) {
			asked = append(asked, ask{e.Name, fromEntry(e), at.origin(e.Name+"="+e.Value, ""), at})
		}
	}
	return asked, refused
}

// deciding keeps the entries that decide on a knob, of each name the last: a list
// may have twenty thousand.
func deciding(entries []corev1.EnvVar) []corev1.EnvVar {
	var kept []corev1.EnvVar
	for _, name := range knobVariables() {
		for i := len(entries) - 1; i >= 0; i-- {
			if entries[i].Name == name {
				kept = append(kept, entries[i])
				break
			}
		}
	}
	return kept
}

// origin is the link of a chain that the annotation is.
func (at placed) origin(value, note string) model.Origin {
	var words reasons
	words.add(note)
	words.add(at.note)
	return model.Origin{Where: at.where, Name: at.name, Value: clip(value), Note: words.String()}
}

// wholeCPUs rounds a CPU quantity up to whole CPUs, as the injector does:
// "1500m" gives 2. Zero sets nothing.
func wholeCPUs(text string) (value, note string, ok bool) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return "", "ignored: not a CPU quantity", false
	}
	n := ceil(q)
	switch {
	case n < 1:
		return "", "ignored: not above 0", false
	case q.Cmp(*resource.NewQuantity(n, resource.DecimalSI)) != 0:
		note = "rounded up to " + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10), note, true
}

// ceil rounds up to whole CPUs. (Quantity.RoundUp works in place.)
func ceil(q resource.Quantity) int64 {
	q = q.DeepCopy()
	q.RoundUp(0)
	return q.Value()
}

// ratioLimit takes what the injector takes: more than 0 and less than 1. The
// proxy itself would also take 1, but no annotation can ask for that.
func ratioLimit(text string) (value, note string, ok bool) {
	r, ok := ratio(text)
	if !ok || r >= 1 {
		return "", "refused: not between 0 and 1 (1 itself is refused too)", false
	}
	return text, "", true
}

// additionalEnv reads the JSON list of the annotation.
func additionalEnv(text string) ([]corev1.EnvVar, error) {
	var entries []corev1.EnvVar
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, err
	}
	return entries, nil
}
