package linkerd

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// defaultBacklog is what the proxy asks for when nothing is set: the constant of
// Rust's standard library, in proxies that read no variable too.
const defaultBacklog = 128

// whereHelm is a value of the control plane's chart, whereKernel what the kernel
// of the pod's network namespace has.
const (
	whereHelm   = "Helm value"
	whereKernel = "kernel"
)

// backlogKnob is one listener's accept queue and the variable that sizes it.
type backlogKnob struct {
	name, variable string
	role           model.Role
}

func backlogs() []backlogKnob {
	return []backlogKnob{
		{"inbound backlog", varInboundBacklog, model.RoleInbound},
		{"outbound backlog", varOutboundBacklog, model.RoleOutbound},
		// Nothing of its own: the admin listener takes the inbound backlog.
		{"admin backlog", varInboundBacklog, model.RoleAdmin},
	}
}

func (c configuration) backlog(b backlogKnob, roles map[uint16]model.Role, live model.Pod) model.Knob {
	k := model.Knob{Name: b.name, InForce: limitInForce(b.role, roles, live), Remedy: c.backlogRemedy(b.variable)}
	if k.InForce.IsKnown() {
		k.SeenBy = "ss"
	}
	var why reasons
	if o, ok := c.refused[annAdditionalEnv]; ok {
		k.Chain = append(k.Chain, o)
		why.add(refusal(o))
	}
	w := c.want(b.variable)
	k.Chain = append(k.Chain, w.chain...)
	switch n, valid := backlog(w.value); {
	case w.hidden != "":
		k.Asked = model.Unknown[int64](w.hidden)
	case !w.set:
		k.Asked = model.Known[int64](defaultBacklog)
		k.Chain = append(k.Chain, model.Origin{Where: "default", Name: b.variable, Value: strconv.Itoa(defaultBacklog)})
	case valid:
		k.Asked = model.Known(n)
	default:
		words := b.variable + "=" + quote(w.value) + " is no whole number from 0 to 4294967295"
		if !older(c.proxy, proxyBacklogs) {
			words += ": the proxy ends with exit code 64"
		}
		k.Asked = model.Unknown[int64](words)
		why.add(words)
	}
	if b.role == model.RoleAdmin {
		k.Chain = append(k.Chain, model.Origin{
			Where: "rule", Name: "admin listener", Value: varInboundBacklog,
			Note: "it has no variable of its own and takes the inbound backlog",
		})
	}
	k.Chain = append(k.Chain, somaxconnLink(k, live.Counters.Somaxconn)...)
	switch {
	case k.Differs():
		words := c.explainBacklog(k, w, live.Counters.Somaxconn)
		why.add(words)
		if words != "" && words == w.drift {
			capped := k.Asked.Or(0) > live.Counters.Somaxconn.Or(math.MaxInt64)
			if capped {
				why.add("net.core.somaxconn of the pod is " + strconv.FormatInt(live.Counters.Somaxconn.Or(0), 10) + " and will cap it")
			}
			k.Remedy.Restart = w.restart && !capped
		}
	case !k.Asked.IsKnown():
		why.add(w.drift)
	}
	k.Why = why.String()
	return k
}

// somaxconnLink is the kernel's part: the smaller of what is asked for and
// net.core.somaxconn is what a listener gets.
func somaxconnLink(k model.Knob, somaxconn model.Value[int64]) []model.Origin {
	top, ok := somaxconn.Get()
	asked, known := k.Asked.Get()
	if !ok || !known {
		return nil
	}
	note := "does not bind"
	if asked > top {
		note = "binds: less than what is asked for"
	}
	return []model.Origin{{Where: whereKernel, Name: "net.core.somaxconn", Value: strconv.FormatInt(top, 10), Note: note}}
}

// limitInForce is the Send-Q of the role's socket with the least room left.
func limitInForce(role model.Role, roles map[uint16]model.Role, live model.Pod) model.Value[int64] {
	var sockets []model.Socket
	for _, l := range live.Listeners {
		if roles[l.Port] == role {
			sockets = append(sockets, l.Sockets...)
		}
	}
	switch {
	case len(live.Listeners) == 0:
		why := "the pod's listeners were not read"
		if live.Collection.Message != "" {
			why += ": " + live.Collection.Message
		}
		return model.Unknown[int64](why)
	case len(sockets) == 0:
		return model.Unknown[int64]("nothing listens on the proxy's " + string(role) + " port")
	}
	// Among sockets that are equally full, the one with the lowest limit.
	slices.SortStableFunc(sockets, func(a, b model.Socket) int {
		return cmp.Compare(a.Limit.Or(math.MaxInt64), b.Limit.Or(math.MaxInt64))
	})
	return model.Listener{Sockets: sockets}.Worst().Limit
}

// explainBacklog says why the limit in force is not the one asked for; empty
// where nothing that is known explains it.
func (c configuration) explainBacklog(k model.Knob, w wanted, somaxconn model.Value[int64]) string {
	asked, _ := k.Asked.Get()
	inForce, _ := k.InForce.Get()
	top, topKnown := somaxconn.Get()
	v, versionKnown := c.proxy.Get()
	switch {
	case w.set && older(c.proxy, proxyBacklogs):
		return "proxy " + v + " is older than " + proxyBacklogs + " and ignores " + w.variable
	case w.drift != "":
		return w.drift
	case asked > inForce && topKnown && inForce == top:
		return "net.core.somaxconn of the pod is " + strconv.FormatInt(top, 10) + " and caps it"
	case inForce == defaultBacklog && !versionKnown:
		return "proxies before " + proxyBacklogs + " ignore " + w.variable + ", and the version of this one is unknown"
	case asked > inForce && topKnown && inForce < top:
		return "the kernel takes net.core.somaxconn when listen() is called: it is " + strconv.FormatInt(top, 10) +
			" now and may have been " + strconv.FormatInt(inForce, 10) + " then"
	case asked > inForce && !topKnown:
		return "net.core.somaxconn of the pod caps every backlog, but it is unknown here"
	}
	return ""
}

// backlogRemedy: no annotation or Helm value of its own exists, so the variable
// goes through the additional ones. Never through the annotation on a namespace
// alone: the injector then makes an invalid patch, and no pod starts.
func (c configuration) backlogRemedy(variable string) model.Remedy {
	form, set := `[{"name":"`+variable+`","value":"N"}]`, variable
	if older(c.proxy, proxyBacklogs) {
		form = "takes proxy " + proxyBacklogs + " or later (Linkerd 2.20, edge-26.4.1); then " + form
		set = "" // alone it would do nothing
	}
	if r, ok := knows(annAdditionalEnv); ok && injectedBefore(c.pod, r) {
		return model.Remedy{Where: whereHelm, Name: "proxy.additionalEnv", Form: form, Variable: set}
	}
	if others := c.otherEntries(variable); others > 0 {
		form += ", beside the " + strconv.Itoa(others) + " other entries of the list"
	}
	return model.Remedy{Where: wherePodTemplate, Name: annAdditionalEnv, Form: form, Variable: set}
}

// otherEntries counts what else the additional-env annotation sets: whoever
// replaces it must keep these.
func (c configuration) otherEntries(variable string) int {
	n := 0
	entries, err := additionalEnv(c.list)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if e.Name != variable {
			n++
		}
	}
	return n
}
