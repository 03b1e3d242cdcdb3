#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fetch.sh BASE KSRC OUT: find the kernel source and record what it is.
#
# BASE  the series of the source, as in ci/bases/
# KSRC  empty: the distribution's linux-source package; or a tarball, a
#       directory, or DIR@REVISION of a git tree
# OUT   the record, lines "key=value": kind, path, id (checksum, commit or
#       newest change), version; written only when it changes
#
# Fails when the source is not there or is of another series. A newer point
# release than the one recorded before is said in a message of its own.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: fetch.sh BASE KSRC OUT"
base=$1 ksrc=$2 out=$3

# version: the text of a kernel's top Makefile on stdin becomes "6.12.117".
version()
{
	awk '$2 == "=" && $1 ~ /^(VERSION|PATCHLEVEL|SUBLEVEL)$/ { n[$1] = $3 }
	     END { if ("SUBLEVEL" in n) print n["VERSION"] "." n["PATCHLEVEL"] "." n["SUBLEVEL"] }'
}

if [ -z "$ksrc" ]; then
	facts=$top/ci/bases/$base
	ksrc=$(field "$facts" source) package=$(field "$facts" packages)
	[ -f "$ksrc" ] || die "no $ksrc: install the package ${package%%:*}, or name a source with KSRC="
fi

if [ -d "$ksrc" ]; then
	kind=directory
	path=$(realpath "$ksrc")
	[ -f "$path/Makefile" ] || die "KSRC=$ksrc: no kernel tree there (no Makefile)"
	# A directory has no checksum of its own: its newest change stands for it.
	id=$(find "$path" -path "$path/.git" -prune -o -type f -printf '%T@ %s %P\n' |
	     sort | sha256sum | cut -d' ' -f1)
	version=$(version < "$path/Makefile")
elif [ -f "$ksrc" ]; then
	kind=tarball
	path=$(realpath "$ksrc")
	id=$(sha256sum < "$path" | cut -d' ' -f1)
	if [ -f "$out" ] && [ "$(field "$out" id)" = "$id" ]; then
		version=$(field "$out" version)	# unpacking 1.5 GB to read it again takes 10 s
	else
		version=$(tar -xOf "$path" --wildcards --no-wildcards-match-slash \
			      --occurrence=1 '*/Makefile' 2> /dev/null | version || true)
	fi
elif git -C "${ksrc%@*}" rev-parse -q --verify "${ksrc##*@}^{commit}" > /dev/null 2>&1; then
	kind=git
	path=$(realpath "${ksrc%@*}")
	id=$(git -C "$path" rev-parse "${ksrc##*@}^{commit}")
	version=$(git -C "$path" show "$id:Makefile" 2> /dev/null | version || true)
else
	die "KSRC=$ksrc: neither a directory, a tarball, nor DIR@REVISION of a git tree"
fi

[ -n "$version" ] || die "KSRC=$ksrc: no kernel version in its top Makefile"
case $version in
"$base".*) ;;
*) die "KSRC=$ksrc is Linux $version; BASE=$base wants $base.y (set BASE= or another KSRC=)" ;;
esac

if [ -f "$out" ] && [ "$(field "$out" version)" != "$version" ]; then
	say "NEW POINT RELEASE: the source is now $version (last time: $(field "$out" version)); all is built anew"
fi
mkdir -p "$(dirname "$out")"
printf '%s\n' "kind=$kind" "path=$path" "id=$id" "version=$version" | update "$out"
