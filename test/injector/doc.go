// Package injector is a mutating admission webhook for tests: it does to a pod
// with a container linkerd-proxy what Linkerd's injector does, as far as
// workers, backlogs, ports and CPU go, so that annotations act on a test
// cluster as they act under Linkerd.
//
// It writes the environment that plugins/linkerd reads. The two share no code,
// so that each checks the other.
//
// The rules (Linkerd edge-26.8.3):
//
//   - The pod or its namespace says `linkerd.io/inject: enabled`; the pod's own
//     word counts first. Pods on the host's network are left alone.
//   - A pod inherits its namespace's config.linkerd.io annotations, except the
//     CPU ratio: that one is not inherited.
//   - proxy-cpu-request gives CORES_MIN, proxy-cpu-limit gives CORES_MAX, both
//     rounded up; proxy-cpu-ratio-limit gives CORES_MAX_RATIO when it lies
//     between 0 and 1. CORES repeats the minimum, which is 1 when nothing asks.
//   - proxy-additional-env is a JSON list that goes behind all else. On a
//     namespace it makes Linkerd's injector answer with an invalid patch, so the
//     pod is refused here too.
//   - What cannot be read is skipped with a warning.
package injector
