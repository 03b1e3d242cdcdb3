#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl over a session of four boots, all fine; each test changes it in one way.

load common

setup()
{
	local cgroup state
	session=$tmp/20260101T000000Z
	mkdir "$session"
	printf '%s\t%s\t0\n' deps 1 fetch 2 "build STATE=before" 241 "build STATE=after" 16 initramfs 31 accel 9 \
		"boots CGROUP=v2" 38 "boots CGROUP=v1" 33 > "$session/steps.tsv"
	for cgroup in v2 v1; do
		for state in before after; do
			boot "lockstat-$state-$cgroup" "$state" "$cgroup"
		done
	done
}

# boot FOLDER STATE CGROUP: one that went well
boot()
{
	mkdir -p "$session/$1"
	touch "$session/$1/facts"
	jq -n --arg state "$2" --arg cgroup "$3" '{
		variant: "lockstat", state: $state, cgroup: $cgroup, accel: "tcg", cpus: "4", memory: "1G",
		kernel: "6.12.117", seconds: "37", locks: "&ctrl->lock", result: "PASS", reason: "",
		programs: [{ name: "mm:swap_memcg", plan: 2, end: "ok", attempt: 1, errors: [], cases: [
			{ name: "swap_memcg.concurrent", result: "ok" },
			{ name: "swap_memcg.no_trace_left", result: "ok" }] }] }' > "$session/$1/verdict.json"
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
		printf '%s\n' "$output" | grep -qE "^lockstat-$boot +PASS +6\.12\.117 +tcg +4 +37 s" ||
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
	rm "$session/lockstat-after-v1/verdict.json"
	report
	is 1 "$status"
	[[ "${lines[-1]}" == FAIL:* ]]
	has "lockstat-after-v1 left no verdict"
	is FAIL "$(json .result)"
}

@test "a step that failed: FAIL, even if every boot that it left is fine" {
	rm -r "$session/lockstat-after-v1"
	sed -i 's/^\(boots CGROUP=v1\t[0-9]*\)\t0/\1\t1/' "$session/steps.tsv"
	report
	is 1 "$status"
	has "step failed: boots CGROUP=v1"
}

@test "no boot at all: FAIL" {
	rm -r "$session"/lockstat-*
	sed -i '/^boot/d' "$session/steps.tsv"
	report
	is 1 "$status"
	has "no test was run"
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

@test "a program that ran after only is no difference, a case that did is one" {
	edit lockstat-after-v1 '.programs += [.programs[0] | .name = "mm:swap_race"]'
	report
	is 0 "$status"
	printf '%s\n' "$output" | grep -qE '^ +mm:swap_race swap_memcg.concurrent +- +ok$'
	has "kernel tests: 10 passed"
}

@test "which attempt of a stock test counted is said" {
	edit lockstat-after-v2 '.programs[0].attempt = 2'
	report
	is 0 "$status"
	has "ok  (attempt 2)"
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

with_load()
{
	local state
	for state in before after; do
		boot "lockstat-load-$state-v2" "$state" v2
		cp "$fixtures/load-$state.log" "$session/lockstat-load-$state-v2/load.log"
	done
}

# instructions STATE N: two rounds that page out 1,000 pages, of N and N + 100
# instructions each
instructions()
{
	boot "default-instructions-$1-v2" "$1" v2
	edit "default-instructions-$1-v2" '.accel = "icount" | .cpus = "1"'
	printf '%s\n' "load 0 1" "phase 1 out pages 1000 ns ${2}000" end "phase 2 out pages 1000 ns $(($2 + 100))000" end \
		> "$session/default-instructions-$1-v2/load.log"
}

# row TITLE PHASE: the values of a line of the load's table
row()
{
	awk -v title="$1" -v phase="$2," 'index($0, title) { on = 1 } on && $1 == phase { sub(/.* pages/, ""); print; exit }' \
		"$session/report.txt" | xargs
}

@test "the load: acquisitions and contentions of the lock, mean and deviation" {
	with_load
	report
	is "1000.0 ± 0.0 none" "$(row "single pages, 4 tasks: &ctrl->lock acquired per 1,000 pages" out)"
	is "4.5 ± 2.1 none" "$(row "folios of 64 kB, 4 tasks: &ctrl->lock contended per 1,000 pages" free)"
	has "before, waited for &ctrl->lock in: swap_cgroup_record 3 times"
	has_not swap_cgroup_clear
}

@test "the load: a phase that did not take the lock has none" {
	with_load
	report
	is "none none" "$(row "&ctrl->lock acquired per 1,000 pages" in)"
}

@test "the load: instructions where the clock counts them" {
	instructions before 9100
	instructions after 8900
	report
	has "out, 2 times 1000 pages"
	is "9150.0 ± 70.7 8950.0 ± 70.7" "$(row "single pages, 1 task: instructions per page" out)"
}

@test "the load: one side without counts has no table" {
	with_load
	: > "$session/lockstat-load-after-v2/load.log"
	report
	is 0 "$status"
	has_not "per 1,000 pages"
}

@test "a wrong call: exit status 2 and the usage" {
	run "$top/ci/report.pl"
	is 2 "$status"
	has usage
	run "$top/ci/report.pl" "$tmp/none"
	is 2 "$status"
	has "no run in $tmp/none"
}

@test "what was left to make check is said" {
	LEFT="cgroup:test_kill" run "$top/ci/report.pl" "$session"
	has "not run here, but by make check: cgroup:test_kill"
}
