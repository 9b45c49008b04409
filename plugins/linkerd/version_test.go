package linkerd

import (
	"testing"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

func TestOlder(t *testing.T) {
	for _, tt := range []struct {
		version, than string
		want          bool
	}{
		{"2.251.0", "2.252.0", true},
		{"2.99.0", "2.252.0", true}, // numbers, not letters
		{"2.252.0", "2.252.0", false},
		{"2.366.0", "2.252.0", false},
		{"3.0.0", "2.252.0", false},
		{"2.251", "2.252.0", true},
		{"dev", "2.252.0", false},
		{"", "2.252.0", false},
	} {
		if got := older(model.Known(tt.version), tt.than); got != tt.want {
			t.Errorf("older(%q, %q) = %v", tt.version, tt.than, got)
		}
	}
	if older(model.Unknown[string]("not asked"), "2.252.0") {
		t.Error("a proxy of unknown version counts as older")
	}
}

// The annotation linkerd.io/proxy-version holds the control plane's tag.
func TestInjectedBefore(t *testing.T) {
	r, _ := knows(additional)
	for tag, want := range map[string]bool{
		"edge-26.4.2": true, "edge-26.4.3": false, "edge-26.10.1": false, "edge-25.12.9": true,
		"stable-2.14.10": true, "stable-2.20.0": false, "enterprise-2.19.4": true, "enterprise-2.20.1": false,
		"": false, "edge": false, "dev-abcdef": false, "edge-next": false, "2.19.0": false,
	} {
		if got := injectedBefore(pod(pairs{"linkerd.io/proxy-version", tag}, nil), r); got != want {
			t.Errorf("injected by %q before %v: %v, want %v", tag, r, got, want)
		}
	}
	if _, gated := knows(limit); gated {
		t.Error("every Linkerd knows the limit annotation")
	}
}
