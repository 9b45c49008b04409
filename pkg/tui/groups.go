package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/render"
)

// group is the pods of one workload, and what is said of them together. It is of
// all of them, whatever a filter leaves.
type group struct {
	key       string // of its header line
	namespace string
	name      string // "deploy/server", fit for the screen
	prefix    string // what the names of its pods begin with
	rows      []*row

	counts
	rate     model.Value[float64] // overflows per second, all pods together
	accepted model.Value[float64] // connections accepted per second, of the pod in the middle
	rollout  string
	manager  string
	// alike is the class that all pods have that still exist; why in a few words.
	alike model.Class
	why   string
	where string // what the ill pods have in common
}

// owner identifies a workload.
type owner struct{ namespace, kind, name string }

func ownerOf(p *model.Pod) owner { return owner{p.Meta.Namespace, p.Workload.Kind, p.Workload.Name} }

// gather makes groups of the rows.
func (a *app) gather() {
	groups := make(map[owner]*group, len(a.groups))
	several := false
	for _, r := range a.inTurn {
		o := ownerOf(r.pod)
		if o.name == "" {
			r.group = nil
			continue
		}
		g := groups[o]
		if g == nil {
			g = &group{
				key: "workload " + o.namespace + " " + o.kind + "/" + o.name, namespace: render.Clean(o.namespace),
				name: kindWord(o.kind) + "/" + render.Clean(o.name), prefix: o.name + "-",
			}
			groups[o] = g
		}
		r.group = g
		g.rows = append(g.rows, r)
		several = several || len(g.rows) > 1
	}
	for _, g := range groups {
		g.sum()
	}
	a.groups = groups
	if several && !a.groupingChosen {
		a.grouping = true // and it stays so when pods leave: nothing may jump by itself
	}
}

// kindWord is a kind as kubectl shortens it.
func kindWord(kind string) string {
	switch kind {
	case "Deployment":
		return "deploy"
	case "StatefulSet":
		return "sts"
	case "DaemonSet":
		return "ds"
	case "ReplicaSet":
		return "rs"
	case "ReplicationController":
		return "rc"
	}
	return strings.ToLower(render.Clean(cmp.Or(kind, "pod")))
}

// sum says of the group what its pods say together.
func (g *group) sum() {
	g.rate = model.Unknown[float64]("nothing was seen yet")
	accepted := make([]float64, 0, len(g.rows))
	var old, fresh int
	paused := false
	for _, r := range g.rows {
		g.counts[r.grade]++
		if r.grade == gradeGone {
			continue
		}
		if f, ok := r.rate.Get(); ok && r.grade != gradeUnknown {
			g.rate = model.Known(g.rate.Or(0) + f)
		}
		if f, ok := r.pod.Window.PerSecond(r.pod.Window.Accepted).Get(); ok && r.grade != gradeUnknown {
			accepted = append(accepted, f)
		}
		m := &r.pod.Manifest
		if outdated, ok := m.Outdated.Get(); ok && outdated {
			old++
		} else if ok {
			fresh++
		}
		paused = paused || m.Paused
		if m.Manager.Tool != "" {
			g.manager = strings.ToLower(strings.ReplaceAll(render.Clean(m.Manager.Tool), " ", ""))
		}
	}
	g.accepted = model.Unknown[float64]("none of its pods tells")
	if len(accepted) > 0 {
		slices.Sort(accepted)
		g.accepted = model.Known(accepted[len(accepted)/2])
	}
	if old > 0 {
		g.rollout = fmt.Sprintf("%s %d/%d new", orElse(paused, "rollout paused", "rollout"), fresh, old+fresh)
	} else if paused {
		g.rollout = "rollout paused"
	}
	g.alike, g.why = g.shared()
	if g.alike == "" {
		g.where = g.common()
	}
}

// shared is the verdict that all pods of the group have, if it says that something
// is wrong; what is not as asked is the same for all and is said once.
func (g *group) shared() (model.Class, string) {
	var first *row
	for _, r := range g.rows {
		switch {
		case r.grade == gradeGone:
			continue
		case r.verdict == nil || r.grade != gradeWarning && r.grade != gradeCritical:
			return "", ""
		case first == nil:
			first = r
		case r.verdict.Class != first.verdict.Class:
			return "", ""
		}
	}
	if first == nil || g.pods() < 2 {
		return "", ""
	}
	why := strings.TrimSuffix(render.Clean(first.verdict.Sentence), ".")
	if first.verdict.Class == model.ClassConfigDrift {
		why = render.Config(*first.pod)
		for _, k := range first.pod.Knobs {
			if k.Differs() && k.Why != "" {
				why += ": " + render.Clean(k.Why)
				break
			}
		}
	}
	return first.verdict.Class, why
}

// common is where the ill pods of a group are, when the well ones are elsewhere:
// machines of another size, or one node.
func (g *group) common() string {
	type place struct{ ill, all int }
	var cpus, nodes map[string]place
	cpus, nodes = map[string]place{}, map[string]place{}
	ill := 0
	put := func(in map[string]place, where string, bad bool) {
		p := in[where]
		p.all++
		if bad {
			p.ill++
		}
		in[where] = p
	}
	for _, r := range g.rows {
		if r.grade == gradeGone || r.grade == gradeStarting {
			continue
		}
		bad := r.grade <= gradeWarning
		if bad {
			ill++
		}
		if n, ok := r.pod.Process.CPUsAllowed.Get(); ok {
			put(cpus, strconv.FormatInt(n, 10), bad)
		} else {
			put(cpus, "", bad)
		}
		put(nodes, r.pod.Node, bad)
	}
	if ill < 2 {
		return ""
	}
	only := func(in map[string]place) (string, place, bool) {
		for where, p := range in {
			if where != "" && p.ill == ill && len(in) > 1 {
				return where, p, true
			}
		}
		return "", place{}, false
	}
	if n, p, ok := only(cpus); ok {
		return fmt.Sprintf("ill on %s-CPU nodes only (%d of %d)", n, p.ill, p.all)
	}
	if node, p, ok := only(nodes); ok {
		return fmt.Sprintf("ill on %s only (%d of %d)", render.Clean(node), p.ill, p.all)
	}
	return ""
}

// short is a pod's name without what it shares with the other pods of its
// workload. The number of a StatefulSet's pod would say nothing alone.
func (g *group) short(p *model.Pod) string {
	if rest, ok := strings.CutPrefix(p.Meta.Name, g.prefix); ok && rest != "" && p.Workload.Kind != "StatefulSet" {
		return render.Clean(rest)
	}
	return render.Clean(p.Meta.Name)
}

// about are the parts of a header line behind its counts, most telling first.
func (g *group) about() []string {
	var parts []string
	if g.alike != "" {
		parts = append(parts, strings.TrimSuffix(render.Clean(string(g.alike))+"  "+g.why, "  "))
	}
	if g.rate.Or(0) > 0 {
		parts = append(parts, "ovf "+render.Rate(g.rate)+"/s")
	}
	for _, s := range []string{g.where, g.rollout} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if g.accepted.IsKnown() {
		parts = append(parts, "acc/s median "+render.Rate(g.accepted))
	}
	if g.manager != "" {
		parts = append(parts, g.manager)
	}
	return parts
}
