#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl over a session made of saved verdicts: fixtures/report/session has
# four boots, all fine, with the lock statistics of two.

load common

setup()
{
	session=$tmp/20260101T000000Z
	cp -r "$fixtures/report/session" "$session"
}

report()
{
	run "$top/ci/report.pl" "$session"
}

# edit FOLDER JQ: change a boot's verdict
edit()
{
	jq "$2" "$session/$1/verdict.json" > "$tmp/edited"
	mv "$tmp/edited" "$session/$1/verdict.json"
}

json()
{
	jq -r "$1" "$session/report.json"
}

@test "all fine: PASS, exit status 0" {
	report
	is 0 "$status"
	is PASS "${lines[-1]}"
	is PASS "$(json .result)"
	is 0 "$(json '.problems | length')"
}

@test "each case has its result before and after" {
	report
	printf '%s\n' "$output" | grep -qE '^ +mm:swap_memcg swap_memcg.concurrent +ok +ok$'
	has_not DIFFERS
}

@test "the boots: accelerator, kernel, CPUs, time, and that TCG's is no figure" {
	local boot
	report
	for boot in before-v2 after-v2 before-v1 after-v1; do
		printf '%s\n' "$output" | grep -qE "^lockstat-$boot +PASS +6\.12\.117 +tcg +4 +3[0-9] s" ||
			{ echo "$boot: $output"; return 1; }
	done
	has "smoke only"
}

@test "the steps: name and seconds, and their sum" {
	report
	printf '%s\n' "$output" | grep -qE '^build STATE=before +241 s$'
	printf '%s\n' "$output" | grep -qE '^all steps +371 s$'
	is "build STATE=before" "$(json '.steps[2].step')"
	is 241 "$(json '.steps[2].seconds')"
	is 371 "$(json .seconds)"
}

@test "the tests are counted" {
	report
	has "kernel tests: 8 passed, 0 failed, 0 skipped"
	is "8 0 0" "$(json '.count | [.passed, .failed, .skipped] | join(" ")')"
}

@test "the text is kept, and the JSON is whole" {
	report
	is "$output" "$(cat "$session/report.txt")"
	is 4 "$(json '.boots | length')"
	is number "$(json '.boots[0].programs[0].plan | type')"
}

@test "a boot that left no verdict: FAIL" {
	rm -r "$session/lockstat-after-v1"
	report
	is 1 "$status"
	[[ "${lines[-1]}" == FAIL:* ]]
	has "3 boots of 4"
	is FAIL "$(json .result)"
}

@test "a boot that broke off: FAIL" {
	rm "$session/lockstat-after-v1/verdict.json"
	sed -i 's/^\(boots CGROUP=v1\t[0-9]*\)\t0/\1\t1/' "$session/steps.tsv"
	report
	is 1 "$status"
	has "3 boots of 4"
}

@test "no boot at all: FAIL" {
	rm -r "$session"/lockstat-*
	sed -i '/^boot/d' "$session/steps.tsv"
	report
	is 1 "$status"
	has "nothing was booted"
}

@test "an empty session: FAIL" {
	rm -r "$session"
	mkdir "$session"
	report
	is 1 "$status"
	[[ "${lines[-1]}" == FAIL:* ]]
}

@test "a boot that failed: FAIL, with its reason" {
	edit lockstat-after-v2 '.result = "FAIL" | .reason = "hang: no output for 150 s" | .programs = []'
	report
	is 1 "$status"
	has "lockstat-after-v2: hang: no output for 150 s"
	is FAIL "$(json '.boots[] | select(.folder == "lockstat-after-v2").result')"
}

@test "a boot without a kernel that spoke is shown all the same" {
	edit lockstat-after-v2 'del(.kernel) | .result = "FAIL" | .reason = "silent console: nothing printed in 150 s"'
	report
	is 1 "$status"
	has "silent console"
	has_not "uninitialized"
}

@test "a case that differs before and after: FAIL, and it is named" {
	edit lockstat-after-v2 '.programs[0].cases[1].result = "skip"'
	report
	is 1 "$status"
	has DIFFERS
	has "lockstat v2: mm:swap_memcg swap_memcg.no_trace_left: ok before, skip after"
	has "kernel tests: 7 passed, 0 failed, 1 skipped"
}

@test "a case that is gone after: FAIL, and it is named" {
	edit lockstat-after-v2 'del(.programs[0].cases[1])'
	report
	is 1 "$status"
	has "swap_memcg.no_trace_left: ok before, - after"
}

@test "a case that is new after: FAIL, and it is named" {
	edit lockstat-before-v2 'del(.programs[0].cases[1])'
	report
	is 1 "$status"
	has "swap_memcg.no_trace_left: - before, ok after"
}

@test "v1 and v2 are not set against each other" {
	edit lockstat-before-v1 '.programs[0].cases[1].result = "skip"'
	edit lockstat-after-v1 '.programs[0].cases[1].result = "skip"'
	report
	is 0 "$status"
	has_not DIFFERS
}

@test "a step that failed: FAIL, and it is named" {
	sed -i 's/^\(initramfs\t[0-9]*\)\t0/\1\t2/' "$session/steps.tsv"
	report
	is 1 "$status"
	has "step failed: initramfs"
}

@test "lock statistics: acquisitions and contentions per 1,000 pages" {
	report
	has "pages swapped out and in: 20000 before, 25000 after"
	printf '%s\n' "$output" | grep -qE 'acquired per 1,000 pages +1660\.0 +none$'
	printf '%s\n' "$output" | grep -qE 'contended per 1,000 pages +210\.0 +none$'
}

@test "lock statistics: the most contended, most first, readers and writers as one" {
	report
	run bash -c "sed -n '/most contended, before/,/all locks/p' '$session/report.txt' | awk '{ print \$1, \$(NF - 1), \$NF }'"
	is "most contended acquired/page" "${lines[0]}"
	is "&ctrl->lock 4200 1.66" "${lines[1]}"
	is "&mm->mmap_lock 30 0.35" "${lines[2]}"
	is "all locks 2.26" "${lines[-1]}"
	has_not "never-contended"
}

@test "a boot that did not swap is INVALID, with no ratio" {
	sed -i 's/^\(pswp[a-z]*\) .*/\1 0/' "$session/lockstat-after-v2/vmstat.log"
	report
	has INVALID
	has_not "per 1,000 pages"
	has_not "Illegal division"
}

@test "a kernel that counts no locks has no table of them" {
	: > "$session/lockstat-after-v2/lock_stat.log"
	report
	is 0 "$status"
	has_not "per 1,000 pages"
	has_not INVALID
}

@test "a wrong call: exit status 2 and the usage" {
	run "$top/ci/report.pl" "$tmp/none"
	is 2 "$status"
	has usage
}
