#!/bin/bash
# Tries the test cluster itself: starts it, uses what the tests need of a
# Kubernetes, breaks it, stops it, and looks for anything left behind.
#
# usage: selftest.sh [--hard]
#
# It restarts this machine's test cluster: run it when nothing else uses it.
# --hard adds crashes: two starts at once, a killed API server, everything killed
# at once, an interrupted build. About 1 minute, with --hard about 4.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

hard=
case ${1-} in
'') ;;
--hard) hard=1 ;;
*) die "usage: selftest.sh [--hard]" ;;
esac
need_linux_and_root
state_dir
passed=0 failed=0
out=$(mktemp -d)
trap 'tell_end $?; rm -rf "$out"' EXIT

# check WHAT COMMAND...: counts, and shows the output of what failed.
check() {
	local what=$1 began=$SECONDS
	shift
	if "$@" >"$out/last" 2>&1; then
		passed=$((passed + 1))
		printf 'ok    %s (%d s)\n' "$what" $((SECONDS - began))
	else
		failed=$((failed + 1))
		printf 'FAIL  %s\n' "$what"
		sed 's/^/      /' "$out/last"
	fi
}

up() { timeout 3000 "$here/up.sh"; }
down() { "$here/down.sh"; }
# eventually SECONDS COMMAND...
eventually() {
	local limit=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < limit)) || return 1
		sleep 0.3
	done
}
says() { # WANT COMMAND...: the output of the command contains WANT
	local want=$1 got
	shift
	got=$("$@" 2>&1) || true
	case $got in *"$want"*) ;; *)
		printf 'want %s in: %s\n' "$want" "$got"
		return 1
		;;
	esac
}
exits() { # STATUS COMMAND...
	local want=$1 got=0
	shift
	"$@" || got=$?
	echo "ended with $got"
	[ "$got" = "$want" ]
}
nothing_left() {
	local left
	left=$(
		leftovers
		# The same, found by other means.
		grep -l "$run/containerd[.]sock" /proc/[0-9]*/cmdline 2>/dev/null || true
		awk -v p="$dir/" 'index($5, p) == 1' /proc/self/mountinfo
		ip -o link show dev "$bridge" 2>/dev/null || true
		ss -Hltn "sport = :$api_port or sport = :$etcd_port or sport = :$kubelet_port"
		[ ! -e "$run" ] || echo "folder $run"
	)
	echo "$left"
	[ -z "$left" ]
}
pid_of() { our_pid "$1" || echo none; }

