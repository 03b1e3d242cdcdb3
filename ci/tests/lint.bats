#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What holds of every file: checkers are clean, licence and header are there,
# nothing is as long as a book, nothing knows the machine it was written on.

load common

# written: those that a person wrote here: no patch, no saved log, no licence
written()
{
	files | grep -vE '^patches/|\.(patch|diff)$|^ci/tests/fixtures/|^COPYING$'
}

# scripts REGEX: files whose first line is a "#!" that matches
scripts()
{
	cd "$top" || return
	local f first
	files | while IFS= read -r f; do
		{ IFS= read -r first < "$f"; } 2> /dev/null || true
		if [[ "$first" =~ ^#!.*[/\ ]($1)($|\ ) ]]; then
			printf '%s\n' "$f"
		fi
	done
}

@test "there is something to check" {
	local list
	[ "$(files | wc -l)" -gt 30 ]
	list=$(scripts 'bash|sh|perl')
	for f in ci/boot.sh ci/verdict.pl selftests/guest/init; do
		grep -qx "$f" <<< "$list"
	done
}

@test "shellcheck: bash and sh, those of the guest too" {
	cd "$top"
	# lib.sh is read with each script that sources it
	mapfile -t list < <(scripts 'bash|sh')
	run shellcheck -x -P SCRIPTDIR "${list[@]}"
	is "" "$output"
	is 0 "$status"
}

@test "shellcheck: the tests" {
	cd "$top"
	# It follows no `load` (SC2154) and knows nothing of tests being subshells
	# (SC2030, SC2031); no file name here has a space (SC2013, SC2046).
	run shellcheck -x -P SCRIPTDIR -e SC2013,SC2016,SC2030,SC2031,SC2046,SC2154 $(files | grep '\.bats$')
	is "" "$output"
	run shellcheck -e SC2034,SC2154 ci/tests/common.bash
	is "" "$output"
	is 0 "$status"
}

@test "guest scripts are for busybox: sh, no bash" {
	cd "$top"
	run grep -LE '^#!/bin/sh$' $(files | grep '^selftests/guest/')
	is "" "$output"
}

@test "perl -c" {
	cd "$top"
	local f
	for f in $(scripts perl; files | grep -E '\.pm$'); do
		run perl -Ici -wc "$f"
		is "$f syntax OK" "$output"
	done
}

@test "spelling" {
	cd "$top"
	run codespell --ignore-words-list=fo,nd,te,extraversion $(written)
	is "" "$output"
	is 0 "$status"
}

@test "each file has its SPDX line, near its start" {
	cd "$top"
	local f
	# no place for one: a quilt series, a commit's message, data
	for f in $(written | grep -vE '^series/|\.(svg|png|json)$|^\.gitignore$|^\.ci/|\.md$|\.boot$'); do
		head -n 4 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0' ||
			{ echo "no SPDX line: $f"; return 1; }
	done
}

@test "each script says on its head what it is" {
	cd "$top"
	local f
	for f in $(scripts 'bash|sh|perl|python3|bats' | grep -v '^ci/tests/fixtures/'); do
		sed -n '1,8 { /^#!/d; /SPDX/d; p }' "$f" | grep -E '^#( [^ ]+){3,}' > /dev/null ||
			{ echo "no header: $f"; return 1; }
	done
}

@test "each script of the host fails on the first error" {
	cd "$top"
	local f
	for f in $(scripts bash); do
		[ "$f" = ci/lib.sh ] || grep -qE '^\. "\$\(dirname "\$0"\)/(\.\./\.\./ci/)?lib\.sh"$|^set -.*euo pipefail' "$f" ||
			{ echo "neither lib.sh nor set -euo pipefail: $f"; return 1; }
	done
	grep -qE '^set -E?euo pipefail$' ci/lib.sh
}

@test "what has a #! can be run, and the other way round" {
	cd "$top"
	# bats files are data of bats here; lib.sh is sourced
	run diff <(scripts '.*' | grep -v '\.bats$' | sort) \
		<(files | while IFS= read -r f; do [ ! -x "$f" ] || echo "$f"; done | grep -vE '\.bats$|^ci/lib(-broken)?\.sh$' | sort)
	is "" "$output"
}

@test "nothing knows the machine or the place that it was written at" {
	cd "$top"
	# the brackets keep the pattern from finding itself
	run grep -nIE '(^|[^[:alnum:]_.$}-])/([w]ork|[r]oot|[h]ome|[t]mp/[a-z0-9])/|[.][.]/[s]hared' \
		$(files | grep -v '^COPYING$')
	is "" "$output"
}

@test "no white space at the end of a line, no conflict marker" {
	cd "$top"
	run grep -nIE '[ 	]$|^(<<<<<<<|>>>>>>>) ' $(written)
	is "" "$output"
}

@test "each file ends with a newline" {
	cd "$top"
	local f
	for f in $(written); do
		[ ! -s "$f" ] || [ -z "$(tail -c 1 "$f" | tr '\0' x)" ] || { echo "$f"; return 1; }
	done
}

@test "each program of a topic is in its plan, and each row is one" {
	local f topic row
	cd "$top" || return
	for f in selftests/*/cgroup/test_*.c selftests/*/local/*.c; do
		topic=${f#selftests/} topic=${topic%%/*} row=${f#selftests/*/} row=${row%.c}
		grep -qE "^${row/\//:}	" "selftests/$topic/plan" || { echo "$f: not in selftests/$topic/plan"; return 1; }
	done
	run grep -vE '^(#|$|(cgroup|local|load|guest):[a-z0-9_]+	+(v1|v2|off)	[1-9][0-9]*(	(no-plan|stock|default-only|not-debug|shown|after-only|devmem| )+)?$)' \
		selftests/plan selftests/*/plan
	is "" "$output"
}
