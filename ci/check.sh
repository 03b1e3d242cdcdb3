#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh SESSION: all that CI runs, and its count.
#
# The host's own tests, the map alone under the sanitizers, then the default
# kernel before and after the series and the debug kernel after it, booted with
# all tests, what is known to fail before, then what must hold of the series.
# SESSION gets host.tap, micro.tap, known.tap, series.tap and the report.
#
# Host checks and kernel tests are counted on lines of their own and summed in
# the last line, "N passed, N failed, N skipped". Exits 0 only when nothing
# failed; a part that left no result counts as a failure.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: check.sh SESSION"
session=$1

steps=(check-deps -host-tests fetch tree -micro-test
	"build VARIANT=default STATE=before" "build VARIANT=default STATE=after"
	initramfs "accel VARIANT=default")
for cgroup in v2 v1 off; do
	steps+=("-boots VARIANT=default CGROUP=$cgroup")
done
# While the tree and the objects still are of this variant.
steps+=("-known VARIANT=default" "build VARIANT=debug" "accel VARIANT=debug")
for cgroup in v2 v1 off; do
	steps+=("-boot VARIANT=debug CGROUP=$cgroup")
done
"$top/ci/steps.sh" "$session" "${steps[@]}" -series-checks -report || true

# tap FILE: "passed failed skipped" of the results in FILE; a file that is
# missing, or holds fewer results than its plan, is one failure more.
tap()
{
	awk '
		/^1\.\.[0-9]+/         { planned = substr($1, 4) }
		/^ok .*# skip/         { skipped++; next }
		/^ok /                 { passed++ }
		/^not ok /             { failed++ }
		END { if (!planned || planned != passed + failed + skipped) failed++
		      printf "%d %d %d\n", passed, failed, skipped }
	' "$1" 2> /dev/null || echo 0 1 0
}

read -ra host <<< "$(tap "$session/host.tap")"
for part in micro known series; do
	read -ra more <<< "$(tap "$session/$part.tap")"
	for i in 0 1 2; do
		host[i]=$((host[i] + more[i]))
	done
done
kernel=(0 1 0)
if [ -f "$session/report.json" ]; then
	mapfile -t kernel < <(jq '.count | .passed, .failed, .skipped' "$session/report.json")
	# A boot or a step can fail with every reported case passed.
	if [ "$(jq -r .result "$session/report.json")" != PASS ] &&
	   [ "$((host[1] + kernel[1]))" = 0 ]; then
		kernel[1]=1
	fi
fi

grep -h '^not ok' "$session"/*.tap 2> /dev/null || true
echo "host checks: ${host[0]} passed, ${host[1]} failed, ${host[2]} skipped"
echo "kernel tests: ${kernel[0]} passed, ${kernel[1]} failed, ${kernel[2]} skipped"
echo "$((host[0] + kernel[0])) passed, $((host[1] + kernel[1])) failed, $((host[2] + kernel[2])) skipped"
[ $((host[1] + kernel[1])) = 0 ] && [ $((host[0])) -gt 0 ] && [ $((kernel[0])) -gt 0 ]
