#!/bin/bash
# Starts a real one-node Kubernetes for the tests and prints how to use it:
#
#	eval "$(test/cluster/up.sh)"
#
# On a bare Debian machine, as root; no registry, systemd or docker. Safe to run
# again: a running cluster is left as it is, a dead part is started again, what a
# crash or a reboot left is cleaned up. Notes go to stderr, the last line of
# stdout is the export of KUBECONFIG. See README.md.
#
# Environment: BACKLOG_TEST_DIR (state folder), KUBE_VERSION (another version of
# Kubernetes than the one in go.mod, built from a module made on the spot).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

build_limit=2400 # seconds; it takes 20 CPU minutes with a cold cache
started=$SECONDS

# --- what must be on the machine -------------------------------------------

missing_packages() {
	local pair
	for pair in containerd:containerd ctr:containerd runc:runc etcd:etcd-server ip:iproute2 ss:iproute2 openssl:openssl; do
		command -v "${pair%:*}" >/dev/null || echo "${pair#*:}"
	done
	[ -n "$(cni_folder)" ] || echo containernetworking-plugins
	[ -x /bin/busybox ] || echo busybox-static
}

cni_folder() {
	local d
	for d in /usr/lib/cni /opt/cni/bin; do
		if [ -x "$d/bridge" ] && [ -x "$d/host-local" ] && [ -x "$d/loopback" ]; then
			echo "$d"
			return
		fi
	done
}

install_packages() {
	local packages policy=/usr/sbin/policy-rc.d
	packages=$(missing_packages | sort -u | tr '\n' ' ')
	[ -n "$packages" ] || return 0
	command -v apt-get >/dev/null || die "this machine lacks $packages(Debian's names) and has no apt-get; install them and run up.sh again"
	say "installing $packages: about a minute (log: $log/packages.log)"
	# The packages bring services of the same programs, which nobody asked to run.
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
		remove_policy=$policy
	fi
	# shellcheck disable=SC2086 # one word a package
	if ! {
		timeout 300 apt-get update -qq &&
			DEBIAN_FRONTEND=noninteractive timeout 900 apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 $packages
	} >"$log/packages.log" 2>&1 </dev/null 9>&-; then
		tail -n 10 "$log/packages.log" | sed 's/^/    /' >&2
		die "installing $packages with apt-get: see above"
	fi
	if [ -n "$remove_policy" ]; then rm -f "$remove_policy"; remove_policy=; fi
	packages=$(missing_packages | sort -u | tr '\n' ' ')
	[ -z "$packages" ] || die "after installing, this machine still lacks what $packages should bring"
}

# --- what is built ---------------------------------------------------------

need_go() {
	command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null || die "no go on PATH: Go $(sed -n 's/^go //p' "$here/go.mod") or newer builds $1"
}

kube_version() { sed -n 's/^.*k8s.io\/kubernetes v//p' "$1/go.mod" | head -1; }

