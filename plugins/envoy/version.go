package envoy

import (
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Versions in which a rule changed.
const (
	// cgroupWorkers made the container's CPU limit count for the default number of
	// workers; before, it was the machine's hardware threads alone.
	cgroupWorkers = "1.37"
	// somaxconnBacklog made net.core.somaxconn the default backlog; before, it was 128.
	somaxconnBacklog = "1.16"
)

// older compares a version's first two numbers; an unknown one is not older.
func older(v model.Value[string], than string) bool {
	text, ok := v.Get()
	if !ok {
		return false
	}
	major, minor, ok := numbers(text)
	m, n, _ := numbers(than)
	return ok && (major < m || major == m && minor < n)
}

// numbers reads "1.40.0", "1.33.1-dev".
func numbers(v string) (major, minor int, ok bool) {
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	digits, _, _ := strings.Cut(parts[1], "-")
	major, err0 := strconv.Atoi(parts[0])
	minor, err1 := strconv.Atoi(digits)
	return major, minor, err0 == nil && err1 == nil
}

// imageVersion takes the version from the image's tag: envoyproxy/envoy:v1.33.0,
// :distroless-v1.33.0.
func imageVersion(c *corev1.Container) model.Value[string] {
	name, _, _ := strings.Cut(c.Image, "@")
	_, tag, _ := strings.Cut(path.Base(name), ":")
	if i := strings.LastIndex(tag, "v"); i >= 0 {
		tag = tag[i+1:]
	}
	if _, _, ok := numbers(tag); !ok || len(tag) > 64 {
		return model.Unknown[string]("the image's tag names no version of Envoy")
	}
	return model.Known(tag)
}
