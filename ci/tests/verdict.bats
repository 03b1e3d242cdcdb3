#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# verdict.pl over saved logs. A folder in fixtures/verdict/ is what a boot
# left, with the line that must be printed in `expect`; the name of a test here
# is that of its folder, and what it is about.

load common

# judge [FOLDER]: the verdict on a copy of the fixture that the test is named
# after is the line in its `expect`, and so say exit status and verdict.json.
judge()
{
	local name=${BATS_TEST_DESCRIPTION%%:*} expect
	cp -r "$fixtures/verdict/$name" "$tmp/run"
	expect=$(cat "$tmp/run/expect")
	run "$top/ci/verdict.pl" "$tmp/run"
	is "$expect" "$output"
	if [ "$expect" = PASS ]; then
		is 0 "$status"
		is "PASS " "$(jq -r '.result + " " + .reason' "$tmp/run/verdict.json")"
	else
		is 1 "$status"
		is "$expect" "$(jq -r '.result + ": " + .reason' "$tmp/run/verdict.json")"
	fi
}

@test "pass: programs of two collections, nested KTAP below one of them" {
	judge
	is "mm:swap_memcg mm:swap_memcg_area cgroup:test_kill" \
		"$(jq -r '[.programs[].name] | join(" ")' "$tmp/run/verdict.json")"
	is "2 1 3" "$(jq -r '[.programs[].cases | length | tostring] | join(" ")' "$tmp/run/verdict.json")"
	is "swap_memcg.concurrent ok" \
		"$(jq -r '.programs[0].cases[0] | .name + " " + .result' "$tmp/run/verdict.json")"
	is "lockstat after v2 tcg 6.12.117" \
		"$(jq -r '[.variant, .state, .cgroup, .accel, .kernel] | join(" ")' "$tmp/run/verdict.json")"
}

@test "stock-no-plan: a program of the tree that prints no plan" {
	judge
}

# The machine

@test "panic: in the middle of a test" {
	judge
}
@test "survived-oops: every test passed all the same" {
	judge
}
@test "kasan: the report comes before the panic that it causes" {
	judge
}
@test "lockdep: a report, every test passed" {
	judge
}
@test "lockdep-off: the checker gave up, so a clean log means nothing" {
	judge
}
@test "warning: every test passed" {
	judge
}
@test "hung-task: comes before the panic that it causes" {
	judge
}
@test "soft-lockup: comes before the panic that it causes" {
	judge
}
@test "rcu-stall: every test passed" {
	judge
}
@test "unknown-parameter: of the kernel's command line" {
	judge
}
@test "cpu-count: the guest sees fewer CPUs than asked for" {
	judge
}
@test "no-init: the guest's init said nothing" {
	judge
}
@test "hang: the blocked tasks that sysrq shows are not the reason" {
	judge
}
@test "hang-then-stall: a stall that the asking brought about is not the reason" {
	judge
}
@test "limit: printing without an end" {
	judge
}
@test "early-exit: gone without a word, exit status 0" {
	judge
}
@test "qemu-fails: QEMU did not start the machine" {
	judge
}
@test "qemu-status: QEMU itself failed when all was done" {
	judge
}
@test "silent: nothing printed" {
	judge
}
@test "interrupted: nobody wrote how the boot ended" {
	judge
}

# The tests' results

@test "truncated-program: fewer results than planned, exit code 0" {
	judge
}
@test "truncated-log: the log stops within a program" {
	judge
}
@test "empty-ktap: no test at all" {
	judge
}
@test "missing-program: one that the plan wants did not report" {
	judge
}
@test "not-planned: one that nobody asked for reported" {
	judge
}
@test "dropped-case: its own plan was lowered with it" {
	judge
}
@test "dropped-case-no-plan: of a program without a plan" {
	judge
}
@test "program-plan-missing: only stock programs may have none" {
	judge
}
@test "not-ok: a failed case" {
	judge
}
@test "not-ok-masked: a failed case, exit code 0" {
	judge
}
@test "failed-then-passed: a second report does not hide the first" {
	judge
}
@test "skip: a case" {
	judge
	is skip "$(jq -r '.programs[0].cases[1].result' "$tmp/run/verdict.json")"
}
@test "skip-program: all of it, with its reason" {
	judge
}
@test "timeout: a program over its time" {
	judge
}
@test "bail-out: its own words are the reason" {
	judge
}
@test "exit-code: failure without a failed case" {
	judge
}
@test "out-of-sequence: two results of one number" {
	judge
}
@test "no-test-planned: zero tests are no success" {
	judge
}

@test "each saved log is judged by a test" {
	local d
	for d in "$fixtures"/verdict/*/; do
		d=$(basename "$d")
		grep -q "^@test \"$d: " "$BATS_TEST_FILENAME" || { echo "no test for $d"; return 1; }
	done
}

@test "what cannot be read is no verdict: exit status 2, nothing on stdout" {
	run --separate-stderr "$top/ci/verdict.pl" "$tmp/none"
	is 2 "$status"
	is "" "$output"
	[[ "$stderr" == *usage* ]]
	cp -r "$fixtures/verdict/pass" "$tmp/run"
	rm "$tmp/run/plan"
	run --separate-stderr "$top/ci/verdict.pl" "$tmp/run"
	is 2 "$status"
	is "" "$output"
	[[ "$stderr" == *plan* ]]
	[ ! -e "$tmp/run/verdict.json" ]
}
