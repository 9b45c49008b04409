package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
	"github.com/kubectl-backlog/kubectl-backlog/pkg/plan"
)

// The kinds of the objects that `audit -o json` prints.
const (
	ExposureKind     = "Exposure"
	ExposureListKind = ExposureKind + "List"
)

// exposureColumn is one column of the table of exposed workloads.
type exposureColumn struct {
	name, description string
	wide              bool
	cell              func(e plan.Exposure) string
}

func exposureColumns() []exposureColumn {
	return []exposureColumn{
		{name: "Workload", description: "What owns the pods", cell: func(e plan.Exposure) string { return Clean(ExposedName(e)) }},
		{name: "Pods", description: "How many of its pods are alike", cell: func(e plan.Exposure) string { return strconv.Itoa(e.Pods) }},
		{name: "Proxy", description: "The proxy in them, and the tag of its image", cell: func(e plan.Exposure) string { return orDash(Clean(strings.TrimSpace(e.Adapter + " " + tagOf(e)))) }},
		{name: "Workers", description: "Its workers, by its own formula", cell: func(e plan.Exposure) string { return exposed(e, e.Workers) }},
		{name: "Backlog", description: "The backlog of the inbound listener that the spec leads to", cell: func(e plan.Exposure) string { return exposed(e, e.Backlog) }},
		{name: "Finding", description: "What exposes them, the worst first", cell: func(e plan.Exposure) string {
			var words []string
			for _, f := range e.Findings {
				words = append(words, f.Short)
			}
			return Clean(strings.Join(words, "; "))
		}},
		{name: "Severity", wide: true, description: "Of the worst finding", cell: func(e plan.Exposure) string { return orDash(Clean(string(e.Severity()))) }},
		{name: "Node-CPUs", wide: true, description: "CPUs of the nodes that they run on", cell: func(e plan.Exposure) string { return Count(e.NodeCPUs) }},
		{name: "Names", wide: true, description: "Some of the pods", cell: func(e plan.Exposure) string {
			text := strings.Join(e.Names, ",")
			if more := e.Pods - len(e.Names); more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			return Clean(text)
		}},
		{name: "Why", wide: true, description: "The findings in full", cell: func(e plan.Exposure) string {
			var words []string
			for _, f := range e.Findings {
				words = append(words, f.Text)
			}
			return Clean(strings.Join(words, "; "))
		}},
	}
}

// tagOf is the tag of the proxy's image; empty when it has none.
func tagOf(e plan.Exposure) string {
	name, _, _ := strings.Cut(e.Image[strings.LastIndexByte(e.Image, '/')+1:], "@")
	_, tag, _ := strings.Cut(name, ":")
	return shorten(tag, 32)
}

// exposed is a figure of the proxy: there is none without one.
func exposed(e plan.Exposure, v model.Value[int64]) string {
	if e.Adapter == "" {
		return NotApplicable
	}
	return Count(v)
}

// ExposedName is the workload, as kubectl takes it; a pod that nothing owns is
// itself.
func ExposedName(e plan.Exposure) string {
	if e.Workload.Name == "" {
		if len(e.Names) > 0 {
			return "pod/" + e.Names[0]
		}
		return NotApplicable
	}
	return strings.ToLower(e.Workload.Kind) + "/" + e.Workload.Name
}

// PrintExposures writes the table of exposed workloads.
func PrintExposures(w io.Writer, all []plan.Exposure, opt TableOptions) error {
	t := &metav1.Table{}
	columns := exposureColumns()
	for _, c := range columns {
		t.ColumnDefinitions = append(t.ColumnDefinitions, definition(c.name, c.description, c.wide))
	}
	for _, e := range all {
		row := rowOf(model.Meta{Name: e.Workload.Name, Namespace: e.Namespace})
		for _, c := range columns {
			row.Cells = append(row.Cells, c.cell(e))
		}
		t.Rows = append(t.Rows, row)
	}
	return writeTable(w, t, opt)
}

// PrintExposedNames writes the workloads as kubectl's -o name does, each once.
func PrintExposedNames(w io.Writer, all []plan.Exposure) error {
	told := map[string]bool{}
	for _, e := range all {
		name := Clean(ExposedName(e))
		if key := e.Namespace + "/" + name; !told[key] {
			told[key] = true
			if _, err := fmt.Fprintln(w, name); err != nil {
				return fmt.Errorf("printing the names of workloads: %w", err)
			}
		}
	}
	return nil
}

// ExposureObject gives the exposed workloads as one list object.
func ExposureObject(all []plan.Exposure) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": APIVersion, "kind": ExposureListKind, "metadata": map[string]any{},
	}}
	for _, e := range all {
		fields, err := toMap("the exposure of "+ExposedName(e), e)
		if err != nil {
			return nil, err
		}
		fields["apiVersion"], fields["kind"] = APIVersion, ExposureKind
		name := e.Workload.Name
		if name == "" && len(e.Names) > 0 {
			name = e.Names[0]
		}
		fields["metadata"] = map[string]any{"name": name, "namespace": e.Namespace}
		fields["severity"] = string(e.Severity())
		list.Items = append(list.Items, unstructured.Unstructured{Object: cleanTree(fields).(map[string]any)})
	}
	return list, nil
}
