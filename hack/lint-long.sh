#!/usr/bin/env bash
# The slow linters, for make test-long: golangci-lint by .golangci.yaml, go vet
# of the modules whose dependencies take minutes to compile, and goreleaser's
# own check of .goreleaser.yaml. Both tools are built from their sources on
# first use, as pinned in test/tools.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/lib.sh
bad=0

say "golangci-lint"
tool golangci golangci-lint run ./... || bad=1

for module in $(heavy_modules); do
  say "go vet: $module"
  (cd "$module" && go vet ./...) || bad=1
done

# A binary on PATH will do: what is checked is the file, and any goreleaser that
# a release would be made with knows it.
say "goreleaser check"
if command -v goreleaser >/dev/null; then
  goreleaser check || bad=1
else
  tool goreleaser goreleaser check || bad=1
fi

exit "$bad"
