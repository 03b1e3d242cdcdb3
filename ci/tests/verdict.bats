#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# verdict.pl over what a real boot left, fixtures/boot (two programs: one of this
# project, one of the tree that prints no plan). Each test changes a copy of it in
# one way. What a console line means is for console-verdicts.bats.

load common

own=cgroup:test_swap_offline stock=cgroup:test_kill

setup()
{
	cp -r "$fixtures/boot" "$tmp/run"
	cd "$tmp/run" || return
}

# edit FILE SED...: it must differ afterwards
edit()
{
	cp "$1" "$tmp/was"
	sed -i "${@:2}" "$1"
	! cmp -s "$tmp/was" "$1"
}

# fails REASON: the verdict, its exit status and what it leaves
fails()
{
	run "$top/ci/verdict.pl" "$tmp/run"
	is "FAIL: $1" "$output"
	is 1 "$status"
	is "FAIL: $1" "$(jq -r '.result + ": " + .reason' verdict.json)"
}

passes()
{
	run "$top/ci/verdict.pl" "$tmp/run"
	is PASS "$output"
	is 0 "$status"
	is "PASS " "$(jq -r '.result + " " + .reason' verdict.json)"
}

@test "all is well: programs, cases and facts are kept" {
	passes
	is "$own $stock" "$(jq -r '[.programs[].name] | join(" ")' verdict.json)"
	is "5 3" "$(jq -r '[.programs[].cases | length | tostring] | join(" ")' verdict.json)"
	is "test_cgkill_simple ok" "$(jq -r '.programs[1].cases[0] | .name + " " + .result' verdict.json)"
	is "default after v2 tcg" "$(jq -r '[.variant, .state, .cgroup, .accel] | join(" ")' verdict.json)"
}

# The machine

# gone_at REGEX: the console ends with the line that matches
gone_at()
{
	edit console.log "/$1/q"
}

@test "a panic in the middle of a test, although QEMU ends well" {
	gone_at 'Running tests in cgroup'
	echo '[   12.310000] Kernel panic - not syncing: sysrq triggered crash' >> console.log
	fails "panic: Kernel panic - not syncing: sysrq triggered crash"
}

@test "an oops that every test survived" {
	edit console.log 's/^guest: end/[   12.310000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n&/'
	fails "oops: BUG: kernel NULL pointer dereference, address: 0000000000000010"
}

@test "a report comes before the panic that it causes" {
	gone_at 'Running tests in cgroup'
	printf '[   12.3] %s\n' 'BUG: KASAN: slab-use-after-free in swap_cgroup_record+0x4f/0xd0' \
		'Kernel panic - not syncing: KASAN: panic_on_warn set ...' >> console.log
	fails "KASAN report: BUG: KASAN: slab-use-after-free in swap_cgroup_record+0x4f/0xd0"
}

@test "the guest sees fewer CPUs than asked for" {
	edit console.log 's/cpus=4/cpus=1/'
	fails "the guest sees 1 CPUs, asked for 4"
}

@test "the guest's init said nothing" {
	edit console.log '/^guest: init/d'
	fails "no init: the guest never said how many CPUs it sees"
}

@test "a hang: what sysrq shows afterwards is not the reason" {
	gone_at 'Running tests in cgroup'
	echo "hang 150 $(stat -c %s console.log)" > end
	echo '[  200.1] rcu: INFO: rcu_preempt self-detected stall on CPU' >> console.log
	fails "hang: no output for 150 s"
}

@test "printing without an end" {
	gone_at 'Running tests in cgroup'
	echo "limit 900 $(stat -c %s console.log)" > end
	fails "over its limit: still printing after 900 s"
}

@test "gone without a word, exit status 0" {
	gone_at 'Running tests in cgroup'
	fails "early exit: QEMU ended (status 0) before the guest was done"
}

@test "QEMU did not start the machine" {
	: > console.log
	echo "exit 1" > end
	fails "silent console: QEMU ended (status 1) with nothing printed"
}

@test "QEMU itself failed when all was done" {
	echo "exit 134" > end
	fails "QEMU ended with status 134"
}

@test "nothing printed" {
	: > console.log
	echo "silent 150 0" > end
	fails "silent console: nothing printed in 150 s"
}

@test "interrupted: nobody wrote how the boot ended" {
	rm end
	fails "no record of how the boot ended (interrupted?)"
}

# The tests' results

# case_of N: the name of the own program's case N
case_of()
{
	sed -n "s/^# ok $1 //p" ktap.log | head -n 1
}

@test "a failed case" {
	local name
	name=$(case_of 2)
	edit ktap.log "s/^# ok 2 $name/# not ok 2 $name/; s/^ok 1 \(selftests: cgroup: test_swap_offline\)/not ok 1 \1 # exit=1/"
	fails "$own: not ok: $name"
	is "not ok" "$(jq -r '.programs[0].cases[1].result' verdict.json)"
}

