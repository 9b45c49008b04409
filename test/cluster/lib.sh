# shellcheck shell=bash disable=SC2034 # most names are used by the scripts that read this
# What up.sh, down.sh and load-image.sh share: where things are, the lock, and
# how our own processes, containers, mounts and cgroups are told from others.
#
# Nothing here trusts a pid alone. After a crash or a reboot a recorded pid may
# belong to anybody, so a process is ours only if its start time and the boot
# are the recorded ones, or if its environment carries our mark.

PATH=$PATH:/usr/sbin:/sbin

# The whole machine has one such cluster: these are names in shared spaces.
bridge=kb0
bridge_alias=kubectl-backlog-test # on the bridge, so that a foreign kb0 is left alone
cni_network=kubectl-backlog-test
cgroup=kubectl-backlog-test
lock_file=/run/kubectl-backlog-cluster.lock
owner_file=/run/kubectl-backlog-cluster.dir # which state folder the running cluster has
mark=KUBECTL_BACKLOG_CLUSTER_DIR            # in the environment of every process we start

# Addresses from 198.18.0.0/15, set aside for tests of networks (RFC 2544), and
# ports beside the usual ones, so that a kind, k3s or etcd of one's own can stay.
node_ip=198.18.0.1
pod_range=198.18.0.0/16
service_range=198.19.0.0/16
api_port=16443 etcd_port=16379 etcd_peer_port=16380
kubelet_port=16250 controllers_port=16257 scheduler_port=16259

components="etcd containerd kube-apiserver kube-controller-manager kube-scheduler kubelet"

say() { printf 'cluster: %s\n' "$*" >&2; }
die() {
	say "$*"
	told=1
	exit 1
}

# A command that fails where nobody thought of it ends the script (set -e); it
# must not do so in silence.
told='' failed_at=''
set -E
trap 'failed_at="line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
tell_end() { # STATUS
	if [ "$1" != 0 ] && [ "$1" -lt 128 ] && [ -z "$told" ]; then say "ended with status $1 at ${failed_at:-its end}"; fi
}
trap 'tell_end $?' EXIT

need_linux_and_root() {
	[ "$(uname -s)" = Linux ] || die "needs Linux, this is $(uname -s)"
	[ "$(id -u)" = 0 ] || die "needs root (containers, a bridge, mounts); run it with: sudo -E $0"
}

# set_dir DIR: all paths of the cluster whose state is in DIR.
set_dir() {
	dir=$1 bin=$1/bin log=$1/log images=$1/images
	run=$1/run # everything that is thrown away with the cluster
	kubeconfig=$1/kubeconfig
}

