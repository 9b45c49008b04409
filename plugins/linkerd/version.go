package linkerd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubectl-backlog/kubectl-backlog/pkg/model"
)

// Versions of the proxy itself (proxy_build_info in its metrics), not of Linkerd.
const (
	// proxyRuntimeMetrics: linkerd2-proxy exports tokio_rt_*; Linkerd 2.17.
	proxyRuntimeMetrics = "2.252.0"
	// proxyCoreBounds: it reads CORES_MIN, CORES_MAX, CORES_MAX_RATIO; Linkerd 2.18.
	proxyCoreBounds = "2.286.0"
	// proxyBacklogs: it reads the TCP_LISTEN_BACKLOG variables; Linkerd 2.20.
	proxyBacklogs = "2.347.0"
)

// annotationVersion holds the control plane's tag at injection: "edge-26.8.3",
// "stable-2.14.1". It is not the proxy's version.
const annotationVersion = "linkerd.io/proxy-version"

// release is a version of Linkerd, by both of its names.
type release struct{ edge, numbered string }

func (r release) String() string { return "Linkerd " + r.numbered + " (edge-" + r.edge + ")" }

// knows gives the release whose injector learnt an annotation; false for
// annotations that every release knows.
func knows(annotation string) (release, bool) {
	switch annotation {
	case annAdditionalEnv:
		return release{"26.4.3", "2.20.0"}, true
	case annRatio:
		return release{"25.3.3", "2.18.0"}, true
	}
	return release{}, false
}

// older says whether a proxy's version is known to be before another.
func older(proxy model.Value[string], than string) bool {
	v, ok := proxy.Get()
	return ok && before(v, than)
}

// before compares two dotted versions; false when one of them cannot be read.
func before(v, than string) bool {
	a, err := version.ParseGeneric(v)
	if err != nil {
		return false
	}
	b, err := version.ParseGeneric(than)
	return err == nil && a.LessThan(b)
}

// injectedBefore says whether the control plane that injected the pod is known
// to be older than a release.
func injectedBefore(pod *corev1.Pod, r release) bool {
	channel, number, found := strings.Cut(pod.Annotations[annotationVersion], "-")
	switch {
	case !found:
		return false
	case channel == "edge":
		return before(number, r.edge)
	case channel == "stable" || channel == "enterprise":
		return before(number, r.numbered)
	}
	return false
}
