#!/usr/bin/env bash
# Makes the pictures of the README, and the small recording beside them, of a real run:
# a shop on the test cluster, bursts at one of its pods, a payment pod that stops
# accepting, and `top` on a real terminal (tmux).
#
# usage: run.sh [OUTDIR]   (docs by default)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath "${1:-docs}")
mkdir -p "$out"
for tool in tmux go; do
	command -v $tool >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done

state=${BACKLOG_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-backlog/cluster}
[ -s "$state/kubeconfig" ] || eval "$(test/cluster/up.sh)"
work=$(mktemp -d)
export KUBECONFIG=$work/kubeconfig PATH=$work:$state/bin:$PATH KUBECTL_BACKLOG_IMAGE=docker.io/local/tools:1
cp "$state/kubeconfig" "$KUBECONFIG"
kubectl config rename-context "$(kubectl config current-context)" demo >/dev/null
go build -o "$work/kubectl-backlog" ./cmd/kubectl-backlog
go build -o "$work/screenshots" ./test/screenshots

finish() {
	tmux -S "$work/tmux" kill-server 2>/dev/null || true
	kubectl delete namespace shop --wait=false --ignore-not-found >/dev/null
	kill "${loads[@]}" 2>/dev/null || true
	rm -rf "$work"
}
loads=()
trap finish EXIT

kubectl apply -f test/screenshots/shop.yaml >/dev/null
for d in server payment search web; do
	kubectl -n shop rollout status "deployment/$d" --timeout=120s >/dev/null
done

load() { # load POD CONTAINER BURST-ARGUMENT...
	kubectl -n shop exec "$1" -c "$2" -- burst "${@:3}" >/dev/null 2>&1 &
	loads+=($!)
}
mapfile -t server < <(kubectl -n shop get pods -l app=server -o name)
mapfile -t payment < <(kubectl -n shop get pods -l app=payment -o name)
for pod in "${server[@]:1}"; do
	load "$pod" load -addr 127.0.0.1:4143 -n 6 -every 1s -for 100s -timeout 1s
done

shot() { # shot NAME TITLE
	tmux -S "$work/tmux" capture-pane -e -p | "$work/screenshots" -title "$2" >"$out/$1.svg"
}
press() {
	tmux -S "$work/tmux" send-keys "$@"
	sleep 1.5
}
tmux -S "$work/tmux" new-session -d -x 132 -y 40 "env TERM=screen-256color LC_ALL=C.UTF-8 kubectl backlog top -n shop deploy/server deploy/payment deploy/search deploy/web --yes --color always --record '$work/incident.jsonl.gz'"
sleep 12
load "${server[0]}" load -addr 127.0.0.1:4143 -n 150 -every 2s -for 90s -timeout 1s
load "${payment[0]}" payment -addr 127.0.0.1:8080 -n 16 -every 1s -for 90s -timeout 1s
for pod in "${payment[@]:1}"; do
	load "$pod" payment -addr 127.0.0.1:8080 -n 1 -every 3s -for 90s -timeout 1s
done
sleep 50
shot top "kubectl backlog top -n shop"
press / server-
press Enter
press Enter
press 1
shot verdict "the verdict on a pod"
press 2
shot queues "its queues over time"
press x
press '>' '=' '=' '='
press 1
shot what-if "what if"
press x
press Escape
press Escape # the filter goes too
press '[' '[' '['
shot past "the same screen, half a minute before"
press p
sleep 1
press q
sleep 2

kubectl backlog record redact "$work/incident.jsonl.gz" -o "$out/incident.jsonl.gz"
ls -l "$out"
