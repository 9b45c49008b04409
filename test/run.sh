#!/usr/bin/env bash
# Runs the tests. usage: run.sh all|unit|e2e|long|bench
#
# all: lint, unit, script and real-kernel tests (with the race detector), then the
# real-cluster tests. The cluster is started for the tests and stopped after them,
# unless it was running before, or E2E_KUBECONFIG names another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

step() { printf '\n=== %s (%s)\n' "$*" "$(date +%T)"; }

packages() { # what needs real packages of the system, installed where that is possible
	local missing=() name
	for name in "$@"; do
		case $name in
		gcc) command -v gcc >/dev/null || missing+=(gcc libc6-dev) ;;
		iproute2) command -v ss >/dev/null && command -v nstat >/dev/null || missing+=(iproute2) ;;
		busybox-static) [ -x /bin/busybox ] || missing+=(busybox-static) ;;
		*) command -v "$name" >/dev/null || missing+=("$name") ;;
		esac
	done
	[ ${#missing[@]} -eq 0 ] && return
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		step "installing ${missing[*]}"
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
		return
	fi
	echo "missing on this machine: ${missing[*]}; tests that need them are left out" >&2
}

# demo runs `make demo` as somebody without a terminal would, and looks at what it
# prints: the main job of the README.
demo() {
	if [ "$(uname -s)" != Linux ] || ! unshare --net true 2>/dev/null; then
		echo "left out: make demo (it needs Linux and the right to make a network namespace)"
		return
	fi
	step "make demo"
	local out
	out=$(make -s demo </dev/null)
	grep -q 'app:4143 .* overflowing' <<<"$out" || {
		printf '%s\nmake demo showed no overflow of its listener on 4143\n' "$out" >&2
		return 1
	}
}

unit() {
	packages gcc iproute2 tmux busybox-static
	step "lint"
	hack/lint.sh
	step "unit, script and real-kernel tests"
	local race=(-race)
	command -v gcc >/dev/null || race=()
	# shellcheck disable=SC2046 # package paths have no blanks
	go test "${race[@]}" -timeout 15m $(go list ./... | grep -v '/test/e2e$')
	step "tests of the test programs"
	(cd test/images && go test ./...)
	(cd test/images/mkimage && go test ./...)
	if command -v cargo >/dev/null; then
		test/images/build.sh "" cargo-test
	else
		echo "left out: tests of test/images/tokioproxy (no cargo on this machine)"
	fi
}

# running: whether the test cluster answers already, so that it is left running.
running() {
	local state=${BACKLOG_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-backlog/cluster}
	[ -x "$state/bin/kubectl" ] && [ -f "$state/kubeconfig" ] &&
		"$state/bin/kubectl" --kubeconfig "$state/kubeconfig" --request-timeout 2s get --raw /readyz >/dev/null 2>&1
}

# has_cluster: whether there is a cluster, or one can be started here.
has_cluster() {
	[ -n "${E2E_KUBECONFIG:-}" ] || { [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ]; }
}

without_cluster() {
	echo "left out: $1 (needs root on Linux to start a cluster); run it against one of your own with E2E_KUBECONFIG=~/.kube/config, for instance a kind cluster (test/e2e/README.md)"
}

# own_cluster starts the test cluster unless another one is named; it is stopped
# at the end unless it was running before.
own_cluster() {
	if [ -z "${E2E_KUBECONFIG:-}" ]; then
		step "images"
		packages iproute2 busybox-static tmux
		test/images/build.sh
		step "cluster"
		local was_up=no
		running && was_up=yes
		eval "$(test/cluster/up.sh)"
		export E2E_KUBECONFIG=$KUBECONFIG E2E_OWN_CLUSTER=1
		if [ $was_up = no ]; then
			# shellcheck disable=SC2064 # the path is meant to be fixed now
			trap "'$root/test/cluster/down.sh'" EXIT
		fi
	fi
}

e2e() {
	if ! has_cluster; then
		without_cluster "real-cluster tests"
		return
	fi
	own_cluster
	step "real-cluster tests"
	go test -count=1 -timeout 40m ./test/e2e
}

# bench prints figures; nothing here fails for being slow.
bench() {
	step "benchmarks"
	go test -run '^$' -bench . -benchmem ./pkg/...
	if ! has_cluster; then
		without_cluster "the cluster's figures"
		return
	fi
	own_cluster
	step "the cluster's figures"
	go run ./test/bench -kubeconfig "$E2E_KUBECONFIG"
}

long() {
	packages gcc
	step "slow linters"
	hack/lint-long.sh
	if [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ]; then
		step "the test cluster itself, with crashes"
		test/cluster/selftest.sh --hard
		local version
		for version in ${KUBE_VERSIONS:-1.36.3}; do
			step "real-cluster tests on Kubernetes $version"
			(export KUBE_VERSION=$version && e2e)
		done
	fi
	step "fuzzing, a minute a target"
	local package target
	for package in $(go list ./...); do
		for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
			go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" "$package"
		done
	done
}

case ${1:-all} in
all)
	unit
	demo
	e2e
	;;
unit | e2e | long | bench) "$1" ;;
*)
	echo "usage: $0 all|unit|e2e|long|bench" >&2
	exit 2
	;;
esac
step "done"
