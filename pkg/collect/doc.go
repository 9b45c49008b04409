// Package collect gets bytes from where a pod runs: frames from a probe (an
// ephemeral container and its log) or from this machine, and pages of a proxy's
// admin endpoint through port-forward streams.
//
// It knows nothing of what the bytes mean. The probe is a POSIX shell script,
// sampler.sh, that prints one frame a second; the same script runs in a pod and
// on this machine. Every failure that a person can do something about has a type
// of its own: ForbiddenError names the verb that is missing, RefusedError holds
// an admission webhook's own words, NotPossibleError says why this pod can never
// be probed.
package collect
