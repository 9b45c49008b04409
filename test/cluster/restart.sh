#!/bin/bash
# Restarts one component of the running test cluster, with the same arguments and
# environment as before, and returns when it works again.
#
# usage: restart.sh [--kill] kubelet|containerd [KEY=VALUE...]
#
# It is told to end, as by systemd; with --kill it gets no time to. KEY=VALUE are
# lines of the kubelet's configuration that hold until it is started again:
#
#	restart.sh kubelet containerLogMaxSize=64Ki containerLogMonitorInterval=3s
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

signal=TERM
if [ "${1:-}" = --kill ]; then signal=KILL && shift; fi
name=${1:-}
case $name in kubelet | containerd) shift ;; *) die "usage: restart.sh [--kill] kubelet|containerd [KEY=VALUE...]" ;; esac
[ $# = 0 ] || [ "$name" = kubelet ] || die "KEY=VALUE is for the kubelet"

need_linux_and_root
state_dir
lock
pid=$(our_pid "$name") || die "no $name of the cluster in $dir runs"
mapfile -d '' -t command <"/proc/$pid/cmdline"
mapfile -d '' -t environment <"/proc/$pid/environ"

if [ "$name" = kubelet ]; then
	cp "$run/kubelet.yaml" "$run/kubelet-restarted.yaml"
	for line in "$@"; do echo "${line%%=*}: ${line#*=}" >>"$run/kubelet-restarted.yaml"; done
	for i in "${!command[@]}"; do
		case ${command[i]} in --config=*) command[i]=--config=$run/kubelet-restarted.yaml ;; esac
	done
fi

kill "-$signal" "$pid"
for ((i = 0; i < 100; i++)); do
	alive "$name" || break
	sleep 0.1
done
alive "$name" && die "$name (pid $pid) does not end"
(cd / && exec setsid env -i "${environment[@]}" "${command[@]}") >>"$log/$name.log" 2>&1 </dev/null 9>&- &
record "$name" $!
disown $!

# works: it does its job, not only lives.
works() {
	case $name in
	containerd) ctr_ours version ;;
	kubelet) ctl get --raw /api/v1/nodes/node1/proxy/healthz ;;
	esac
}
for ((i = 0; i < 300; i++)); do
	alive "$name" || die "$name died; see $log/$name.log"
	if works >/dev/null 2>&1; then
		say "$name restarted, pid $(our_pid "$name")"
		exit 0
	fi
	sleep 0.1
done
die "$name does not work again after 30 s; see $log/$name.log"
