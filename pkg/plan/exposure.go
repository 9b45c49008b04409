package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// FindingKind is what makes a pod exposed.
type FindingKind string

// The kinds of findings.
const (
	FindOneWorker      FindingKind = "one-worker"      // on a node that has CPUs for more
	FindDefaultBacklog FindingKind = "default-backlog" // nobody chose it
	FindIgnored        FindingKind = "ignored-setting" // set, and without effect
	FindFatal          FindingKind = "fatal-setting"   // the proxy ends at once with it
	FindRestart        FindingKind = "waits-for-restart"
	FindNotInjected    FindingKind = "not-injected"
)

// Finding is one thing that makes pods exposed.
type Finding struct {
	Kind     FindingKind    `json:"kind"`
	Severity model.Severity `json:"severity"`
	// Short is a few words, Text the whole of it.
	Short string `json:"short"`
	Text  string `json:"text"`
}

// bigNode is how many CPUs a node has from which on a single worker leaves most of
// them unused while it is the bottleneck.
const bigNode = 4

// Spec is a pod as its spec, its node and what it was made from show it; nothing of
// it was measured.
type Spec struct {
	Pod model.Pod
	// Rule, Limit and HasRule are the workers' rule, as Input has them, and NodeCPUs
	// those of the node that it runs on.
	Rule     model.WorkerRule
	Limit    model.Value[int64]
	HasRule  bool
	NodeCPUs model.Value[int64]
	// Made are the settings that the pod was made with, Now what they would be if it
	// was made again, with what it was made with as the value in force.
	Made []model.Knob
	Now  []model.Knob
	// Injects says that a sidecar is asked for, and where; empty when none is.
	Injects string
	// Ignored are settings that have no effect for reasons that the settings
	// themselves do not tell.
	Ignored []string
}

// MadeWorkers are the workers that the pod's proxy has had since its start, by its
// spec alone.
func (s Spec) MadeWorkers() model.Value[int64] {
	if s.HasRule {
		return apply(s.Rule, available(s.NodeCPUs, s.Limit))
	}
	return model.Unknown[int64]("no rule for the workers is known")
}

// Exposure is a group of pods of one workload that are equal in all that is shown.
type Exposure struct {
	Namespace string         `json:"-"`
	Workload  model.Workload `json:"workload"`
	// Pods is how many, Names a few of them.
	Pods    int      `json:"pods"`
	Names   []string `json:"names"`
	Adapter string   `json:"proxy,omitempty"`
	// Image of the proxy's container.
	Image    string             `json:"image,omitempty"`
	NodeCPUs model.Value[int64] `json:"nodeCPUs"`
	// Workers by the proxy's formula, Backlog of the inbound listener, Source where
	// that comes from: "default".
	Workers  model.Value[int64] `json:"workers"`
	Backlog  model.Value[int64] `json:"backlog"`
	Findings []Finding          `json:"findings"`
}

// Severity of the worst finding; empty for none.
func (e Exposure) Severity() model.Severity {
	worst := model.Severity("")
	for _, f := range e.Findings {
		if worst == "" || f.Severity.Rank() < worst.Rank() {
			worst = f.Severity
		}
	}
	return worst
}

// Exposures puts equal pods of a workload together as they come. The zero value is
// ready for use. It keeps no pod.
type Exposures struct {
	groups map[string]*Exposure
	// Pods and Proxies count what was looked at.
	Pods, Proxies int
}

// Add looks at one more pod.
func (e *Exposures) Add(s Spec) {
	e.Pods++
	if s.Pod.Proxy.Adapter != "" {
		e.Proxies++
	}
	one := exposure(s)
	if len(one.Findings) == 0 {
		return
	}
	key := one.key()
	g := e.groups[key]
	if g == nil {
		if e.groups == nil {
			e.groups = map[string]*Exposure{}
		}
		e.groups[key] = &one
		return
	}
	g.Pods++
	if len(g.Names) < namesShown {
		g.Names = append(g.Names, s.Pod.Meta.Name)
	}
}

func (e *Exposure) key() string {
	parts := []string{e.Namespace, e.Workload.Kind, e.Workload.Name, e.Adapter, e.Image, text(e.NodeCPUs), text(e.Workers), text(e.Backlog)}
	if e.Workload.Name == "" {
		parts = append(parts, e.Names...) // a pod of its own
	}
	for _, f := range e.Findings {
		parts = append(parts, string(f.Kind), f.Text)
	}
	return strings.Join(parts, "\x00")
}

func text(v model.Value[int64]) string {
	if n, ok := v.Get(); ok {
		return fmt.Sprint(n)
	}
	return "?"
}