# state_dir sets the paths from the environment and makes the folder.
state_dir() {
	local wanted=${BACKLOG_TEST_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubectl-backlog/cluster}
	mkdir -p "$wanted" || die "making the state folder $wanted: see above; BACKLOG_TEST_DIR names another"
	wanted=$(cd "$wanted" && pwd -P) # as /proc/self/mountinfo will name it
	case $wanted in
	*[!A-Za-z0-9._/-]*) die "the state folder $wanted has characters that the kubelet refuses in paths; set BACKLOG_TEST_DIR" ;;
	esac
	# The path of a Unix socket has 107 bytes at most, and the kubelet's is the longest.
	[ ${#wanted} -le 64 ] || die "the state folder $wanted has a path of more than 64 bytes, too long for sockets in it; set BACKLOG_TEST_DIR"
	set_dir "$wanted"
	mkdir -p "$bin" "$log" "$images"
}

# lock keeps other up.sh and down.sh out. Long-lived children close descriptor 9.
lock() {
	exec 9>>"$lock_file"
	flock -n 9 && return
	say "another up.sh or down.sh is at work; waiting for it, 45 minutes at most"
	flock -w 2700 9 || die "another up.sh or down.sh has held $lock_file for 45 minutes; see: fuser -v $lock_file"
}

ctl() { "$bin/kubectl" --kubeconfig "$kubeconfig" --request-timeout=10s "$@"; }
ctr_ours() { ctr --address "$run/containerd.sock" --namespace k8s.io "$@"; }

# --- processes -------------------------------------------------------------

boot_id=unknown
if [ -r /proc/sys/kernel/random/boot_id ]; then read -r boot_id </proc/sys/kernel/random/boot_id; fi

# proc_stat PID prints state and start time; the name before them may hold blanks.
proc_stat() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# shellcheck disable=SC2086 # split into fields
	set -- ${stat##*) }
	[ $# -ge 20 ] && echo "$1 ${20}"
}

# record NAME PID
record() {
	local stat
	stat=$(proc_stat "$2") || stat="gone 0"
	mkdir -p "$run/pids"
	echo "$2 ${stat#* } $boot_id" >"$run/pids/$1"
}

# our_pid NAME prints the pid of a component that still runs.
our_pid() {
	local pid start boot stat
	read -r pid start boot 2>/dev/null <"$run/pids/$1" || return 1
	[ "$boot" = "$boot_id" ] && stat=$(proc_stat "$pid") || return 1
	[ "${stat#* }" = "$start" ] && [ "${stat% *}" != Z ] && echo "$pid"
}

alive() { our_pid "$1" >/dev/null; }

# marked_pids prints every live process that was started for this cluster, however
# it came to be: shims, plugins in mid-call, a build whose up.sh was killed. One with
# another root folder belongs to a cluster in a chroot or container that we can see.
marked_pids() {
	local file pid stat
	# The name is a whole, NUL-ended entry of the environment: no other folder matches.
	grep -lzxF "$mark=$dir" /proc/[0-9]*/environ 2>/dev/null | while read -r file; do
		pid=${file#/proc/} pid=${pid%/environ}
		stat=$(proc_stat "$pid") && [ "${stat% *}" != Z ] && [ "/proc/$pid/root" -ef / ] && echo "$pid"
	done || true
}

# --- containers, mounts, cgroups -------------------------------------------

# cgroup_dirs prints our group in each hierarchy (version 1) or in the one (version 2).
cgroup_dirs() {
	local d
	for d in "/sys/fs/cgroup/$cgroup" /sys/fs/cgroup/*/"$cgroup"; do
		if [ -d "$d" ] && [ ! -L "${d%/*}" ]; then echo "$d"; fi
	done
}

container_pids() {
	local d
	for d in $(cgroup_dirs); do
		find "$d" -name cgroup.procs -exec cat {} + 2>/dev/null || true
	done | sort -un
}

# mounts prints the mount points below the state folder, deepest first.
mounts() { awk -v p="$run/" 'index($5, p) == 1 { print $5 }' /proc/self/mountinfo | sort -r; }

# Asked of the kernel and not of /sys, which may be another network namespace's.
our_bridge() { ip -o link show dev "$bridge" 2>/dev/null | grep -qF "alias $bridge_alias"; }

# leftovers prints what of the cluster is still there, one thing a line.
leftovers() {
	local name pid
	for name in $components; do
		if pid=$(our_pid "$name"); then echo "process $pid ($name)"; fi
	done
	for pid in $(marked_pids); do echo "process $pid ($(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | cut -c1-80))"; done
	for pid in $(container_pids); do echo "container process $pid"; done
	mounts | sed 's/^/mount /'
	cgroup_dirs | sed 's/^/cgroup /'
	if our_bridge; then echo "bridge $bridge"; fi
}

# kill_until_gone LIST: kills what the function LIST prints, until it prints nothing, for 20 s.
kill_until_gone() {
	local i pids
	for ((i = 0; i < 100; i++)); do
		pids=$("$1")
		[ -n "$pids" ] || return 0
		# shellcheck disable=SC2086 # one word a pid
		kill -KILL $pids 2>/dev/null || true
		sleep 0.2
	done
}

# stop_all ends the cluster of the state folder, in whatever state it is, and
# throws its state away. Binaries, images and logs stay.
stop_all() {
	local name pid i d socket address
	# 1. What starts containers goes first, politely; nothing is lost by it.
	for name in kubelet kube-scheduler kube-controller-manager kube-apiserver; do
		if pid=$(our_pid "$name"); then kill -TERM "$pid" 2>/dev/null || true; fi
	done
	for ((i = 0; i < 15; i++)); do
		if ! alive kubelet && ! alive kube-apiserver; then break; fi
		sleep 0.2
	done
	# 2. Containers. A frozen one cannot die; with the runtime still there, shims clean up.
	for d in $(cgroup_dirs); do
		find "$d" -name freezer.state -exec sh -c 'for f; do echo THAWED >"$f"; done' sh {} + 2>/dev/null || true
	done
	kill_until_gone container_pids
	# 3. The rest: the recorded ones, then whoever carries the mark (shims among them).
	for name in $components; do
		if pid=$(our_pid "$name"); then kill -KILL "$pid" 2>/dev/null || true; fi
	done
	kill_until_gone marked_pids
	kill_until_gone container_pids # one that was being made a moment ago
	# 4. What they leave outside the state folder.
	for address in "$run"/state/io.containerd.runtime.v2.task/k8s.io/*/address; do
		if [ -f "$address" ]; then
			socket=$(cat "$address")
			case $socket in unix:///run/containerd/s/*) rm -f "${socket#unix://}" ;; esac
		fi
	done
	# Results of CNI calls name the pod's network namespace, which is in the state folder.
	{ grep -lF "$run/" /var/lib/cni/results/* 2>/dev/null || true; } | xargs -r rm -f
	find /var/log/containers -maxdepth 1 -type l -lname "$run/*" -delete 2>/dev/null || true
	# 5. Mounts, deepest first; a busy one is detached.
	for ((i = 0; i < 10; i++)); do
		[ -n "$(mounts)" ] || break
		mounts | while read -r d; do umount "$d" 2>/dev/null || umount -l "$d" 2>/dev/null || true; done
	done
	if our_bridge; then ip link del "$bridge" || true; fi
	for ((i = 0; i < 25; i++)); do
		[ -n "$(cgroup_dirs)" ] || break
		for d in $(cgroup_dirs); do find "$d" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
		[ -n "$(cgroup_dirs)" ] && sleep 0.2
	done
	# Removing a folder with a mount in it would remove what is mounted.
	if [ -z "$(mounts)" ]; then rm -rf --one-file-system "$run"; fi
	if [ "$(cat "$owner_file" 2>/dev/null)" = "$dir" ]; then rm -f "$owner_file"; fi
}
