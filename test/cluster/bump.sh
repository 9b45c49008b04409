#!/bin/bash
# Writes the go.mod and go.sum that build another version of Kubernetes.
#
# usage: bump.sh VERSION [FOLDER]     such as: bump.sh 1.37.3
#
# FOLDER is this one unless given. The module k8s.io/kubernetes points its staging
# modules at folders of its own repository, and the replace lines of a dependency
# count for nothing, so each is replaced here by its published v0.MINOR.PATCH.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || {
	echo "usage: bump.sh VERSION [FOLDER]" >&2
	exit 2
}
version=${1#v}
out=${2:-$here}
case $version in
1.*.*) ;;
*)
	echo "bump.sh: want a version such as 1.37.2, got $1" >&2
	exit 2
	;;
esac

said=$(cd / && GOWORK=off go mod download -json "k8s.io/kubernetes@v$version" 2>&1) || true
mod=$(sed -n 's/^.*"GoMod": "\(.*\)".*$/\1/p' <<<"$said")
[ -n "$mod" ] || {
	echo "bump.sh: downloading k8s.io/kubernetes v$version: $(sed -n 's/^.*"Error": "\(.*\)".*$/\1/p' <<<"$said" | cut -c1-200)" >&2
	exit 1
}
mkdir -p "$out"
[ "$out" -ef "$here" ] || cp "$here/main.go" "$out/main.go"
{
	echo "module github.com/kubectl-backlog/kubectl-backlog/test/cluster"
	echo
	sed -n '/^go /p' "$here/go.mod"
	echo
	echo "require k8s.io/kubernetes v$version"
	echo
	echo "replace ("
	sed -n "s/^.*\(k8s\.io\/[a-z-]*\) => \.\/staging.*$/\t\1 => \1 v0.${version#1.}/p" "$mod" | sort -u
	echo ")"
} >"$out/go.mod.new"
mv "$out/go.mod.new" "$out/go.mod"
rm -f "$out/go.sum"
cd "$out" && GOWORK=off go mod tidy