// List gives the groups: by namespace and workload, the worse before the others.
func (e *Exposures) List() []Exposure {
	all := make([]Exposure, 0, len(e.groups))
	for _, g := range e.groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Exposure) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Workload.Kind, b.Workload.Kind), strings.Compare(a.Workload.Name, b.Workload.Name),
			cmp.Compare(a.Severity().Rank(), b.Severity().Rank()), strings.Compare(a.key(), b.key()),
		)
	})
	return all
}

// exposure judges one pod.
func exposure(s Spec) Exposure {
	p := s.Pod
	e := Exposure{
		Namespace: p.Meta.Namespace, Workload: p.Workload, Pods: 1, Names: []string{p.Meta.Name},
		Adapter: p.Proxy.Adapter, Image: p.Proxy.Image, NodeCPUs: s.NodeCPUs,
		Workers: model.Unknown[int64]("no proxy was recognised"), Backlog: model.Unknown[int64]("no proxy was recognised"),
	}
	if s.Injects != "" && !p.Proxy.Sidecar {
		e.Findings = append(e.Findings, notInjected(s))
	}
	if p.Proxy.Adapter == "" {
		return e
	}
	e.Workers = s.MadeWorkers()
	if k := named(s.Made, inboundBacklog); k != nil {
		e.Backlog = k.Asked
	} else {
		e.Backlog = model.Unknown[int64]("the spec does not tell it")
	}
	e.Findings = append(e.Findings, findings(s, e)...)
	return e
}

func notInjected(s Spec) Finding {
	f := Finding{
		Kind: FindNotInjected, Severity: model.SeverityWarning, Short: "no sidecar",
		Text: s.Injects + " asks for a sidecar, and this pod has none: pods get it only when they are made, so restart the workload",
	}
	if s.Pod.HostNetwork {
		f.Short, f.Severity = "no sidecar: hostNetwork", model.SeverityInfo
		f.Text = s.Injects + " asks for a sidecar, but pods with hostNetwork never get one"
	}
	return f
}

func findings(s Spec, e Exposure) []Finding {
	var found []Finding
	add := func(f Finding) {
		if !slices.ContainsFunc(found, func(o Finding) bool { return o.Text == f.Text }) {
			found = append(found, f)
		}
	}
	for _, k := range s.Now {
		switch {
		case !k.Asked.IsKnown() && strings.Contains(k.Asked.Reason(), "ends with exit code"):
			if len(s.Ignored) > 0 {
				continue // not even read
			}
			add(Finding{FindFatal, model.SeverityCritical, "fatal: " + k.Name, cmp.Or(k.Why, k.Asked.Reason())})
		case k.Differs() && !k.Remedy.Restart && !s.Pod.Manifest.Paused && k.Why != "":
			add(Finding{FindIgnored, model.SeverityWarning, fmt.Sprintf("%s %s, not the %s asked for", k.Name, text(k.InForce), text(k.Asked)), k.Why})
		case k.Differs():
			add(Finding{
				FindRestart, model.SeverityWarning, fmt.Sprintf("%s %s, %s after a restart", k.Name, text(k.InForce), text(k.Asked)),
				cmp.Or(k.Why, fmt.Sprintf("%s would be %s for a pod that is made now", k.Name, text(k.Asked))),
			})
		case k.Why != "":
			add(Finding{FindIgnored, model.SeverityWarning, "ignored: " + k.Name, k.Why})
		}
	}
	for _, why := range s.Ignored {
		add(Finding{FindIgnored, model.SeverityWarning, "ignored setting", why})
	}
	if n, ok := e.Workers.Get(); ok && n == 1 && s.NodeCPUs.Or(0) >= bigNode {
		add(Finding{
			FindOneWorker, model.SeverityWarning, fmt.Sprintf("one worker on %d CPUs", s.NodeCPUs.Or(0)),
			fmt.Sprintf("one worker on a node with %d CPUs: it can use one of them at most, and everything waits behind it", s.NodeCPUs.Or(0)),
		})
	}
	if k := named(s.Made, inboundBacklog); k != nil && defaulted(*k) && k.Asked.IsKnown() {
		add(Finding{
			FindDefaultBacklog, model.SeverityInfo, fmt.Sprintf("default %d", k.Asked.Or(0)),
			fmt.Sprintf("the inbound backlog is the default of %d: more clients than that which connect at once (a rollout, a restart of the callers) are refused", k.Asked.Or(0)),
		})
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Severity.Rank(), b.Severity.Rank()) })
	return found
}

// defaulted says whether nobody chose the value.
func defaulted(k model.Knob) bool {
	return slices.ContainsFunc(k.Chain, func(o model.Origin) bool { return o.Where == "default" })
}

func named(knobs []model.Knob, name string) *model.Knob {
	for i := range knobs {
		if knobs[i].Name == name {
			return &knobs[i]
		}
	}
	return nil
}