# build_kube makes $bin/$kube, once for each content of its module, and its links.
build_kube() {
	local source=$here version name
	version=${KUBE_VERSION:-$(kube_version "$here")}
	version=${version#v}
	if [ "$version" != "$(kube_version "$here")" ]; then
		source=$dir/src/$version
		if [ ! -f "$source/go.sum" ] || ! cmp -s "$here/main.go" "$source/main.go"; then
			need_go Kubernetes
			say "making a module for Kubernetes $version: about a minute (log: $log/module.log)"
			"$here/bump.sh" "$version" "$source" >"$log/module.log" 2>&1 9>&- || build_failed "making a module for Kubernetes $version" "$log/module.log"
		fi
	fi
	kube=kube-$version-$(cat "$source"/{go.mod,go.sum,main.go} | sha256sum | cut -c1-12)
	if [ ! -x "$bin/$kube" ]; then
		need_go "Kubernetes $version"
		go_build "$source" "$version"
	fi
	for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
		ln -sfn "$kube" "$bin/$name"
	done
	# Three binaries are kept, so that two checkouts can take turns.
	find "$bin" -maxdepth 1 -name 'kube-*-????????????' -type f ! -name "$kube" -printf '%T@ %p\n' |
		sort -rn | tail -n +3 | cut -d' ' -f2- | xargs -r rm -f
	touch "$bin/$kube"
}

# go_build FOLDER VERSION: in a session of its own, so that an interrupt ends all of it.
go_build() {
	local v=k8s.io/component-base/version minor out=$bin/.$kube.$$ began=$SECONDS status=0
	minor=${2#*.} minor=${minor%%.*}
	say "building Kubernetes $2 from Go modules: 5 to 10 minutes the first time, seconds with a warm Go cache (log: $log/build.log)"
	rm -f "$bin"/.kube-* # of builds that were killed; the lock is ours
	(
		cd "$1" && exec setsid env --default-signal=INT "$mark=$dir" GOWORK=off CGO_ENABLED=0 go build -buildvcs=false -o "$out" \
			-ldflags "-s -w -X $v.gitVersion=v$2 -X $v.gitMajor=1 -X $v.gitMinor=$minor" .
	) >"$log/build.log" 2>&1 </dev/null 9>&- &
	build_pid=$!
	while kill -0 "$build_pid" 2>/dev/null; do
		sleep 1
		if ((SECONDS - began >= build_limit)); then
			stop_build
			build_failed "building Kubernetes took more than $((build_limit / 60)) minutes and was stopped" "$log/build.log"
		fi
		if (((SECONDS - began) % 60 == 0)); then say "still building, $(((SECONDS - began) / 60)) min"; fi
	done
	wait "$build_pid" || status=$?
	build_pid=
	[ $status = 0 ] || build_failed "building Kubernetes $2" "$log/build.log"
	mv "$out" "$bin/$kube"
	say "built in $((SECONDS - began)) s"
}

# stop_build: go removes its temporary files on an interrupt, not on other signals.
# (The shell has its background jobs ignore interrupts, hence --default-signal above.)
stop_build() {
	local i
	kill -INT -- "-$build_pid" 2>/dev/null || true
	for ((i = 0; i < 50; i++)); do
		kill -0 "$build_pid" 2>/dev/null || break
		sleep 0.2
	done
	kill -KILL -- "-$build_pid" 2>/dev/null || true
	rm -f "$bin/.$kube.$$"
	build_pid=
}

build_failed() { # WHAT LOG
	tail -n 15 "$2" | sed 's/^/    /' >&2
	die "$1: see above (whole log: $2)"
}

# pause_image writes $images/pause.tar, the container that holds a pod's namespaces.
pause_image() {
	local source=$here/../images/mkimage tool
	[ -f "$source/go.mod" ] || die "no image writer in $source; is the checkout complete?"
	tool=$bin/mkimage-$(find "$source" -name '*.go' -o -name 'go.*' | sort | xargs cat | sha256sum | cut -c1-12)
	if [ ! -x "$tool" ]; then
		need_go "the image writer"
		say "building the image writer: up to half a minute (log: $log/mkimage.log)"
		rm -f "$bin"/mkimage-*
		(cd "$source" && GOWORK=off CGO_ENABLED=0 go build -buildvcs=false -o "$tool.tmp" . && mv "$tool.tmp" "$tool") \
			>"$log/mkimage.log" 2>&1 9>&- || build_failed "building the image writer" "$log/mkimage.log"
	fi
	"$tool" -o "$images/pause.tar" -tag docker.io/local/pause:1 -cmd "/bin/sleep 999999999" -busybox /bin/busybox
}

# --- what the kernel must allow --------------------------------------------

check_ports() {
	local port taken
	for port in $api_port $etcd_port $etcd_peer_port $kubelet_port $controllers_port $scheduler_port; do
		taken=$(ss -Hltnp "sport = :$port" | sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/\1 (pid \2)/p' | head -1)
		if [ -n "$(ss -Hltn "sport = :$port")" ]; then
			die "port $port is taken${taken:+ by $taken}; the cluster needs it, so end that process first"
		fi
	done
}

check_mounts() {
	local t=$run/mount-test
	mkdir -p "$t"/{lower,upper,work,merged}
	mount --bind "$t/lower" "$t/merged" 2>/dev/null || die "this machine does not let root mount (a container without privileges?); the cluster cannot run here"
	umount "$t/merged"
	snapshotter=overlayfs
	if ! mount -t overlay overlay -o "lowerdir=$t/lower,upperdir=$t/upper,workdir=$t/work" "$t/merged" 2>/dev/null; then
		say "no overlayfs in $dir (kernel or file system): images are copied for each container, which is slower"
		snapshotter=native
	else
		umount "$t/merged"
	fi
	rm -rf "$t"
	echo $snapshotter >"$run/snapshotter"
}

# make_cgroup: the kubelet wants the root of its groups to exist in every hierarchy.
make_cgroup() {
	local d c
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then # version 2
		mkdir -p "/sys/fs/cgroup/$cgroup"
		for d in /sys/fs/cgroup "/sys/fs/cgroup/$cgroup"; do
			for c in cpu cpuset memory pids io hugetlb; do
				grep -qw $c "$d/cgroup.controllers" || continue
				grep -qw $c "$d/cgroup.subtree_control" && continue
				echo "+$c" >"$d/cgroup.subtree_control" 2>/dev/null ||
					case $c in cpu | cpuset | memory | pids) die "enabling the cgroup controller $c in $d: is this a container whose own cgroup has processes?" ;; esac
			done
		done
		return
	fi
	for c in cpu cpuacct cpuset memory; do # version 1
		[ -f "/sys/fs/cgroup/$c/cgroup.procs" ] || die "the cgroup controller $c is not mounted at /sys/fs/cgroup/$c; the kubelet needs it"
	done
	for d in /sys/fs/cgroup/*/; do
		if [ -f "$d/cgroup.procs" ]; then mkdir -p "$d$cgroup"; fi
	done
	for c in cpus mems; do # a new cpuset is empty, and no process may enter an empty one
		cat "/sys/fs/cgroup/cpuset/cpuset.$c" >"/sys/fs/cgroup/cpuset/$cgroup/cpuset.$c"
	done
}

# make_bridge: the node's address is the bridge's, so nothing depends on the
# machine's network, and nothing listens on an address that others can reach.
make_bridge() {
	local taken
	taken=$(ip -4 -o addr show | awk '$4 ~ /^198\.1[89]\./ { print $2 " has " $4; exit }')
	[ -z "$taken" ] || die "the interface $taken, but the cluster uses 198.18.0.0/15; remove it first"
	! ip link show dev $bridge >/dev/null 2>&1 || die "there is an interface $bridge that is not ours; the cluster needs the name"
	ip link add $bridge type bridge 2>"$log/bridge.log" || die "making the bridge $bridge: $(head -1 "$log/bridge.log") (a kernel without bridges, or no right to make one)"
	ip link set $bridge alias $bridge_alias
	# A bridge without an address of its own takes the lowest of its members',
	# and pods that come and go would change it under the others.
	ip link set $bridge address 02:42:c6:12:00:01
	ip addr add "$node_ip/16" dev $bridge
	ip link set $bridge up
}

# --- what the components read ----------------------------------------------

make_certificates() {
	mkdir -p "$run/pki"
	cd "$run/pki"
	cat >openssl.cnf <<-E
		[req]
		distinguished_name = dn
		[dn]
		[ca]
		basicConstraints = critical,CA:TRUE
		keyUsage = critical,keyCertSign,cRLSign
		subjectKeyIdentifier = hash
	E
	local key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config openssl.cnf"
	certificate() { # NAME SUBJECT ALTERNATIVE-NAMES
		# shellcheck disable=SC2086 # split into options
		openssl req $key -keyout "$1.key" -out "$1.csr" -subj "$2"
		printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$3" >"$1.ext"
		openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -out "$1.crt" -days 365 -extfile "$1.ext"
	}
	{
		# shellcheck disable=SC2086
		openssl req -x509 -extensions ca $key -keyout ca.key -out ca.crt -days 365 -subj /CN=kubectl-backlog-test
		certificate apiserver /CN=kube-apiserver "DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$node_ip,IP:${service_range%.0/*}.1"
		certificate admin /O=system:masters/CN=admin DNS:admin
		certificate node1 /O=system:nodes/CN=system:node:node1 "DNS:node1,IP:$node_ip"
		openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out sa.key
		openssl pkey -in sa.key -pubout -out sa.pub
	} >"$log/certificates.log" 2>&1 || build_failed "making certificates with openssl" "$log/certificates.log"
	chmod 600 ./*.key
	cd /
}

# write_kubeconfig NAME FILE: with the certificates inside, so that it can be copied.
write_kubeconfig() {
	local tmp=$2.$$
	(umask 077 && cat >"$tmp") <<-E
		apiVersion: v1
		kind: Config
		clusters:
		- name: kubectl-backlog-test
		  cluster:
		    server: https://127.0.0.1:$api_port
		    certificate-authority-data: $(base64 -w0 <"$run/pki/ca.crt")
		users:
		- name: $1
		  user:
		    client-certificate-data: $(base64 -w0 <"$run/pki/$1.crt")
		    client-key-data: $(base64 -w0 <"$run/pki/$1.key")
		contexts:
		- name: kubectl-backlog-test
		  context: {cluster: kubectl-backlog-test, user: $1}
		current-context: kubectl-backlog-test
	E
	mv "$tmp" "$2"
}

write_configs() {
	# restrict_oom_score_adj: without CAP_SYS_RESOURCE nobody may lower an oom score,
	# and every pod would fail with "can't get final child's PID from pipe: EOF".
	# netns_mounts_under_state_dir: a clean-up then finds the network namespaces, and
	# "ip netns add", which mounts /run/netns anew, cannot hide them from the runtime.
	cat >"$run/containerd.toml" <<-E
		version = 2
		root = "$run/containerd"
		state = "$run/state"
		disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
		[grpc]
		  address = "$run/containerd.sock"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$run/opt"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "docker.io/local/pause:1"
		  restrict_oom_score_adj = true
		  netns_mounts_under_state_dir = true
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "$(cni_folder)"
		    conf_dir = "$run/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd]
		    snapshotter = "$snapshotter"
		    default_runtime_name = "runc"
		    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		        SystemdCgroup = false
		        Root = "$run/runc"
	E
	# isGateway would set the bridge's address (make_bridge has) and ip_forward of the whole machine.
	mkdir -p "$run/cni"
	cat >"$run/cni/10-bridge.conflist" <<-E
		{"cniVersion": "0.4.0", "name": "$cni_network", "plugins": [
		  {"type": "bridge", "bridge": "$bridge", "isGateway": false, "ipMasq": false,
		   "ipam": {"type": "host-local", "dataDir": "$run/ipam", "routes": [{"dst": "0.0.0.0/0"}],
		            "ranges": [[{"subnet": "$pod_range", "rangeStart": "198.18.1.0", "gateway": "$node_ip"}]]}}]}
	E
	# Images come from no registry, so a full disk must not make the kubelet remove them;
	# and it leaves the machine's iptables alone.
	cat >"$run/kubelet.yaml" <<-E
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		address: $node_ip
		port: $kubelet_port
		healthzPort: 0
		authentication: {anonymous: {enabled: false}, x509: {clientCAFile: $run/pki/ca.crt}, webhook: {enabled: false}}
		authorization: {mode: AlwaysAllow}
		tlsCertFile: $run/pki/node1.crt
		tlsPrivateKeyFile: $run/pki/node1.key
		containerRuntimeEndpoint: unix://$run/containerd.sock
		podLogsDir: $run/pod-logs
		volumePluginDir: $run/volume-plugins
		cgroupDriver: cgroupfs
		cgroupRoot: /$cgroup
		enforceNodeAllocatable: []
		failCgroupV1: false
		failSwapOn: false
		resolvConf: ""
		makeIPTablesUtilChains: false
		imageGCHighThresholdPercent: 100
		evictionHard: {memory.available: "50Mi"}
		localStorageCapacityIsolation: false
		maxPods: 500
	E
}

# --- the components --------------------------------------------------------

# start NAME COMMAND...: in a session and an environment of its own, unless it runs.
start() {
	local name=$1
	shift
	alive "$name" && return
	[ ! -f "$log/$name.log" ] || mv -f "$log/$name.log" "$log/$name.log.1"
	(cd / && exec setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$run" "$mark=$dir" "$@") \
		>"$log/$name.log" 2>&1 </dev/null 9>&- &
	record "$name" $!
	disown $! # the shell would report its end
}

# wait_for SECONDS NAME WHAT COMMAND...: until COMMAND succeeds; ends early, with
# the end of the log, if a component dies meanwhile.
wait_for() {
	local wait=$1 limit=$((SECONDS + $1)) name=$2 what=$3 each
	shift 3
	until "$@" >/dev/null 2>&1; do
		for each in $components; do
			if [ -f "$run/pids/$each" ] && ! alive "$each"; then
				component_failed "$each died" "$each"
				return 1
			fi
		done
		if ((SECONDS >= limit)); then
			component_failed "waited $wait s in vain until $what" "$name"
			return 1
		fi
		sleep 0.2
	done
}

component_failed() { # WHAT NAME
	told=1
	say "$1; the end of $log/$2.log:"
	tail -n 15 "$log/$2.log" | sed 's/^/    /' >&2
}

api_ready() { ctl get --raw /readyz; }
node_ready() {
	local state
	state=$(ctl get node node1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.spec.taints}')
	[ "$state" = "True " ]
}
# A pod made before its service account exists is refused.
accounts_ready() { ctl -n default get serviceaccount/default configmap/kube-root-ca.crt; }

# start_components starts what does not run, in order, and waits until pods can be made.
start_components() {
	local name
	for name in $components; do alive "$name" || rm -f "$run/pids/$name"; done
	start etcd etcd --data-dir "$run/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
		--listen-peer-urls "http://127.0.0.1:$etcd_peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$etcd_peer_port" \
		--initial-cluster "default=http://127.0.0.1:$etcd_peer_port"
	start containerd containerd -c "$run/containerd.toml"
	start kube-apiserver "$bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" \
		--bind-address=127.0.0.1 --secure-port=$api_port --advertise-address=$node_ip --allow-privileged=true \
		--authorization-mode=Node,RBAC --service-cluster-ip-range=$service_range \
		--client-ca-file="$run/pki/ca.crt" --tls-cert-file="$run/pki/apiserver.crt" --tls-private-key-file="$run/pki/apiserver.key" \
		--service-account-issuer=https://kubernetes.default.svc \
		--service-account-key-file="$run/pki/sa.pub" --service-account-signing-key-file="$run/pki/sa.key" \
		--kubelet-certificate-authority="$run/pki/ca.crt" --kubelet-client-certificate="$run/pki/admin.crt" \
		--kubelet-client-key="$run/pki/admin.key" --kubelet-preferred-address-types=InternalIP
	wait_for 60 containerd "containerd answers" ctr_ours version || return
	load_images || return
	wait_for 120 kube-apiserver "the API server is ready" api_ready || return
	start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig="$run/admin.kubeconfig" --leader-elect=false \
		--bind-address=127.0.0.1 --secure-port=$controllers_port --use-service-account-credentials \
		--service-account-private-key-file="$run/pki/sa.key" --root-ca-file="$run/pki/ca.crt" --node-monitor-grace-period=2m
	start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$run/admin.kubeconfig" --leader-elect=false \
		--bind-address=127.0.0.1 --secure-port=$scheduler_port
	start kubelet "$bin/kubelet" --config="$run/kubelet.yaml" --kubeconfig="$run/node1.kubeconfig" \
		--hostname-override=node1 --node-ip=$node_ip --root-dir="$run/kubelet" --cert-dir="$run/pki"
	wait_for 120 kubelet "the node is ready" node_ready || return
	wait_for 60 kube-controller-manager "the default service account is there" accounts_ready || return
}

load_images() {
	local tar
	for tar in "$images"/*.tar; do
		if ! ctr_ours images import --snapshotter "$(cat "$run/snapshotter")" "$tar" >"$log/images.log" 2>&1; then
			# One that somebody loaded long ago must not keep the cluster from starting.
			if [ "$tar" != "$images/pause.tar" ]; then
				say "leaving out the image $tar, which containerd refuses: $(tail -n 1 "$log/images.log")"
				rm -f "$tar"
				continue
			fi
			tail -n 5 "$log/images.log" | sed 's/^/    /' >&2
			say "loading $tar into containerd: see above"
			told=1
			return 1
		fi
	done
}

start_fresh() {
	local other
	told=1 # by the subshell, if it ends here
	other=$(cat "$owner_file" 2>/dev/null || true)
	if [ -n "$other" ] && [ "$other" != "$dir" ] && [ -d "$other/run" ]; then
		(
			set_dir "$other"
			[ -z "$(marked_pids)" ] || die "a test cluster with the state folder $other is running; stop it first: BACKLOG_TEST_DIR=$other $here/down.sh"
			say "cleaning up a cluster that was killed (state folder $other)"
			stop_all
		) || exit 1
	fi
	told=
	stop_all
	[ -z "$(leftovers)" ] || die "cleaning up after an earlier cluster; still there:
$(leftovers)"
	check_ports
	say "starting: about 15 seconds (logs: $log)"
	touched=1
	mkdir -p "$run"
	chmod 700 "$run"
	echo "$dir" >"$owner_file"
	check_mounts
	make_cgroup
	make_bridge
	make_certificates
	write_kubeconfig admin "$run/admin.kubeconfig"
	write_kubeconfig node1 "$run/node1.kubeconfig"
	write_configs
	write_kubeconfig admin "$kubeconfig"
	start_components
}

all_alive() {
	local name
	for name in $components; do alive "$name" || return 1; done
}

# --- from here on it runs --------------------------------------------------

build_pid='' remove_policy='' touched=''
ended() {
	local status=$?
	trap '' INT TERM HUP
	tell_end $status
	if [ -n "$remove_policy" ]; then rm -f "$remove_policy"; fi
	if [ -n "$build_pid" ]; then
		stop_build
	fi
	if [ $status != 0 ] && [ -n "$touched" ]; then
		say "stopping what was started; logs are kept in $log"
		stop_all
	fi
	exit $status
}

need_linux_and_root
state_dir
command -v flock >/dev/null || die "no flock on PATH (Debian: util-linux)"
lock
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

install_packages
build_kube
# What a running cluster was made by. If any of it has changed since, tests against
# that cluster would say nothing about this checkout.
recipe=$(
	{
		declare -f make_cgroup make_bridge make_certificates write_configs start_components pause_image
		echo "$cgroup $bridge $node_ip $pod_range $service_range $api_port"
	} | sha256sum | cut -c1-12
)-$kube

# The pieces that outlive a cluster are there. Is there a cluster, and is it this one?
up=
if [ "$(cat "$run/recipe" 2>/dev/null)" != "$recipe" ]; then
	[ ! -f "$run/recipe" ] || say "what runs is from another version of these scripts or of Kubernetes: replacing it"
elif all_alive && api_ready >/dev/null 2>&1 && node_ready; then
	say "already up"
	up=1
elif alive etcd && alive containerd && our_bridge; then
	say "parts of the cluster are dead or ill: starting what is missing"
	touched=1
	start_components && up=1
	[ -n "$up" ] || say "that did not help: starting afresh"
fi
if [ -z "$up" ]; then
	pause_image
	start_fresh
	echo "$recipe" >"$run/recipe"
fi
say "up after $((SECONDS - started)) s: Kubernetes ${kube#kube-}, kubectl in $bin"
echo "export KUBECONFIG=$kubeconfig"
