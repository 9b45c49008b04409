package linkerd

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// knobVariables are those that decide on a knob.
func knobVariables() []string {
	return []string{varCoresMin, varCores, varCoresMax, varRatio, varInboundBacklog, varOutboundBacklog}
}

// hidden are the variables of knobs whose values the pod's spec does not show.
func hidden(c *corev1.Container) []string {
	var names []string
	for _, name := range knobVariables() {
		if lookup(c, name).hidden != "" {
			names = append(names, name)
		}
	}
	return names
}

// EnvPath is the page on which the proxy tells its own environment, with a query
// for the variables of knobs that the pod's spec does not show, and no others.
func (Adapter) EnvPath(pod *corev1.Pod) string {
	c := proxyContainer(pod)
	if c == nil {
		return ""
	}
	names := hidden(c)
	if len(names) == 0 {
		return ""
	}
	return "/env.json?" + strings.Join(names, "&")
}

// maxValue bounds a value that is kept: the longest valid one has twenty digits.
const maxValue = 256

// ReadEnv reads that page: a JSON object of strings, null for a variable that is
// not set. Such a one is the zero Value here, unknown without a reason.
func (Adapter) ReadEnv(pod *corev1.Pod, body []byte) map[string]model.Value[string] {
	c := proxyContainer(pod)
	if c == nil {
		return nil
	}
	var page map[string]json.RawMessage
	err := json.Unmarshal(body, &page)
	env := map[string]model.Value[string]{}
	for _, name := range hidden(c) {
		env[name] = envValue(page, name)
		if err != nil {
			env[name] = model.Unknown[string]("what /env.json gave is no JSON object: " + quote(string(body[:min(len(body), shown)])))
		}
	}
	return env
}

func envValue(page map[string]json.RawMessage, name string) model.Value[string] {
	raw, found := page[name]
	var value *string
	switch {
	case !found:
		return model.Unknown[string]("/env.json does not tell " + name)
	case json.Unmarshal(raw, &value) != nil:
		return model.Unknown[string]("/env.json gives no text for " + name)
	case value == nil:
		return model.Value[string]{}
	case len(*value) > maxValue:
		return model.Unknown[string]("/env.json gives a value for " + name + " that is too long for a number")
	}
	return model.Known(*value)
}
