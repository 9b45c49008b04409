# kubectl-backlog's probe. It only reads: listening sockets and who waits in their
# queues, counters of this network namespace, and with a target the state of its
# threads. It prints one frame a second to its log and ends by itself.
#
# BACKLOG_PROBE_TTL           seconds until it ends, in whole ones; 0 or empty: never
# BACKLOG_PROBE_TARGET        process whose threads are shown; empty: none
# BACKLOG_PROBE_CONTAINER     its container's name, printed with them
# BACKLOG_PROBE_CONTAINER_ID  container whose first process is the target, in a
#                             process namespace that the whole pod shares
# BACKLOG_PROBE_OWNERS        not empty: show who holds the sockets; with a target
#                             they are shown in any case
# BACKLOG_PROBE_STDIN         not empty: a frame for each line of standard input
#                             instead of each second, and the end with its end
#
# Needs sh, cat and sleep; ss, nstat, grep and sed are used where they exist.

# Process 1 of a container ignores SIGTERM unless it handles it, and deleting the
# pod would then take the whole grace period. A trap runs when the current child
# ends, so that no child may take longer than a second.
trap 'exit 0' TERM

# Patterns of files are meant in few places: "*:80" is an address.
set -f
LC_ALL=C
export LC_ALL
blanks=' 	
'
newline='
'
ttl=${BACKLOG_PROBE_TTL:-0}
target=${BACKLOG_PROBE_TARGET:-}
container=${BACKLOG_PROBE_CONTAINER:-}
id=${BACKLOG_PROBE_CONTAINER_ID:-}
stdin=${BACKLOG_PROBE_STDIN:-}
showowners=${BACKLOG_PROBE_OWNERS:-}$target$id
names='TcpExtListenOverflows TcpExtListenDrops TcpExtTCPReqQFullDoCookies TcpExtTCPReqQFullDrop TcpExtSyncookiesSent TcpExtSyncookiesRecv TcpPassiveOpens '

# Newest ss first: -e adds the inode, -O (iproute2 5.2) one line a socket, -H
# (4.7) no header. The first that works is kept. "state listening" instead of -l,
# which asks for closed sockets too: for these the kernel walks the whole hash of
# connections, and that took twice as long as all the rest.
full=-HOtnme
ss="$full -HOtnm -Htnm -tnm"
command -v ss >/dev/null 2>&1 || ss=
nstat=yes
nstatsays=
command -v nstat >/dev/null 2>&1 || {
	nstat=
	nstatsays='nstat is not in this image: counters are from /proc/net'
}
grep=yes
command -v grep >/dev/null 2>&1 || grep=
sed=yes
command -v sed >/dev/null 2>&1 || sed=

note() {
	echo '==backlog-section note=='
	echo "$1"
}

# The rows of ss are printed only when it succeeded: a failed ss is not "no
# listeners".
sockets() {
	for options in $ss; do
		if rows=$(ss "$options" state listening 2>/dev/null); then
			ss=$options
			echo '==backlog-section ss=='
			[ -z "$rows" ] || printf '%s\n' "$rows"
			return
		fi
	done
	rows=
	if [ -z "$ss" ]; then
		note 'ss is not in this image: depths are from /proc/net/tcp, which does not tell limits and drops'
	else
		note 'ss failed: depths are from /proc/net/tcp, which does not tell limits and drops'
	fi
	listening tcp
	listening tcp6
}

# What the rows mean for the rest of the frame: which sockets there are, whatever
# their depth, and which ports have a queue that is not empty. No child is
# needed, and rows that are those of the frame before are not looked at again.
scan() {
	[ "$rows" != "$scanned" ] || return 0
	scanned=$rows
	listeners=
	queued=
	IFS=$newline
	set -- $rows
	IFS=$blanks
	left=512
	for row do
		left=$((left - 1))
		[ "$left" -ge 0 ] || break
		set -- $row
		[ "$1" != LISTEN ] || shift
		case $1 in
		'' | *[!0-9]*) continue ;;
		esac
		inode=
		case $row in
		*' ino:'*)
			inode=${row#*' ino:'}
			inode=${inode%% *}
			;;
		esac
		listeners="$listeners $3/$inode"
		[ "$1" -gt 0 ] || continue
		port=${3##*:}
		case " $queued " in
		*" $port "*) ;;
		*) case $port in
			'' | *[!0-9]*) ;;
			*) queued="$queued $port" ;;
			esac ;;
		esac
	done
}

