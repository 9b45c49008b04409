#!/bin/bash
# Loads image archives (docker save, mkimage) into the running test cluster, and
# keeps a copy, so that the next cluster has them too.
#
# usage: load-image.sh TAR...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

[ $# -gt 0 ] || die "usage: load-image.sh TAR..."
need_linux_and_root
state_dir
alive containerd || die "the test cluster is not up (state folder $dir); start it with $here/up.sh"
for tar; do
	[ -f "$tar" ] || die "no such file: $tar"
	copy=$images/$(basename "$tar" .tar).tar
	if ! ctr_ours images import --snapshotter "$(cat "$run/snapshotter")" "$tar" >/dev/null; then
		die "loading $tar into containerd: see above"
	fi
	if [ "$(realpath "$tar")" != "$copy" ]; then
		cp "$tar" "$copy.tmp"
		mv "$copy.tmp" "$copy"
	fi
done
