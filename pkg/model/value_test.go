package model

import (
	"encoding/json"
	"testing"
)

// A measured zero and "could not be read" are different in every form.
func TestZeroIsNotUnknown(t *testing.T) {
	zero, unknown := Known[int64](0), Unknown[int64]("sock_diag refused")
	if zero == unknown {
		t.Fatal("a measured 0 equals an unknown value")
	}
	for value, want := range map[Value[int64]]string{zero: "0", unknown: "null"} {
		got, err := json.Marshal(value)
		if err != nil || string(got) != want {
			t.Errorf("json of %+v = %s, %v; want %s", value, got, err, want)
		}
	}
	var back Value[int64]
	if err := json.Unmarshal([]byte("null"), &back); err != nil || back.IsKnown() {
		t.Errorf("null came back as %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte("0"), &back); err != nil || back != zero {
		t.Errorf("0 came back as %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`"x"`), &back); err == nil {
		t.Error("a word was taken for a number")
	}
}

func TestOrIsForSortingOnly(t *testing.T) {
	if got := Unknown[int64]("why").Or(-1); got != -1 {
		t.Errorf("Or of unknown = %d", got)
	}
	if got := Known[int64](7).Or(-1); got != 7 {
		t.Errorf("Or of 7 = %d", got)
	}
	if got := Unknown[int64]("why").Reason(); got != "why" {
		t.Errorf("reason = %q", got)
	}
}

// The list of unknown figures names each by its path in the JSON form, and
// leaves out what simply does not apply.
func TestUnknownsNameThePathAndTheReason(t *testing.T) {
	p := Pod{
		Listeners: []Listener{{Port: 80, Sockets: []Socket{{
			Depth: Known[int64](3), Limit: Unknown[int64]("read from /proc/net/tcp"),
		}}}},
		Counters: Counters{ListenOverflows: Unknown[int64]("nstat not found")},
	}
	got := map[string]string{}
	for _, m := range p.Unknowns() {
		got[m.Field] = m.Reason
	}
	want := map[string]string{
		"listeners[0].sockets[0].limit": "read from /proc/net/tcp",
		"counters.listenOverflows":      "nstat not found",
	}
	if len(got) != len(want) {
		t.Errorf("unknowns = %v, want %v", got, want)
	}
	for field, reason := range want {
		if got[field] != reason {
			t.Errorf("%s = %q, want %q", field, got[field], reason)
		}
	}
}