# Who holds the sockets. That costs ss a look at every descriptor that it may
# see, so it is asked when the listeners changed, and once a minute for those who
# begin to follow the log later.
owners() {
	[ -n "$showowners" ] && [ -n "$rows" ] || return 0
	if [ -n "$ownersat" ]; then
		since=$((now - ownersat))
		[ "$since" -ge 5 ] || return 0
		[ "$listeners" != "$owned" ] || [ "$since" -ge 60 ] || return 0
	fi
	ownersat=$now
	owned=$listeners
	if text=$(ss "${ss}p" state listening 2>/dev/null); then
		echo '==backlog-section owners=='
		printf '%s\n' "$text"
	fi
}

# Who waits in the queues that are not empty, of each port every five seconds at
# most and of two ports a frame: the kernel walks all its connections for it.
waiting() {
	[ -n "$queued" ] && [ "$ss" = "$full" ] || return 0
	asked=0
	for port in $queued; do
		eval "last=\${asked_$port:-}"
		if [ -n "$last" ] && [ "$((now - last))" -lt 5 ]; then continue; fi
		[ "$asked" -lt 2 ] || return 0
		asked=$((asked + 1))
		eval "asked_$port=$now"
		echo "==backlog-section waiting $port=="
		unaccepted "$port"
	done
}

# The connections of a port that were not accepted yet have no inode. Of each
# only the words that are read are printed, and 256 of them at most.
unaccepted() {
	IFS=$newline
	if [ -n "$grep" ]; then
		# Without -m a queue of 65,535 would take 30 MB of memory.
		set -- $(ss -HOtnie state established state close-wait "sport = :$1" 2>/dev/null | grep -m 4096 ' ino:0 ')
	else
		set -- $(ss -HOtnie state established state close-wait "sport = :$1" 2>/dev/null)
	fi
	IFS=$blanks
	waiters=0
	for row do
		case $row in
		*' ino:0 '*) waiters=$((waiters + 1)) ;;
		*) continue ;;
		esac
		[ "$waiters" -le 256 ] || continue
		set -- $row
		text="$1 $4 $5"
		for word do
			case $word in
			sk:* | lastsnd:* | lastrcv:*) text="$text $word" ;;
			esac
		done
		echo "$text"
	done
	[ "$waiters" -le 256 ] || echo "more $((waiters - 256))"
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

# Counters of the namespace. nstat reads /proc/net and nothing else, and to start
# it costs half as much as ss: it is asked every tenth frame, and in between the
# same files are read here.
#
# -s: the history file stays untouched, since the root file system is read-only.
# Anything but "#kernel" in the header is the figures of somebody's nstat daemon.
counters() {
	if [ -n "$nstat" ] && [ "$((seq % 10))" -eq 1 ]; then
		if figures=$(nstat -asz $names 2>/dev/null); then
			case $figures in
			'#kernel'*)
				nstatsays=
				echo '==backlog-section nstat=='
				printf '%s\n' "$figures"
				return
				;;
			esac
			nstatsays='nstat answers with figures of a daemon: counters are from /proc/net'
		else
			nstatsays='nstat failed: counters are from /proc/net'
		fi
	fi
	[ -z "$nstatsays" ] || note "$nstatsays"
	proc
}

