#!/usr/bin/env bash
# go vet, staticcheck and gofumpt on the product and on every nested module of
# ours, and what else is cheap to hold: shell scripts parse, modules are tidy
# enough to build. Seconds with warm caches; hack/lint-long.sh has the slow rest.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/lib.sh
bad=0

# Formatting needs no types, so every Go file that git would take is looked at.
mapfile -t files < <(go_files)
unformatted=$(tool lint gofumpt -l "${files[@]}") || bad=1
if [ -n "$unformatted" ]; then
  printf 'not gofumpt-clean (gofumpt -w FILE):\n%s\n' "$unformatted" >&2
  bad=1
fi

while read -r module; do
  say "go vet, staticcheck: $module"
  (cd "$module" && go vet ./...) || bad=1
  in_module "$module" staticcheck ./... || bad=1
done < <(light_modules)

while read -r script; do
  bash -n "$script" || bad=1
done < <(shell_scripts)

exit "$bad"
