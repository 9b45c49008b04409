package linkerd

import (
	"cmp"
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// whereFormula marks the links of a chain that the proxy works out itself.
const whereFormula = "formula"

// workers is the knob of the main runtime's worker threads. The admin thread is
// not among them.
func (c configuration) workers(nodeCPUs model.Value[int64], live model.Pod) model.Knob {
	k := model.Knob{Name: "workers", InForce: live.Runtime.Workers, Available: nodeCPUs, Remedy: c.workersRemedy()}
	if k.InForce.IsKnown() {
		k.SeenBy = "tokio_rt_workers"
	} else if k.InForce.Reason() == "" {
		k.InForce = model.Unknown[int64](cmp.Or(live.Collection.Metrics, "the proxy's metrics were not read"))
	}

	rule := workerRule(func(name string) setting { return c.want(name).setting })
	cpus := c.available(nodeCPUs)
	k.Asked = askedWorkers(rule, cpus)

	bounds := c.bounds(rule)
	var why reasons
	for _, name := range []string{annRequest, annLimit, annRatio, annAdditionalEnv} {
		if o, ok := c.refused[name]; ok {
			k.Chain = append(k.Chain, o)
			why.add(refusal(o))
		}
	}
	if c.ratio != nil {
		k.Chain = append(k.Chain, *c.ratio)
		why.add(refusal(*c.ratio))
	}
	for _, b := range bounds {
		k.Chain = append(k.Chain, b.chain...)
		why.add(b.ignored)
	}
	if len(k.Chain) == 0 {
		k.Chain = []model.Origin{{Where: "default", Name: "workers", Value: "1"}}
	}
	if n, ok := k.Asked.Get(); ok {
		k.Chain = append(k.Chain, cpus.origin(), model.Origin{
			Where: whereFormula, Name: "workers", Value: strconv.FormatInt(n, 10), Note: ruleWords(rule, cpus),
		})
	}
	if k.Differs() {
		k.Remedy.Restart = c.explainWorkers(&why, k, rule, bounds)
	}
	k.Why = why.String()
	return k
}

// refusal says that an annotation has no effect.
func refusal(o model.Origin) string {
	return called(o.Where) + " " + o.Name + "=" + quote(o.Value) + " is " + o.Note
}

// bound is one variable that had a say in the number of workers, or tried to.
type bound struct {
	wanted
	// ignored says that the proxy does not take the value; empty when it does.
	ignored string
}

// bounds gives the variables in the order in which the proxy reads them, with
// what became of each noted in its chain. CORES is left out where MIN stands in
// its place, as in every pod injected since Linkerd 2.18, unless it asks for more.
func (c configuration) bounds(rule model.WorkerRule) []bound {
	var found []bound
	take := func(variable string, valid func(string) bool, must, unused string) (ok bool) {
		b := bound{wanted: c.want(variable)}
		note := unused
		if b.literal() && !valid(b.value) {
			note = "ignored: not " + must
			b.ignored = variable + "=" + quote(b.value) + " is " + note
		}
		if last := len(b.chain) - 1; last >= 0 && note != "" {
			var words reasons
			words.add(b.chain[last].Note)
			words.add(note)
			b.chain[last].Note = words.String()
		}
		if len(b.chain) > 0 {
			found = append(found, b)
		}
		return b.set && b.ignored == ""
	}
	isWhole := func(s string) bool { _, ok := whole(s); return ok }
	isRatio := func(s string) bool { _, ok := ratio(s); return ok }

	const number = "a whole number above 0"
	if !take(varCoresMin, isWhole, number, "") {
		take(varCores, isWhole, number, "")
	} else if cores := c.want(varCores); c.asksMore(cores) {
		const note = "ignored: " + varCoresMin + " stands in its place"
		take(varCores, isWhole, number, note)
		found[len(found)-1].ignored = varCores + "=" + quote(cores.value) + " is " + note
	}
	take(varCoresMax, isWhole, number, "")
	beaten := ""
	if rule.Max.IsKnown() {
		beaten = "not used: " + varCoresMax + " beats it"
	}
	take(varRatio, isRatio, "above 0 and at most 1", beaten)
	return found
}

// asksMore says whether CORES asks for more than the minimum that stands in its
// place.
func (c configuration) asksMore(cores wanted) bool {
	n, ok := whole(cores.value)
	least, _ := whole(c.lookup(varCoresMin).value)
	return ok && cores.literal() && least > 0 && n > least && !older(c.proxy, proxyCoreBounds)
}

// cpus is what the proxy has available at its start: its own CPU limit rounded
// up, at most what it may run on.
type cpus struct {
	limit      model.Value[int64]
	limitWords string
	node       model.Value[int64]
}

func (c configuration) available(node model.Value[int64]) cpus {
	found := cpus{node: node}
	if n, ok := node.Get(); ok && n < 1 {
		found.node = model.Unknown[int64]("the node states " + strconv.FormatInt(n, 10) + " CPUs")
	}
	// What the limit annotation asks for stands for the limit after a restart.
	for _, a := range c.asked {
		n, ok := whole(a.setting.value)
		switch {
		case a.origin.Name != annLimit:
		case ok:
			found.limit, found.limitWords = model.Known(n), a.origin.Value
			return found
		case a.at.gone: // and the container's limit goes with it
			return found
		}
	}
	if found.limit = limitOf(c.container); found.limit.IsKnown() {
		q := c.container.Resources.Limits[corev1.ResourceCPU]
		found.limitWords = q.String()
	}
	return found
}

// most is the largest number of CPUs that may be available, as far as is known.
func (c cpus) most() int {
	most := min(c.limit.Or(math.MaxInt32), c.node.Or(math.MaxInt32), math.MaxInt32)
	return int(most)
}

func (c cpus) origin() model.Origin {
	o := model.Origin{Where: whereFormula, Name: "available CPUs"}
	if n, ok := c.node.Get(); ok {
		o.Value = strconv.Itoa(c.most())
		o.Note = "the node has " + strconv.FormatInt(n, 10)
	} else {
		o.Value = "unknown"
		o.Note = "those of the node are unknown"
		if why := c.node.Reason(); why != "" {
			o.Note += ": " + why
		}
	}
	if c.limit.IsKnown() {
		o.Note += "; CPU limit " + c.limitWords
	}
	return o
}

// askedWorkers applies the rule. It needs the node's CPUs only for a ratio, and
// to cap what is asked for; without them what is asked for stands uncapped.
func askedWorkers(rule model.WorkerRule, c cpus) model.Value[int64] {
	if c.most() == 1 {
		return model.Known[int64](1)
	}
	if why := hiddenBound(rule); why != "" {
		return model.Unknown[int64](why)
	}
	if !c.node.IsKnown() && !rule.Max.IsKnown() && rule.Ratio.IsKnown() {
		why := "the ratio is a share of the node's CPUs, which are unknown"
		if r := c.node.Reason(); r != "" {
			why += ": " + r
		}
		return model.Unknown[int64](why)
	}
	return model.Known(int64(rule.Workers(c.most())))
}

func ruleWords(rule model.WorkerRule, c cpus) string {
	words := "1"
	if n, ok := rule.Max.Get(); ok {
		words = "maximum " + strconv.FormatInt(n, 10)
	} else if r, ok := rule.Ratio.Get(); ok {
		words = "ratio " + strconv.FormatFloat(r, 'g', -1, 64) + " of the available CPUs, rounded"
	}
	if n, ok := rule.Min.Get(); ok {
		words += ", at least " + strconv.FormatInt(n, 10)
	}
	if most := c.most(); most < math.MaxInt32 {
		words += ", at most " + strconv.Itoa(most)
	}
	return words
}

// explainWorkers says why the workers in force are not those asked for, and
// whether a restart of the workload settles it.
func (c configuration) explainWorkers(why *reasons, k model.Knob, rule model.WorkerRule, bounds []bound) (restart bool) {
	inForce, _ := k.InForce.Get()
	if v, _ := c.proxy.Get(); older(c.proxy, proxyCoreBounds) {
		why.add("proxy " + v + " is older than " + proxyCoreBounds + " and knows " + varCores + " only")
		return false
	}
	drifted, settled := false, true
	for _, b := range bounds {
		if b.drift != "" {
			why.add(b.drift)
			drifted, settled = true, settled && b.restart
		}
	}
	if drifted {
		return settled
	}
	// Available CPUs are read once, at the start: look for a number of them that
	// leads to what is in force.
	for n := range maxCPUs {
		if int64(rule.Workers(n+1)) == inForce {
			why.add("it follows from " + countCPUs(n+1) + " available when the proxy started" +
				" (a CPU limit that is changed in place counts only after a restart; a cpuset may be narrower than the node)")
			return false
		}
	}
	return false
}

// maxCPUs bounds the search for what was available at the start.
const maxCPUs = 1024

func countCPUs(n int) string {
	if n == 1 {
		return "1 CPU"
	}
	return strconv.Itoa(n) + " CPUs"
}

// workersRemedy names the annotation that is in use already, or that somebody put
// on the namespace, where a ratio does nothing; else the limit, which works in
// every version. It goes on the pod template.
func (c configuration) workersRemedy() model.Remedy {
	_, asked := c.ask(varRatio)
	if asked || c.ratio != nil || c.lookup(varRatio).set {
		return model.Remedy{
			Where: wherePodTemplate, Name: annRatio, Unit: "ratio",
			Form: "a share of the node's CPUs, above 0 and below 1; takes a restart",
		}
	}
	return model.Remedy{
		Where: wherePodTemplate, Name: annLimit, Unit: "cpus",
		Form: `CPUs, rounded up to workers ("2"); limits the CPU too, and takes a restart`,
	}
}