# The pod has a sidecar that never ends, a main container that listens on IPv6
# and IPv4 at once, and satisfies Pod Security "restricted".
pod() {
	local security='{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}'
	ctl apply -f - <<-E
		apiVersion: v1
		kind: Namespace
		metadata: {name: selftest, labels: {pod-security.kubernetes.io/enforce: restricted}}
		---
		apiVersion: v1
		kind: Pod
		metadata: {name: web, namespace: selftest}
		spec:
		  terminationGracePeriodSeconds: 1
		  securityContext: {runAsUser: 65534, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
		  initContainers:
		  - {name: sidecar, image: docker.io/local/pause:1, restartPolicy: Always, securityContext: $security}
		  containers:
		  - name: app
		    image: docker.io/local/pause:1
		    command: [sh, -c, 'echo started; mkdir /tmp/www; echo hello >/tmp/www/index.html; exec httpd -f -p "[::]:8080" -h /tmp/www']
		    securityContext: $security
		  - name: spin
		    image: docker.io/local/pause:1
		    command: [sh, -c, 'while :; do :; done']
		    resources: {limits: {cpu: 100m}}
		    securityContext: $security
	E
}
in_pod() { ctl -n selftest exec web -c app -- "$@"; }
# shellcheck disable=SC2016 # the container's shell expands it
ephemeral() {
	ctl -n selftest debug web --image=docker.io/local/pause:1 --image-pull-policy=Never --profile=restricted --target=app \
		-c probe -- sh -c 'echo probe sees $(cat /proc/1/comm); trap "exit 0" TERM; while :; do sleep 1; done' &&
		eventually 20 says "probe sees httpd" ctl -n selftest logs web -c probe
}
forward() {
	local pid port status=0
	ctl -n selftest port-forward pod/web :8080 >"$out/forward" 2>&1 &
	pid=$!
	eventually 10 grep -q 'Forwarding from 127' "$out/forward" || status=1
	port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$out/forward")
	[ -z "$port" ] || says hello get 127.0.0.1 "$port" || status=1
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	cat "$out/forward"
	return $status
}
# get HOST PORT: busybox' static wget crashes outside its image (it loads the machine's NSS).
# shellcheck disable=SC2016 # expanded by the inner bash
get() { timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/$1"; printf "GET / HTTP/1.0\r\n\r\n" >&3; cat <&3' "$1" "$2"; }
# throttled: over 2 s a container limited to 100m may burn at most about 0.2 s.
throttled() {
	local before after
	before=$(ctl -n selftest exec web -c spin -- cut -d' ' -f14 /proc/1/stat)
	sleep 2
	after=$(ctl -n selftest exec web -c spin -- cut -d' ' -f14 /proc/1/stat)
	echo "user time went from $before to $after ticks of 10 ms"
	[ $((after - before)) -gt 5 ] && [ $((after - before)) -lt 60 ]
}
workload() { # KIND NAME: comes up and can be asked for
	ctl -n default apply -f - <<-E && eventually 40 says 1 ctl -n default get "$1/$2" -o "jsonpath={$3}"
		apiVersion: $4
		kind: $1
		metadata: {name: $2}
		spec:
		  $5
		  template:
		    metadata: {labels: {app: $2}}
		    spec:
		      terminationGracePeriodSeconds: 0
		      restartPolicy: $6
		      containers: [{name: c, image: docker.io/local/pause:1, command: [$7]}]
	E
}
host_network() {
	ctl -n default run host --image=docker.io/local/pause:1 --overrides='{"spec":{"hostNetwork":true,"terminationGracePeriodSeconds":0}}' &&
		eventually 30 says "$node_ip" ctl -n default get pod host -o 'jsonpath={.status.podIP}'
}
refused_by_pod_security() {
	says 'violates PodSecurity "restricted' ctl -n selftest run bad --image=docker.io/local/pause:1
}

check "up" up
[ $failed = 0 ] || die "nothing can be tried without a cluster"
check "what it prints last is the export" says "export KUBECONFIG=$kubeconfig" up
pid=$(pid_of kube-apiserver)
check "up again" up
check "up again left the API server alone" [ "$pid" = "$(pid_of kube-apiserver)" ]

check "pod, native sidecar" pod
check "pod is ready" ctl -n selftest wait --for=condition=Ready pod/web --timeout=60s --request-timeout=0
check "exec" says started_by_exec in_pod echo started_by_exec
check "logs" says started ctl -n selftest logs web -c app
check "IPv6 inside the pod" says hello in_pod wget -q -O - 'http://[::1]:8080/'
check "IPv4 inside the pod" says hello in_pod wget -q -O - 'http://127.0.0.1:8080/'
check "from the machine to the pod" says hello get "$(ctl -n selftest get pod web -o 'jsonpath={.status.podIP}' || true)" 8080
check "port-forward" forward
check "ephemeral container, shared process namespace" ephemeral
check "Pod Security" refused_by_pod_security
check "CPU limits throttle" throttled
check "hostNetwork" host_network
check "Deployment" workload Deployment d .status.readyReplicas apps/v1 "selector: {matchLabels: {app: d}}" Always 'sleep, "1000"'
check "DaemonSet" workload DaemonSet ds .status.numberReady apps/v1 "selector: {matchLabels: {app: ds}}" Always 'sleep, "1000"'
check "StatefulSet" workload StatefulSet s .status.readyReplicas apps/v1 "selector: {matchLabels: {app: s}}" Always 'sleep, "1000"'
check "Job" workload Job j .status.succeeded batch/v1 "backoffLimit: 0" Never '"true"'
check "pod is deleted in time" timeout 20 "$bin/kubectl" --kubeconfig "$kubeconfig" -n selftest delete pod web

if [ -n "$hard" ]; then
	pid=$(pid_of etcd) old=$(pid_of kube-apiserver)
	kill -KILL "$old"
	check "up after the API server was killed" up
	check "only the API server is new" [ "$pid" = "$(pid_of etcd)" -a "$old" != "$(pid_of kube-apiserver)" ]
	check "what was there is there" says selftest ctl get namespace selftest
	kill -STOP "$(pid_of kubelet)"
	kill -KILL "$(pid_of containerd)"
	check "up after containerd was killed and the kubelet hangs" up
	check "it works" says "No resources" ctl get pods -n default

	ctl -n default run left --image=docker.io/local/pause:1 >/dev/null
	eventually 30 says Running ctl -n default get pod left >/dev/null || true
	# shellcheck disable=SC2046 # one word a pid
	kill -KILL $(marked_pids) $(container_pids) 2>/dev/null || true
	check "up after everything was killed" up
	check "the node is ready and nothing old is there" says "NotFound" ctl -n default get pod left

	down 2>/dev/null
	up >"$out/one" 2>&1 &
	one=$!
	up >"$out/two" 2>&1 &
	two=$!
	check "two ups at once, first" wait $one
	check "two ups at once, second" wait $two
	check "they made one cluster" says 1 grep -c 'starting: about' <(cat "$out/one" "$out/two")

	# An interrupted build, in a state folder of its own; the running cluster must not mind.
	pid=$(pid_of etcd)
	mkdir "$out/state"
	BACKLOG_TEST_DIR=$out/state setsid "$here/up.sh" >"$out/build" 2>&1 &
	build=$!
	check "a build begins" eventually 60 grep -q "building Kubernetes" "$out/build"
	sleep 3
	kill -TERM "$build"
	check "it ends with 143" exits 143 wait "$build"
	check "no build is left" [ -z "$(set_dir "$(realpath "$out/state")" && marked_pids && ls -A "$bin")" ]
	cp -a "$bin"/kube* "$bin"/mkimage* "$out/state/bin"
	check "another state folder is refused" says "is running; stop it first" env "BACKLOG_TEST_DIR=$out/state" "$here/up.sh"
	check "the running cluster did not mind" [ "$pid" = "$(pid_of etcd)" ]
fi

check "down" down
check "nothing is left" nothing_left
check "logs are kept" [ -s "$log/kubelet.log" ]
check "down again" down
check "loading an image says that it is down" says "is not up" "$here/load-image.sh" "$images/pause.tar"
printf '\n%d passed, %d failed\n' $passed $failed
told=1
[ $failed = 0 ]
