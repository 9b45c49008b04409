package render

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// The group, version and kinds of the objects that -o json prints.
const (
	APIVersion = "kubectl-backlog.github.io/v1alpha1"
	Kind       = "PodBacklog"
	ListKind   = Kind + "List"
)

// Object gives the snapshot as a list object for every -o that cli-runtime's
// print flags know (name wants this very type). Whole numbers are int64, all
// others float64; an unknown figure is null, and its reason stands in the
// item's list "unknown".
func Object(s model.Snapshot) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": APIVersion, "kind": ListKind, "metadata": map[string]any{},
	}}
	if !s.Time.IsZero() {
		list.Object["time"] = s.Time.UTC().Format(time.RFC3339Nano)
	}
	if len(s.Notes) > 0 {
		list.Object["notes"] = cleanTree(stringList(s.Notes))
	}
	if len(s.Problems) > 0 {
		list.Object["problems"] = cleanTree(stringList(s.Problems))
	}
	for _, p := range s.Pods {
		list.Items = append(list.Items, *One(p))
	}
	return list
}

// One gives one pod as an object of its own, as kubectl prints a single pod
// that was asked for by name.
func One(p model.Pod) *unstructured.Unstructured {
	if p.Listeners == nil {
		p.Listeners = []model.Listener{}
	}
	fields, err := toMap("the pod", p)
	missing := p.Unknowns()
	if err != nil {
		// One pod's figure that JSON cannot hold must not cost all the others.
		fields = map[string]any{"metadata": map[string]any{
			"name": p.Meta.Name, "namespace": p.Meta.Namespace, "uid": p.Meta.UID,
		}}
		missing = []model.Missing{{Field: "", Reason: err.Error()}}
	}
	state, reason := p.Condition()
	fields["apiVersion"], fields["kind"] = APIVersion, Kind
	fields["state"] = map[string]any{"name": string(state), "reason": reason}
	unknown := make([]any, 0, len(missing))
	for _, m := range missing {
		unknown = append(unknown, map[string]any{"field": m.Field, "reason": m.Reason})
	}
	fields["unknown"] = unknown
	return &unstructured.Unstructured{Object: cleanTree(fields).(map[string]any)}
}

// toMap takes a value of the model through its JSON form: the tags there are the
// schema.
func toMap(what string, v any) (map[string]any, error) {
	data, err := stdjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", what, err)
	}
	var fields map[string]any
	// This decoder, unlike the standard one, keeps whole numbers as int64.
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", what, err)
	}
	return fields, nil
}

// cleanTree cleans every string of a JSON tree: jsonpath and go-template print
// them to a terminal as they are. Line breaks and tabs stay.
func cleanTree(v any) any {
	switch v := v.(type) {
	case string:
		return cleanData(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanTree(v[k])
		}
	}
	return v
}

func stringList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// JSONLine writes an object as one line of JSON, for streams of them (-w).
func JSONLine(w io.Writer, object stdjson.Marshaler) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding a line of JSON: %w", err)
	}
	// The object's own encoder may end with a line break already.
	for len(data) > 0 && data[len(data)-1] == '\n' {
		data = data[:len(data)-1]
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing a line of JSON: %w", err)
	}
	return nil
}
