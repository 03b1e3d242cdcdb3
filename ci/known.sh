#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# known.sh WORK ACCEL-FILE: does what is known to fail on a base still fail there?
#
# WORK  build folder of the base; gets known/ with kernels and runs
#
# selftests/TOPIC/BASE/known-failures says what fails, how it is made certain (a
# patch in known/ beside it), and what must be seen.
#
# The kernel is the default one without the series. Prints TAP, one result for
# each entry: ok when the run came to its end, the named test printed "not ok"
# and the console shows the line. An entry that passes is not ok: either the
# base is mended, or the test cannot see the fault.
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || usage_die "usage: known.sh WORK ACCEL-FILE"
need BASE SMP MEM JOBS
# shellcheck disable=SC2034 # of boot_kernel
work=$1 tree=$1/linux accel=$2
. "$(dirname "$0")/lib-broken.sh"

# TOPIC's folder and a line of its known-failures
topics=$("$top/ci/list.sh" topics)
entries=()
for topic in $topics; do
	from=$top/selftests/$topic/$BASE
	[ ! -e "$from/known-failures" ] || mapfile -t -O "${#entries[@]}" entries <<< "$(rows "$from/known-failures" | sed "s|^|$from\t|")"
done
[ "${#entries[@]}" -gt 0 ] || { echo "1..0 # SKIP nothing is known to fail on $BASE"; exit 0; }
echo "1..${#entries[@]}"
n=0 failed=0
for entry in "${entries[@]}"; do
	n=$((n + 1))
	IFS=$'\t' read -r from test with line _ <<< "$entry"
	cgroup=$("$top/ci/list.sh" plan | awk -v program="${test%% *}" '$1 == program { print $2; exit }')
	kernel=$work/default/before
	if [ "$with" != - ]; then
		out=$work/known/${with%.patch}
		patch=$from/known/$with
		if ! cmp -s "$patch" "$out/patch" || [ "$out/patch" -ot "$work/default/obj/.config" ]; then
			rm -rf "$out"
			build_kernel default before "$out" "$patch" >&2 || die "the base with $with does not build"
			cp "$patch" "$out/patch"
		fi
		kernel=$out/default/before
	fi
	run=$work/known/run/$n-${test##*[:. ]}/default-before-$cgroup
	boot_kernel "$kernel" "$run" "$cgroup" "${test%% *}" >&2
	if failed_as "$run" "$test" "console $line"; then
		echo "ok $n - $test fails on $BASE: $line"
	else
		echo "not ok $n - $test fails on $BASE: $line"
		echo "# $(jq -r '.result + ": " + .reason' "$run/verdict.json"); all of it is in $run"
		failed=$((failed + 1))
	fi
done
"$top/ci/apply.sh" "$tree" before >&2
[ "$failed" = 0 ]
