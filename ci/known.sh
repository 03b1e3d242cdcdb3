#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# known.sh BASE WORK TREE SERIES ACCEL-FILE SMP MEM JOBS: does what is known to
# fail on a base still fail there?
#
# BASE   as in selftests/known-failures, which says what fails, how it is made
#        certain (a patch in selftests/known/), and what must be seen
# WORK   build folder of the base; gets known/ with kernels and runs
#
# The kernel is the default one without the series. Prints TAP, one result for
# each entry: ok when the run came to its end, the named test printed "not ok"
# and the console shows the line. An entry that passes is not ok: either the
# base is mended, or the test cannot see the fault.
. "$(dirname "$0")/lib.sh"

[ $# = 8 ] || usage_die "usage: known.sh BASE WORK TREE SERIES ACCEL-FILE SMP MEM JOBS"
base=$1 work=$2 tree=$3 series=$4 accel=$5 smp=$6 mem=$7 jobs=$8
. "$(dirname "$0")/lib-broken.sh"

mapfile -t entries < <(grep -P "^\Q$base\E\t" "$top/selftests/known-failures")
[ "${#entries[@]}" -gt 0 ] || die "no entry for base '$base' in selftests/known-failures"
echo "1..${#entries[@]}"
n=0 failed=0
for entry in "${entries[@]}"; do
	n=$((n + 1))
	IFS=$'\t' read -r _ test with line _ <<< "$entry"
	cgroup=$(awk -v program="${test%% *}" '$1 == program { print $2 }' "$top/selftests/plan")
	kernel=$work/default/before
	if [ "$with" != - ]; then
		out=$work/known/${with%.patch}
		patch=$top/selftests/known/$with
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
		echo "ok $n - $test fails on $base: $line"
	else
		echo "not ok $n - $test fails on $base: $line"
		echo "# $(jq -r '.result + ": " + .reason' "$run/verdict.json"); all of it is in $run"
		failed=$((failed + 1))
	fi
done
"$top/ci/apply.sh" "$tree" "$series" before >&2
[ "$failed" = 0 ]
