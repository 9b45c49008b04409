package plugins

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Adapters do not import this package, so nothing but a test says that they
// satisfy its interfaces.
func TestAllSatisfyTheInterfacesTheyAreMeantTo(t *testing.T) {
	wants := map[string][]string{
		"linkerd": {
			"RoleTeller", "AdminTeller", "RuntimeReader", "Configurer", "SidecarTeller", "EnvReader", "ManifestReader", "KnobTeller",
		},
		"istio": {
			"RoleTeller", "AdminTeller", "PageReader", "SeldomReader", "Configurer", "SidecarTeller", "ManifestReader", "KnobTeller",
		},
		"envoy": {"RoleTeller", "AdminTeller", "PageReader", "SeldomReader", "Configurer", "SidecarTeller", "KnobTeller"},
		"nginx": {"RoleTeller", "AdminTeller", "PageReader", "Configurer", "SidecarTeller", "ThreadTeller"},
		// It has no admin endpoint, and stands in front of nothing.
		"process": {"Configurer", "ThreadTeller"},
	}
	for _, a := range All() {
		has := map[string]bool{}
		_, has["RoleTeller"] = a.(RoleTeller)
		_, has["AdminTeller"] = a.(AdminTeller)
		_, has["RuntimeReader"] = a.(RuntimeReader)
		_, has["Configurer"] = a.(Configurer)
		_, has["SidecarTeller"] = a.(SidecarTeller)
		_, has["EnvReader"] = a.(EnvReader)
		_, has["ManifestReader"] = a.(ManifestReader)
		_, has["KnobTeller"] = a.(KnobTeller)
		_, has["PageReader"] = a.(PageReader)
		_, has["SeldomReader"] = a.(SeldomReader)
		_, has["ThreadTeller"] = a.(ThreadTeller)
		want, ok := wants[a.Name()]
		if !ok {
			t.Errorf("adapter %q is not in this test", a.Name())
		}
		for _, i := range want {
			if !has[i] {
				t.Errorf("adapter %q is no %s", a.Name(), i)
			}
		}
		delete(wants, a.Name())
	}
	for name := range wants {
		t.Errorf("All lacks the adapter %q", name)
	}
}

// The order is the precedence, and callers may do with their slice what they like.
func TestAllIsOrderedAndFresh(t *testing.T) {
	all := All()
	if all[0].Name() != "linkerd" {
		t.Errorf("the first adapter is %q, want linkerd", all[0].Name())
	}
	if last := all[len(all)-1].Name(); last != "process" {
		t.Errorf("the last adapter is %q, want process, which matches every pod", last)
	}
	all[0] = nil
	if All()[0] == nil {
		t.Error("All gives out a slice that is shared")
	}
}

// No adapter may claim a pod that has no proxy, nor stumble over an empty one.
func TestNoAdapterMatchesAnEmptyPod(t *testing.T) {
	for _, a := range All() {
		container, ok := a.Match(&corev1.Pod{})
		if container != "" || ok != (a.Name() == "process") {
			t.Errorf("adapter %q finds %q in an empty pod (%v)", a.Name(), container, ok)
		}
	}
}
