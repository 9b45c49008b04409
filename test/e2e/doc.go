// Package e2e holds the tests that need a real Kubernetes cluster: real kubelet,
// real kernel queues, a real tokio runtime. It has no code of its own.
//
// The tests run against the cluster that E2E_KUBECONFIG names; `make test-e2e`
// starts one (test/cluster) where that is possible. All load is made inside a
// pod's own network namespace, against its loopback, bounded in time and count.
package e2e
