package model

import (
	"bytes"
	"encoding/json"
)

// Value is a figure that may be unknown. A known zero is a measured zero; an
// unknown value carries the reason why it could not be measured, so that no
// reader ever mistakes "could not be read" for 0.
//
// The zero Value is unknown without a reason. In JSON an unknown value is null;
// its reason stands in the list that Pod.Unknowns gives.
type Value[T any] struct {
	v      T
	known  bool
	reason string
}

// Known returns a measured value.
func Known[T any](v T) Value[T] { return Value[T]{v: v, known: true} }

// Unknown returns a value that could not be measured, and why, as words that
// can stand behind a colon: "sock_diag refused, read from /proc/net/tcp".
func Unknown[T any](reason string) Value[T] { return Value[T]{reason: reason} }

// Get returns the value and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.v, v.known }

// Or returns the value, or other when it is unknown. It is for sorting and
// drawing only: a figure that is printed must not go through it.
func (v Value[T]) Or(other T) T {
	if v.known {
		return v.v
	}
	return other
}

// IsKnown says whether the value was measured.
func (v Value[T]) IsKnown() bool { return v.known }

// Reason says why the value is unknown; it is empty for a known one.
func (v Value[T]) Reason() string { return v.reason }

// Parts gives what the value is made of: a pointer to the figure, whether it is known,
// and why not. They are for codecs that keep more than MarshalJSON does.
func (v *Value[T]) Parts() (figure any, known *bool, reason *string) {
	return &v.v, &v.known, &v.reason
}

// MarshalJSON gives the bare value, or null when it is unknown.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	if !v.known {
		return []byte("null"), nil
	}
	return json.Marshal(v.v)
}

// UnmarshalJSON takes what MarshalJSON gives; null is unknown without a reason.
func (v *Value[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*v = Value[T]{}
		return nil
	}
	v.known, v.reason = true, ""
	return json.Unmarshal(data, &v.v)
}
