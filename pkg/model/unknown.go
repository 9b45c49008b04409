package model

import (
	"reflect"
	"strconv"
	"strings"
)

// Missing names a figure that could not be measured, and why.
type Missing struct {
	// Field is its path in the JSON form of the pod: "listeners[0].sockets[0].limit".
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Unknowns lists every figure of the pod that is unknown for a stated reason,
// in the order of the JSON fields. A figure that this kind of pod simply does
// not have (no reason given) is left out.
func (p Pod) Unknowns() []Missing {
	var found []Missing
	walkUnknown(reflect.ValueOf(p), "", &found)
	return found
}

// unknowable is what every Value[T] has, whatever T is.
type unknowable interface {
	IsKnown() bool
	Reason() string
}

func walkUnknown(v reflect.Value, path string, found *[]Missing) {
	if u, ok := v.Interface().(unknowable); ok {
		if !u.IsKnown() && u.Reason() != "" {
			*found = append(*found, Missing{Field: path, Reason: u.Reason()})
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walkUnknown(v.Elem(), path, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "" || name == "-" {
				continue
			}
			if path == "" && name == "verdicts" {
				continue // each lists what it did not know itself
			}
			sub := name
			if path != "" {
				sub = path + "." + name
			}
			walkUnknown(v.Field(i), sub, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkUnknown(v.Index(i), path+"["+strconv.Itoa(i)+"]", found)
		}
	}
}
