package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The kinds of the objects that `probes -o json` prints.
const (
	ProbeKind     = "Probe"
	ProbeListKind = ProbeKind + "List"
)

// probeColumn is one column of the table of probes.
type probeColumn struct {
	name, description string
	wide              bool
	cell              func(p model.ProbeInfo) string
}

// probeColumns are the columns from left to right.
func probeColumns(now time.Time) []probeColumn {
	return []probeColumn{
		{name: "Pod", description: "Name of the pod", cell: func(p model.ProbeInfo) string { return Clean(p.Pod.Name) }},
		{name: "Probe", description: "Name of the ephemeral container", cell: func(p model.ProbeInfo) string { return Clean(p.Name) }},
		{name: "State", description: "How it is, and since when it has ended", cell: func(p model.ProbeInfo) string {
			if p.Ended.IsZero() {
				return Clean(string(p.State))
			}
			return fmt.Sprintf("%s (%s)", Clean(string(p.State)), Clock(now, p.Ended))
		}},
		{name: "By", description: "Who added it", cell: func(p model.ProbeInfo) string { return orUnknown(p.By) }},
		{name: "Since", description: "When it began to run", cell: func(p model.ProbeInfo) string { return Clock(now, p.Started) }},
		{name: "Until", description: "When it ends by itself", cell: func(p model.ProbeInfo) string {
			if p.State == model.ProbeRunning && p.Until.IsZero() {
				return "never"
			}
			return Clock(now, p.Until)
		}},
		{name: "Reason", description: "Why it was added", cell: func(p model.ProbeInfo) string { return orDash(Clean(p.Reason)) }},
		{name: "Target", description: "Container whose processes it sees", wide: true, cell: func(p model.ProbeInfo) string { return orDash(Clean(p.Target)) }},
		{name: "Image", description: "Image that it runs", wide: true, cell: func(p model.ProbeInfo) string { return Clean(p.Image) }},
		{name: "Node", description: "Node that the pod runs on", wide: true, cell: func(p model.ProbeInfo) string { return orDash(Clean(p.Node)) }},
		{name: "Note", description: "What the kubelet says of it", wide: true, cell: func(p model.ProbeInfo) string { return orDash(Clean(p.Message)) }},
	}
}

func orUnknown(s string) string {
	if s == "" {
		return Unknown
	}
	return Clean(s)
}

// Clock is a time of the day in UTC, with the date where that is not now's, or
// NotApplicable.
func Clock(now, t time.Time) string {
	switch {
	case t.IsZero():
		return NotApplicable
	case now.UTC().Format(time.DateOnly) == t.UTC().Format(time.DateOnly):
		return t.UTC().Format("15:04:05Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// SortProbes orders probes by when they began to run, the newest last. Those
// that have yet to begin come after them, and those that never will, first.
func SortProbes(probes []model.ProbeInfo) {
	rank := func(p model.ProbeInfo) int {
		switch {
		case !p.Started.IsZero():
			return 1
		case p.State == model.ProbeStarting:
			return 2
		}
		return 0
	}
	slices.SortStableFunc(probes, func(a, b model.ProbeInfo) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)), a.Started.Compare(b.Started),
			strings.Compare(a.Pod.Namespace, b.Pod.Namespace), strings.Compare(a.Pod.Name, b.Pod.Name), strings.Compare(a.Name, b.Name),
		)
	})
}

// PrintProbes writes the table of probes, a row each, in the order given.
func PrintProbes(w io.Writer, probes []model.ProbeInfo, now time.Time, opt TableOptions) error {
	t := &metav1.Table{}
	columns := probeColumns(now)
	for _, c := range columns {
		t.ColumnDefinitions = append(t.ColumnDefinitions, definition(c.name, c.description, c.wide))
	}
	for _, p := range probes {
		row := rowOf(p.Pod)
		for _, c := range columns {
			row.Cells = append(row.Cells, c.cell(p))
		}
		t.Rows = append(t.Rows, row)
	}
	return writeTable(w, t, opt)
}

// ProbeObject gives the probes as one list object, as Object does for pods.
func ProbeObject(probes []model.ProbeInfo) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": APIVersion, "kind": ProbeListKind, "metadata": map[string]any{},
	}}
	for _, p := range probes {
		fields, err := toMap(fmt.Sprintf("probe %s of pod %s/%s", p.Name, p.Pod.Namespace, p.Pod.Name), p)
		if err != nil {
			return nil, err
		}
		delete(fields, "name")
		fields["apiVersion"], fields["kind"] = APIVersion, ProbeKind
		fields["metadata"] = map[string]any{"name": p.Name, "namespace": p.Pod.Namespace}
		list.Items = append(list.Items, unstructured.Unstructured{Object: cleanTree(fields).(map[string]any)})
	}
	return list, nil
}

// PrintPodNames writes each pod that has one of the probes, once, as kubectl's
// -o name does: that is what `probes stop` takes.
func PrintPodNames(w io.Writer, probes []model.ProbeInfo) error {
	seen := map[string]bool{}
	for _, p := range probes {
		if key := p.Pod.Namespace + "/" + p.Pod.Name; !seen[key] {
			seen[key] = true
			if _, err := fmt.Fprintf(w, "pod/%s\n", Clean(p.Pod.Name)); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
	}
	return nil
}
