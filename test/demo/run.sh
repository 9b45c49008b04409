#!/usr/bin/env bash
# The main job on this machine, without a cluster: real listeners in a network
# namespace of their own, a bounded burst at one of them, and `top --local` on it.
#
# usage: run.sh [ARGUMENT...]   (passed to kubectl-backlog top --local)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ "${1:-}" != --inside ]; then
	if [ "$(uname -s)" != Linux ]; then
		echo "the live demo needs Linux: its listeners live in a network namespace; this is a recording of a real cluster" >&2
		exec make -s demo-replay
	fi
	command -v ss >/dev/null || {
		if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
			echo "installing iproute2 (ss and nstat)" >&2
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq iproute2 >/dev/null
		else
			echo "ss is missing (Debian: iproute2): the queues' limits will be unknown" >&2
		fi
	}
	echo "building kubectl-backlog and the listeners (a minute or two the first time)" >&2
	make -s build
	(cd test/images && go build -o ../../bin/demo/ ./badserver ./burst)
	# A namespace of its own: with root directly, else in a user namespace.
	if [ "$(id -u)" = 0 ]; then
		exec unshare --net --pid --fork --kill-child -- "$0" --inside "$@"
	fi
	exec unshare --user --map-root-user --net --pid --fork --kill-child -- "$0" --inside "$@"
fi
shift

ip link set lo up
# A healthy server; one whose queue of 16 is too short for what comes; and four
# SO_REUSEPORT queues of which one worker is stuck.
bin/demo/badserver -listen 127.0.0.1:8080 -backlog 128 -for 90s &
bin/demo/badserver -listen 127.0.0.1:4143 -backlog 16 -accept-delay 20ms -for 90s &
bin/demo/badserver -listen 127.0.0.1:9090 -backlog 8 -reuseport 4 -stuck 1 -for 90s &
sleep 0.3
bin/demo/burst -addr 127.0.0.1:8080 -n 20 -every 1s -for 75s -timeout 1s >/dev/null &
bin/demo/burst -addr 127.0.0.1:4143 -n 60 -every 2s -for 75s -timeout 1s >/dev/null &
bin/demo/burst -addr 127.0.0.1:9090 -n 8 -every 1s -for 75s -timeout 1s >/dev/null &
if [ -t 1 ]; then
	echo "q leaves the screen; the load ends by itself after 75 seconds" >&2
	bin/kubectl-backlog top --local "$@"
else
	bin/kubectl-backlog top --local --interval 2s --count 6 "$@"
fi
