#!/usr/bin/env bash
# Builds a release as it would be published, without publishing, signing or
# tagging anything, and looks into its archives: 20 minutes and more on two cores,
# since six platforms are compiled. Run it before a tag. Everything lands in dist/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/lib.sh

tool goreleaser goreleaser release --snapshot --clean --skip=sign,sbom

bad=0
for archive in dist/*.tar.gz dist/*.zip; do
  case $archive in
  *.zip) names=$(python3 -m zipfile -l "$archive" | awk 'NR > 1 {print $1}') program=kubectl-backlog.exe ;;
  *) names=$(tar -tzf "$archive") program=kubectl-backlog ;;
  esac
  for want in "$program" LICENSE README.md kubectl_complete-backlog; do
    grep -qx "$want" <<<"$names" || { echo "$archive lacks $want" >&2; bad=1; }
  done
done
(cd dist && sha256sum --quiet -c checksums.txt) || bad=1
exit "$bad"
