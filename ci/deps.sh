#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh check|install TOOL-SET...: the programs and packages that the steps
# need. TOOL-SET: run (build and boot), check (also what the host tests need),
# micro (the map by itself), llvm (LLVM=1), bases/NAME and arch/NAME (packages of
# that file below ci/).
#
# check    prints one line with what is missing and exits 1, or exits 0
# install  installs what is missing on Debian or Ubuntu, as root or with
#          passwordless sudo; elsewhere it is the same as check
#
# This is the only step that may need root, and only to install packages.
. "$(dirname "$0")/lib.sh"

# What each set needs, as "package:proof"; the proof is a program on the PATH
# or a file.
declare -A packages=(
	[run]="make:make gcc:gcc bc:bc bison:bison flex:flex cpio:cpio git:git
		perl:prove quilt:quilt xz-utils:xz binutils:ld coreutils:stdbuf jq:jq
		libc6-dev:/usr/include/stdio.h libelf-dev:/usr/include/libelf.h
		libssl-dev:/usr/include/openssl/ssl.h util-linux:flock
		coccinelle:spatch python3-dev:python3-config
		busybox-static:/bin/busybox"
	[check]="shellcheck:shellcheck bats:bats parallel:parallel codespell:codespell"
	[micro]="clang:clang valgrind:valgrind gnuplot-nox:gnuplot"
	[llvm]="clang:clang lld:ld.lld llvm:llvm-objcopy"
)

[ $# -ge 2 ] || usage_die "usage: deps.sh check|install TOOL-SET..."
verb=$1
shift
case $verb in
check|install) ;;
*) usage_die "verb '$verb' is not known (check or install)" ;;
esac

missing=()
for set in "$@"; do
	case $set in
	bases/* | arch/*) [ ! -e "$top/ci/$set" ] || packages[$set]=$(field "$top/ci/$set" packages) ;;
	esac
	[ -n "${packages[$set]:-}" ] || usage_die "tool set '$set' is not known"
	for entry in ${packages[$set]}; do
		proof=${entry#*:}
		if [ "${proof#/}" = "$proof" ]; then
			command -v "$proof" > /dev/null || missing+=("${entry%%:*}")
		else
			[ -e "$proof" ] || missing+=("${entry%%:*}")
		fi
	done
done
[ "${#missing[@]}" -gt 0 ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	sudo="sudo -n"
	$sudo true 2> /dev/null || verb=check
fi
command -v apt-get > /dev/null || verb=check

case $verb in
check)
	die "missing: ${missing[*]} (Debian package names; install them and try again)"
	;;
install)
	say "installing: ${missing[*]}"
	log=$(mktemp)
	on_exit rm -f "$log"
	export DEBIAN_FRONTEND=noninteractive
	if ! { $sudo apt-get update &&
	       $sudo apt-get install -y --no-install-recommends "${missing[@]}"; } \
	       > "$log" 2>&1; then
		tail -n 5 "$log" >&2
		die "apt-get could not install: ${missing[*]}"
	fi
	exec "$0" check "$@"
	;;
esac