# The counters that are used, of the pairs of lines, names and values, that
# /proc/net/netstat and snmp consist of. What the shell reads by itself it reads
# byte by byte, the output of a child at once. Where the names stand is looked for
# when they change.
proc() {
	figures=$(cat /proc/net/netstat /proc/net/snmp 2>/dev/null)
	IFS=$newline
	set -- $figures
	IFS=$blanks
	head=
	for line do
		case $line in
		TcpExt:*) section=netstat ;;
		Tcp:*) section=snmp ;;
		*) continue ;;
		esac
		if [ -z "$head" ]; then
			head=$line
			continue
		fi
		eval "known=\$head_$section at=\$at_$section"
		if [ "$head" != "$known" ]; then
			places $head
			eval "head_$section=\$head at_$section=\$at"
		fi
		echo "==backlog-section $section=="
		chosen "$at" $head
		chosen "$at" $line
		[ "$section" != snmp ] || return 0
		head=
	done
}

# Where the names that are used stand among the words of a line: with every
# kernel elsewhere.
places() {
	at=
	place=0
	for word do
		place=$((place + 1))
		case $names in
		*Ext"$word"' '* | *Tcp"$word"' '*) at="$at $place" ;;
		esac
	done
}

# The first word of a line, and those at the given places.
chosen() {
	at=$1
	shift
	text=$1
	for place in $at; do
		eval "text=\"\$text \${$place:-}\""
	done
	echo "$text"
}

# What the target and each of its threads do. Nothing is printed without a target.
threads() {
	[ -n "$target$id" ] || return 0
	if [ -n "$id" ] && [ ! -r "/proc/$target/task/$target/stat" ]; then first; fi
	if [ ! -r "/proc/$target/task/$target/stat" ] || ! cd "/proc/$target/task" 2>/dev/null; then
		# So that an end can be told from a probe that shows no threads.
		echo "==backlog-section threads${container:+ $container}=="
		echo gone
		return
	fi
	echo "==backlog-section threads${container:+ $container}=="
	# A clock of its own: a busy node may take long over what came before.
	read -r at rest </proc/uptime
	echo "uptime $at"
	limits
	descriptors
	files=../stat
	left=100
	more=0
	next=
	set +f
	set -- *
	set -f
	several "$@"
	[ -z "$next" ] || descendants
	[ "$more" -eq 0 ] || echo "more $more"
	if [ -n "$grep" ] && [ -n "$sed" ]; then
		# A shell reads byte by byte: with a hundred threads that takes ten times as
		# long. Of stat nothing is needed behind the time of the start.
		grep -H '' $files 2>/dev/null | sed 's/\() [A-Za-z]\( -\{0,1\}[0-9]\{1,\}\)\{19\}\).*/\1/'
	else
		for name in $files; do file "$name"; done
	fi
	cd /
}

# The threads in the given folders, 100 in all, and the processes that they have
# started. A kernel may not tell these (CONFIG_PROC_CHILDREN). The shell reads the
# list by itself, without a child.
several() {
	for dir do
		if [ "$left" -le 0 ]; then
			more=$((more + 1))
			continue
		fi
		left=$((left - 1))
		files="$files $dir/stat $dir/schedstat $dir/wchan"
		children=
		read -r children <"$dir/children"
		next="$next$children"
	done 2>/dev/null
}

# Servers that fork accept in their children, and often process 1 is but a wrapper
# around the server: all that descend from the target, those next to it first, 200
# of them at most.
descendants() {
	[ "$((now - namedat))" -lt 60 ] || unnamed= namedat=$now
	processes=200
	while [ -n "$next" ]; do
		level=$next
		next=
		for pid in $level; do
			processes=$((processes - 1))
			[ "$processes" -ge 0 ] || continue
			set +f
			set -- ../../$pid/task/[0-9]*
			set -f
			[ "$1" != "../../$pid/task/[0-9]*" ] || continue
			files="$files ../../$pid/stat"
			title
			several "$@"
		done
	done
	[ "$processes" -ge 0 ] || echo "unlisted $((-processes))"
}

# nginx says in its title what a process is for. A command line may hold secrets,
# so nothing else of it is printed, and those of others are read once a minute.
title() {
	case "$unnamed " in
	*" $pid "*) return ;;
	esac
	line=
	{ read -r line <"../../$pid/cmdline"; } 2>/dev/null
	case $line in
	'nginx: '*' process is shutting down'*) echo "title $pid ${line%%' process '*} is shutting down" ;;
	'nginx: '*' process'*) echo "title $pid ${line%%' process'*}" ;;
	*) unnamed="$unnamed $pid" ;;
	esac
}