@test "a failed case, exit code 0" {
	local name
	name=$(case_of 1)
	edit ktap.log "s/^# ok 1 $name/# not ok 1 $name/"
	fails "$own: not ok: $name"
}

@test "fewer results than planned, exit code 0" {
	edit ktap.log "/^# ok 5 /d"
	fails "$own: truncated KTAP, 4 of 5 planned results"
}

@test "the log stops within a program" {
	edit ktap.log '/^# ok 3 /q'
	fails "$own: truncated KTAP, it never ended"
}

@test "no result at all" {
	: > ktap.log
	fails "empty KTAP: no test reported"
}

@test "one that the plan wants did not report" {
	edit ktap.log '/^ok 1 selftests: cgroup: test_swap_offline/q'
	fails "missing test: $stock did not report"
}

@test "one that nobody asked for reported" {
	edit plan "/^$stock/d"
	fails "$stock: reported, but not planned"
}

@test "a dropped case, its own plan lowered with it" {
	edit ktap.log '/^# ok 5 /d; s/^# 1\.\.5/# 1..4/'
	fails "$own: 4 cases, the plan wants at least 5"
}

@test "a dropped case of a program without a plan" {
	edit ktap.log '/^# ok 3 test_cgkill/d'
	fails "$stock: 2 cases, the plan wants at least 3"
}

@test "only stock programs may have no plan" {
	edit ktap.log '/^# 1\.\.5/d'
	fails "$own: no plan"
}

@test "a second report does not hide that the first has failed" {
	local name
	name=$(case_of 1)
	sed "s/^# ok 1 $name/# not ok 1 $name/" ktap.log > "$tmp/first"
	cat "$tmp/first" ktap.log > "$tmp/both"
	mv "$tmp/both" ktap.log
	fails "$own: reported twice"
}

@test "a stock test that was run again: the last attempt counts, and its number is kept" {
	sed -n '/^# selftests: cgroup: test_kill/,/^ok 1 selftests: cgroup: test_kill/p' ktap.log > "$tmp/again"
	edit ktap.log 's/^# ok 2 test_cgkill/# not ok 2 test_cgkill/; s/^ok 1 \(selftests: cgroup: test_kill\)/not ok 1 \1 # exit=1/'
	cat "$tmp/again" >> ktap.log
	passes
	is "2 2" "$(jq -r '[(.programs | length), .programs[1].attempt] | join(" ")' verdict.json)"
	is 1 "$(jq -r '.programs[0].attempt' verdict.json)"
	sed 's/^# ok 1 test_cgkill/# not ok 1 test_cgkill/' "$tmp/again" >> ktap.log
	fails "$stock: not ok: test_cgkill_simple"
	is 3 "$(jq -r '.programs[1].attempt' verdict.json)"
}

@test "a skipped case" {
	local name
	name=$(case_of 2)
	edit ktap.log "s/^# ok 2 $name/& # SKIP no reason/"
	fails "$own: unexpected skip: $name"
	is skip "$(jq -r '.programs[0].cases[1].result' verdict.json)"
}

@test "a skipped program, with its reason" {
	edit ktap.log 's/^# 1\.\.5/# 1..0 # SKIP must be run as root/'
	edit ktap.log '/^# 1\.\.0/,/^ok 1 selftests/ { /^# ok/d }'
	fails "$own: unexpected skip: must be run as root"
}

@test "a program over its time" {
	edit ktap.log 's/^ok 1 \(selftests: cgroup: test_swap_offline\)/not ok 1 \1 # TIMEOUT 450 seconds/'
	fails "$own: timed out"
}

@test "bail out: its own words are the reason" {
	edit ktap.log 's/^# ok 3 .*test_swap.*/&/; s/^# ok 4 .*/# Bail out! no swap area: No space left on device/; /^# ok 5 /d'
	fails "$own: bailed out: no swap area: No space left on device"
}

@test "failure without a failed case" {
	edit ktap.log 's/^ok 1 \(selftests: cgroup: test_kill\)/not ok 1 \1 # exit=1/'
	fails "$stock: its exit code says failure"
}

@test "two results of one number" {
	edit ktap.log 's/^# ok 3 test_cgkill/# ok 2 test_cgkill/'
	fails "$stock: Tests out of sequence.  Found (2) but expected (3)"
}

@test "zero tests are no success" {
	: > plan
	: > ktap.log
	fails "no test was planned"
}

@test "what cannot be read is no verdict: exit status 2, nothing on stdout" {
	run --separate-stderr "$top/ci/verdict.pl" "$tmp/none"
	is 2 "$status"
	is "" "$output"
	[[ "$stderr" == *usage* ]]
	rm plan
	run --separate-stderr "$top/ci/verdict.pl" "$tmp/run"
	is 2 "$status"
	is "" "$output"
	[[ "$stderr" == *plan* ]]
	[ ! -e verdict.json ]
}
