#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh SESSION: all that CI runs, and its count.
#
# The host's own tests, the topics' own targets NAME-test (selftests/TOPIC/check), then the default
# kernel before and after the series and the debug kernel after it, booted with
# all tests, what is known to fail before, then what must hold of the series.
# SESSION gets host.tap, known.tap, series.tap, NAME.tap of each topic's target, and
# the report.
#
# Host checks and kernel tests are counted on lines of their own and summed in
# the last line, "N passed, N failed, N skipped". Exits 0 only when nothing
# failed; a part that left no result counts as a failure.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: check.sh SESSION"
need BASE
! dry_run || exit 0
session=$1

topics=$("$top/ci/list.sh" topics)
steps=(check-deps -host-tests fetch tree)
taps=("$session"/{host,known,series}.tap)
for topic in $topics; do
	[ -e "$top/selftests/$topic/check" ] || continue
	for step in $(rows "$top/selftests/$topic/check"); do
		steps+=("-$step")
		taps+=("$session/${step%-test}.tap")
	done
done
steps+=("build VARIANT=default STATE=before" "build VARIANT=default STATE=after"
	initramfs "accel VARIANT=default")
for cgroup in v2 v1 off; do
	steps+=("-boots VARIANT=default CGROUP=$cgroup")
done
# While the tree and the objects still are of this variant.
steps+=(-known "build VARIANT=debug" "accel VARIANT=debug")
for cgroup in v2 v1 off; do
	steps+=("-boot VARIANT=debug CGROUP=$cgroup")
done
"$top/ci/steps.sh" "$session" "${steps[@]}" -series-checks -report || true

said=$("$top/ci/tap.pl" "${taps[@]}") || true
read -r -a host <<< "$(tail -n 1 <<< "$said" | tr -cd '0-9 ')"
kernel=(0 1 0)
if [ -f "$session/report.json" ]; then
	mapfile -t kernel < <(jq '.count | .passed, .failed, .skipped' "$session/report.json")
	# A boot or a step can fail with every reported case passed.
	if [ "$(jq -r .result "$session/report.json")" != PASS ] &&
	   [ "$((host[1] + kernel[1]))" = 0 ]; then
		kernel[1]=1
	fi
fi

grep '^not ok' <<< "$said" || true
echo "host checks: ${host[0]} passed, ${host[1]} failed, ${host[2]} skipped"
echo "kernel tests: ${kernel[0]} passed, ${kernel[1]} failed, ${kernel[2]} skipped"
echo "$((host[0] + kernel[0])) passed, $((host[1] + kernel[1])) failed, $((host[2] + kernel[2])) skipped"
[ $((host[1] + kernel[1])) = 0 ] && [ $((host[0])) -gt 0 ] && [ $((kernel[0])) -gt 0 ]
