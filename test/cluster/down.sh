#!/bin/bash
# Stops the test cluster: its processes, containers, mounts, cgroups and bridge,
# and nothing else. Logs, images and binaries are kept. Harmless when nothing runs.
#
# usage: down.sh          (BACKLOG_TEST_DIR as for up.sh)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

need_linux_and_root
state_dir
lock
if [ -z "$(leftovers)" ] && [ ! -d "$run" ]; then
	say "nothing to stop in $dir"
	exit 0
fi
stop_all
left=$(leftovers)
[ -z "$left" ] || die "could not end everything; still there:
$left"
say "stopped; logs are kept in $log"
