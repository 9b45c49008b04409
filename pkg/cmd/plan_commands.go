package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/remedy"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/target"
)

// What the annotations of Linkerd are called that a ratio concerns; all others come
// from the settings themselves.
const (
	linkerdAdapter = "linkerd"
	linkerdLimit   = "config.linkerd.io/proxy-cpu-limit"
	linkerdRatio   = "config.linkerd.io/proxy-cpu-ratio-limit"
)

// change is what makes a plan real: what is printed, and the patch of the workload
// that it comes to; nil where there is none.
type change struct {
	apply []model.Action
	patch []byte
}

// changeOf makes one command of all changes of a plan, so that the pods restart
// once. The pod template alone is changed, never a namespace.
func (o *planOptions) changeOf(p model.Pod, made *plan.Plan) change {
	annotations, rest, notes := o.annotations(p, made.Changes)
	if len(annotations) == 0 {
		return change{apply: rest}
	}
	a := model.Action{Kind: model.ActSetKnob, Text: "Annotations of the pod template.", Notes: notes}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}})
	name, ok := remedy.Workload(p)
	switch manager := p.Manifest.Manager; {
	case err != nil || !ok:
		a.Place, a.Values = "annotations of the pod template", valuesOf(annotations)
		a.Notes = append(a.Notes, "no command: no workload is known whose pod template could be changed")
		patch = nil
	case manager.Tool != "":
		a.Place = fmt.Sprintf("annotations of the pod template, in what %s makes %s from: a command would be reverted", strings.TrimSpace(manager.Tool+" "+manager.Name), p.Workload.Name)
		a.Values = valuesOf(annotations)
	default:
		a.Command = remedy.Kubectl(p, o.remedyOptions(), "patch", name, "--type", "merge", "-p", string(patch))
		if p.Workload.Kind == "Deployment" {
			a.Undo = remedy.Kubectl(p, o.remedyOptions(), "rollout", "undo", name)
		}
		if p.Manifest.Strategy == "OnDelete" {
			a.Notes = append(a.Notes, "then delete its pods one after another")
		}
	}
	return change{apply: append([]model.Action{a}, rest...), patch: patch}
}

// annotations are what the pod template must carry; null takes one away. rest are
// changes that go elsewhere.
func (o *planOptions) annotations(p model.Pod, changes []model.Action) (set map[string]any, rest []model.Action, notes []string) {
	set = map[string]any{}
	for _, c := range changes {
		if r, ok := o.wanted.Ratio.Get(); ok && c.Kind == model.ActAddWorkers {
			set[linkerdRatio] = fmt.Sprintf("%g", r)
			notes = append(notes, "the ratio takes Linkerd 2.18 (edge-25.3.3) or later")
			if template, _ := p.Manifest.Template.Get(); template[linkerdLimit] != "" {
				set[linkerdLimit] = nil
				notes = append(notes, linkerdLimit+" goes: it would beat the ratio")
			}
			continue
		}
		filled := asValues(p, c)
		var lines map[string]string
		if filled.Values == "" || yaml.Unmarshal([]byte(filled.Values), &lines) != nil {
			rest = append(rest, filled)
			continue
		}
		if !p.Manifest.Template.IsKnown() && strings.HasPrefix(filled.Values, "[") {
			rest = append(rest, filled)
			continue
		}
		for k, v := range lines {
			set[k] = v
		}
		for _, n := range filled.Notes {
			if !strings.HasPrefix(n, "restarts ") && !strings.Contains(n, "OnDelete") { // said of the plan as a whole
				notes = append(notes, n)
			}
		}
	}
	return set, rest, notes
}

// asValues has an action written as lines for a manifest: these are merged with the
// others into one change.
func asValues(p model.Pod, a model.Action) model.Action {
	if p.Manifest.Manager.Tool == "" {
		p.Manifest.Manager.Tool = "a manifest"
	}
	p.Verdicts = []model.Verdict{{Fix: []model.Action{a}}}
	remedy.Fill(&p, remedy.Options{})
	return p.Verdicts[0].Fix[0]
}

// valuesOf are the annotations as lines of YAML.
func valuesOf(annotations map[string]any) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		value, ok := annotations[name].(string)
		if !ok {
			lines = append(lines, "# take away: "+name)
			continue
		}
		lines = append(lines, name+": '"+strings.ReplaceAll(value, "'", "''")+"'")
	}
	return strings.Join(lines, "\n")
}

// check has the API server look at the change as if it was made: validation, quota,
// webhooks of the workload and the user's rights. It gives its answer in words.
func check(ctx context.Context, client kubernetes.Interface, p model.Pod, patch []byte) string {
	if patch == nil {
		return "not asked: there is no change of the pod template that could be checked"
	}
	o := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl-backlog"}
	var err error
	apps, ns, name := client.AppsV1(), p.Meta.Namespace, p.Workload.Name
	switch p.Workload.Kind {
	case "Deployment":
		_, err = apps.Deployments(ns).Patch(ctx, name, types.MergePatchType, patch, o)
	case "StatefulSet":
		_, err = apps.StatefulSets(ns).Patch(ctx, name, types.MergePatchType, patch, o)
	case "DaemonSet":
		_, err = apps.DaemonSets(ns).Patch(ctx, name, types.MergePatchType, patch, o)
	default:
		return "not asked: a " + p.Workload.Kind + " is not one of Kubernetes' own workloads"
	}
	if err != nil {
		return "refused: " + target.Explain(err).Error()
	}
	return "the API server takes it; nothing was changed. What a sidecar injector makes of the annotations shows when a pod is made"
}