# The first process of the container, which has the lowest number.
first() {
	target=
	# Looking through all processes is not for every frame.
	[ -z "$soughtat" ] || [ "$((now - soughtat))" -ge 30 ] || return 0
	soughtat=$now
	set +f
	set -- /proc/[0-9]*
	set -f
	for dir do
		if [ -n "$target" ] && [ "${dir#/proc/}" -gt "$target" ] || [ ! -r "$dir/cgroup" ]; then continue; fi
		while read -r line; do
			case $line in
			*"$id"*)
				target=${dir#/proc/}
				break
				;;
			esac
		done 2>/dev/null <"$dir/cgroup"
	done
}

# What hardly ever changes is read once a minute, and again for another process.
limits() {
	if [ "$limitsof" != "$target" ] || [ "$((now - limitsat))" -ge 60 ]; then
		limitsof=$target
		limitsat=$now
		cpus=
		maxfds=
		while read -r key value; do
			case $key in
			Cpus_allowed_list:) cpus=$value && break ;;
			esac
		done 2>/dev/null <../status
		while read -r key what of value rest; do
			case "$key $what $of" in
			'Max open files') maxfds=$value && break ;;
			esac
		done 2>/dev/null <../limits
	fi
	[ -z "$cpus" ] || echo "cpus $cpus"
	[ -z "$maxfds" ] || echo "maxfds $maxfds"
}

# How many descriptors are open, for those who may look; of very many the count
# is up to a minute old.
descriptors() {
	if [ ! -r ../fd ]; then
		echo 'fds -'
		return
	fi
	if [ "$fdsof" != "$target" ] || [ "$fds" -le 10000 ] || [ "$((now - fdsat))" -ge 60 ]; then
		fdsof=$target
		fdsat=$now
		set +f
		set -- ../fd/*
		set -f
		fds=$#
		[ "$1" != '../fd/*' ] || fds=0
	fi
	echo "fds $fds"
}

# One file, which may vanish at any time, as grep prints it: its name before each
# line. The name in stat may hold a newline, and wchan ends without one.
file() {
	[ -r "$1" ] || return
	while IFS= read -r line || [ -n "$line" ]; do
		printf '%s:%s\n' "$1" "$line"
	done 2>/dev/null <"$1"
}

read -r up rest </proc/uptime
start=${up%%.*}
seq=0
scanned=
listeners=
queued=
head_netstat=
head_snmp=
at_netstat=
at_snmp=
owned=
ownersat=
soughtat=
limitsof=
limitsat=0
fds=0
fdsof=
fdsat=0
unnamed=
namedat=0
while :; do
	# Read at once, at the start of the frame: rates come from this clock.
	read -r up rest </proc/uptime
	now=${up%%.*}
	if [ "$ttl" -gt 0 ] && [ "$((now - start))" -gt "$ttl" ]; then
		echo '==backlog-probe/1 end reason=ttl=='
		exit 0
	fi
	seq=$((seq + 1))
	echo "==backlog-frame/1 begin seq=$seq uptime=$up=="
	sockets
	counters
	# cat, not read: a sysctl file answers the first read only, and the shell
	# reads one byte at a time ("4" of 4096). It is a child, so not every second.
	[ "$((seq % 10))" -ne 1 ] || somaxconn=$(cat /proc/sys/net/core/somaxconn 2>/dev/null)
	echo '==backlog-section somaxconn=='
	echo "$somaxconn"
	scan
	owners
	waiting
	# The third frame as well: use of CPU needs two readings, and nobody who has
	# just started looking waits for the second one gladly.
	if [ "$((seq % 5))" -eq 1 ] || [ "$seq" -eq 3 ]; then threads; fi
	echo "==backlog-frame/1 end seq=$seq=="
	# An exec leaves its process behind when the client goes away; one that waits
	# for the client's next line ends with it.
	if [ -n "$stdin" ]; then
		read -r line || exit 0
	else
		sleep 1
	fi
done
