# Shared by the lint scripts; sourced, with the repository's top as the folder.
# shellcheck shell=bash

export GOWORK=off

say() { printf '== %s\n' "$*" >&2; }

# tool MODULE NAME ARG... runs a tool that test/tools/MODULE pins.
tool() {
  local module=$1
  shift
  go tool -modfile="test/tools/$module/go.mod" "$@"
}

# in_module FOLDER NAME ARG... runs a lint tool with FOLDER as its module.
in_module() {
  local top folder=$1
  top=$PWD
  shift
  (cd "$folder" && go tool -modfile="$top/test/tools/lint/go.mod" "$@")
}

# ours lists the files that git has or would take, so that build products and
# what others left lying about are not judged.
ours() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

go_files() { ours '*.go'; }

shell_scripts() { ours '*.sh' .ci/run krew/kubectl_complete-backlog; }

modules() { ours 'go.mod' '*/go.mod' | while read -r f; do dirname "$f"; done; }

# light_modules lists the modules that hold Go code and whose dependencies are
# cheap to type-check. test/cluster is all of Kubernetes and test/tools/goreleaser
# is every publisher there is: minutes for one short file each. lint-long has them.
light_modules() { modules | grep -v -x -e test/cluster -e 'test/tools/.*'; }
heavy_modules() { printf '%s\n' test/cluster test/tools/goreleaser; }
