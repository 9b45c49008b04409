# kubectl-backlog's probe. It only reads: listening sockets, counters of this
# network namespace, and with a target the state of its threads. It prints one
# frame a second to its log and ends by itself.
#
# BACKLOG_PROBE_TTL     seconds until it ends, in whole ones; 0 or empty: never
# BACKLOG_PROBE_TARGET  process whose threads are shown; empty: none
# BACKLOG_PROBE_STDIN   not empty: a frame for each line of standard input instead
#                       of each second, and the end with the end of the input
#
# Needs sh, cat and sleep; ss and nstat are used where they exist.

# Process 1 of a container ignores SIGTERM unless it handles it, and deleting the
# pod would then take the whole grace period. A trap runs when the current child
# ends, so that no child may take longer than a second.
trap 'exit 0' TERM

LC_ALL=C
export LC_ALL
ttl=${BACKLOG_PROBE_TTL:-0}
target=${BACKLOG_PROBE_TARGET:-}
stdin=${BACKLOG_PROBE_STDIN:-}
names='TcpExtListenOverflows TcpExtListenDrops TcpExtTCPReqQFullDoCookies TcpExtTCPReqQFullDrop TcpExtSyncookiesSent TcpExtSyncookiesRecv TcpPassiveOpens'

# Newest ss first: -e adds the inode, -O (iproute2 5.2) one line a socket, -H
# (4.7) no header. The first that works is kept.
ss='-HOltnme -HOltnm -Hltnm -ltnm'
command -v ss >/dev/null 2>&1 || ss=
nstat=yes
command -v nstat >/dev/null 2>&1 || nstat=

note() {
	echo '==backlog-section note=='
	echo "$1"
}

# The rows of ss are printed only when it succeeded: a failed ss is not "no
# listeners".
sockets() {
	for options in $ss; do
		if rows=$(ss "$options" 2>/dev/null); then
			ss=$options
			echo '==backlog-section ss=='
			[ -z "$rows" ] || printf '%s\n' "$rows"
			return
		fi
	done
	if [ -z "$ss" ]; then
		note 'ss is not in this image: depths are from /proc/net/tcp, which does not tell limits and drops'
	else
		note 'ss failed: depths are from /proc/net/tcp, which does not tell limits and drops'
	fi
	listening tcp
	listening tcp6
}

# The kernel lists listening sockets (0A) first, then the others, of which there
# may be many thousands: stop at the first of these. A pipe, since some shells
# seek in a file, and the table changes between two reads.
listening() {
	[ -r "/proc/net/$1" ] || return
	echo "==backlog-section $1=="
	cat "/proc/net/$1" 2>/dev/null | while read -r sl local remote st rest; do
		case $st in
		0A | st) echo "$sl $local $remote $st $rest" ;;
		03) ;;
		*) break ;;
		esac
	done
}

# -s: the history file stays untouched, since the root file system is read-only.
# Anything but "#kernel" in the header is the figures of somebody's nstat daemon.
counters() {
	if [ -n "$nstat" ] && rows=$(nstat -asz $names 2>/dev/null); then
		case $rows in
		'#kernel'*)
			echo '==backlog-section nstat=='
			printf '%s\n' "$rows"
			return
			;;
		esac
		note 'nstat answers with figures of a daemon: counters are from /proc/net'
	elif [ -n "$nstat" ]; then
		note 'nstat failed: counters are from /proc/net'
	else
		note 'nstat is not in this image: counters are from /proc/net'
	fi
	table netstat TcpExt:
	table snmp Tcp:
}

# The two lines, names and values, of one protocol.
table() {
	[ -r "/proc/net/$1" ] || return
	echo "==backlog-section $1=="
	cat "/proc/net/$1" 2>/dev/null | while read -r key rest; do
		case $key in
		"$2") echo "$key $rest" ;;
		esac
	done
}

# What each thread of the target does. The name in stat may hold a newline, and
# wchan ends without one. Every file is read by the shell itself: a cat for each
# would cost more than all else.
threads() {
	[ -r "/proc/$target/task/$target/stat" ] || return
	echo '==backlog-section threads=='
	shown=0
	for dir in "/proc/$target/task"/*; do
		shown=$((shown + 1))
		if [ "$shown" -gt 100 ]; then
			note 'only 100 threads of the target are shown'
			return
		fi
		tid=${dir##*/}
		file stat "$dir/stat"
		file "schedstat $tid" "$dir/schedstat"
		file "wchan $tid" "$dir/wchan"
	done
}

# One file of a thread, which may vanish at any time, behind the words given.
file() {
	[ -r "$2" ] || return
	text=$1
	between=' '
	while IFS= read -r line || [ -n "$line" ]; do
		text=$text$between$line
		between='
'
	done 2>/dev/null <"$2"
	printf '%s\n' "$text"
}

read -r up rest </proc/uptime
start=${up%%.*}
seq=0
while :; do
	# Read at once, at the start of the frame: rates come from this clock.
	read -r up rest </proc/uptime
	if [ "$ttl" -gt 0 ] && [ "$((${up%%.*} - start))" -gt "$ttl" ]; then
		echo '==backlog-probe/1 end reason=ttl=='
		exit 0
	fi
	seq=$((seq + 1))
	echo "==backlog-frame/1 begin seq=$seq uptime=$up=="
	sockets
	counters
	# cat, not read: a sysctl file answers the first read only, and the shell
	# reads one byte at a time ("4" of 4096).
	echo '==backlog-section somaxconn=='
	cat /proc/sys/net/core/somaxconn 2>/dev/null
	if [ -n "$target" ] && [ "$((seq % 5))" -eq 1 ]; then threads; fi
	echo "==backlog-frame/1 end seq=$seq=="
	# An exec leaves its process behind when the client goes away; one that waits
	# for the client's next line ends with it.
	if [ -n "$stdin" ]; then
		read -r line || exit 0
	else
		sleep 1
	fi
done
