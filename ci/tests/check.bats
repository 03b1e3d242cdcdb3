#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh: the line that CI is judged by, from what the steps leave. A script
# plays steps.sh: it only notes which steps it was asked for.

load common

setup()
{
	repo
	export BASE=6.12
	echo 6.12/toy/0001-toy.patch > "$repo/series/6.12"
	mkdir "$repo/selftests/toy"
	echo micro-test > "$repo/selftests/toy/check"
	session=$tmp/session
	mkdir "$session"
	printf '#!/bin/sh\nshift\nprintf "%%s\\n" "$@" > "%s/steps"\nexit "${STEPS_STATUS:-0}"\n' "$tmp" > "$repo/ci/steps.sh"
	for part in host micro known series; do
		printf '%s\n' 1..2 "ok 1 one" "ok 2 two" > "$session/$part.tap"
	done
	report PASS 100 0 0
}

# report RESULT PASSED FAILED SKIPPED
report()
{
	jq -n --arg r "$1" --argjson p "$2" --argjson f "$3" --argjson s "$4" \
		'{result: $r, count: {passed: $p, failed: $f, skipped: $s}}' > "$session/report.json"
}

check()
{
	run "$repo/ci/check.sh" "$session"
}

@test "all fine: the sum, exit status 0" {
	check
	is 0 "$status"
	is "108 passed, 0 failed, 0 skipped" "${lines[-1]}"
	has "host checks: 8 passed, 0 failed, 0 skipped"
}

@test "a host check that failed is named" {
	printf '%s\n' 1..2 "ok 1 one" "not ok 2 two" > "$session/known.tap"
	check
	is 1 "$status"
	has "not ok 2 two"
	is "107 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "one that was skipped is not one that passed" {
	printf '%s\n' 1..2 "ok 1 one # skip no clang" "ok 2 two" > "$session/micro.tap"
	check
	is 0 "$status"
	is "107 passed, 0 failed, 1 skipped" "${lines[-1]}"
}

@test "fewer results than planned: one failure" {
	printf '%s\n' 1..3 "ok 1 one" > "$session/series.tap"
	check
	is 1 "$status"
	is "107 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "a part that left nothing: one failure" {
	rm "$session/host.tap"
	check
	is 1 "$status"
	has "not ok - $session/host.tap: No plan found"
	is "106 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "a kernel test that failed" {
	report FAIL 99 1 0
	check
	is 1 "$status"
	is "107 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "a boot that failed with every case passed: one failure" {
	report FAIL 100 0 0
	check
	is 1 "$status"
	is "108 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "no report: one failure" {
	rm "$session/report.json"
	check
	is 1 "$status"
	is "8 passed, 1 failed, 0 skipped" "${lines[-1]}"
}

@test "a step that stopped the run does not stop the count" {
	STEPS_STATUS=1 check
	is "108 passed, 0 failed, 0 skipped" "${lines[-1]}"
}

@test "the debug kernel is built after all that the default objects are for" {
	check
	last=$(grep -n VARIANT=default "$tmp/steps" | tail -n 1 | cut -d: -f1)
	[ "$last" -lt "$(grep -n -m 1 VARIANT=debug "$tmp/steps" | cut -d: -f1)" ]
	is "-report" "$(tail -n 1 "$tmp/steps")"
}

@test "every part is asked for, those of the topics too" {
	local part
	check
	for part in check-deps -host-tests -micro-test -known -series-checks; do
		grep -qx -- "$part" "$tmp/steps" || { echo "no $part"; return 1; }
	done
}

@test "no kernel test, or no host check: a failure" {
	report PASS 0 0 0
	check
	is 1 "$status"
	report PASS 100 0 0
	for part in host micro known series; do
		echo "1..0 # SKIP nothing" > "$session/$part.tap"
	done
	check
	is 1 "$status"
}

@test "tap.pl: its status is that of the tests" {
	run "$repo/ci/tap.pl" "$session/host.tap"
	is 0 "$status"
	printf '%s\n' 1..1 "not ok 1 one" "# why" > "$session/host.tap"
	run "$repo/ci/tap.pl" "$session/host.tap"
	is 1 "$status"
	has "# why"
}
