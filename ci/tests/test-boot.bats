#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# test-boot.sh from end to end, with a script in QEMU's place that prints a
# saved log: the way from a kernel to a verdict, and what the folder holds.

load common

setup()
{
	short_sleeps
	repo
	cp -r "$top/selftests" "$repo"
	printf '%s\t%s\t%s\t%s\n' mm:swap_memcg v2 2 "" mm:swap_memcg v1 2 "" \
		cgroup:test_kill v2 3 no-plan guest:panic v2 1 "" > "$repo/selftests/plan"
	kernel=$tmp/build/6.12/lockstat/after
	mkdir -p "$kernel"
	printf '%s\n' CONFIG_VIRTIO_PCI=y > "$kernel/.config"
	printf 'console=ttyS0 ' > "$kernel/boot-parameters"
	echo "make bzImage" > "$kernel/command"
	printf '%s\n' accel=tcg seconds=3 "reason=said so" > "$tmp/accel"
	# It plays the fixture in $tmp/saved and leaves its command.
	program qemu <<-EOF
		#!/bin/sh
		case "\$*" in
		*" help"*)   echo q35; exit ;;
		*--version*) echo "QEMU emulator version 7.2.22"; exit ;;
		esac
		printf '%s\n' "\$@" > "$tmp/seen"
		port=\$(printf '%s\n' "\$@" | sed -n 's/^file,id=ktap,path=//p')
		cat "$tmp/saved/ktap.log" > "\$port"
		cat "$tmp/saved/console.log"
	EOF
	export QEMU=qemu
	run=$tmp/runs/one/lockstat-after-v2
}

# boot FIXTURE [CGROUP [TESTS]]
boot()
{
	ln -sfn "$fixtures/verdict/$1" "$tmp/saved"
	run timeout -k 1 30 "$repo/ci/test-boot.sh" "$kernel" initramfs.cpio "$tmp/accel" "$run" "${2:-v2}" 4 1G "${3:-}"
}

@test "PASS: exit status 0, and the folder holds all of it" {
	local f
	printf 'mm:swap_memcg_area\tv2\t1\n' >> "$repo/selftests/plan"
	boot pass v2
	is 0 "$status"
	has "lockstat-after-v2 (tcg"
	has PASS
	is PASS "$(jq -r .result "$run/verdict.json")"
	for f in plan facts environment command config kernel-command console.log ktap.log end verdict.json; do
		[ -s "$run/$f" ] || { echo "no $f"; return 1; }
	done
	is "lockstat after v2 tcg 4 1G 6.12.117" \
		"$(jq -r '[.variant, .state, .cgroup, .accel, .cpus, .memory, .kernel] | join(" ")' "$run/verdict.json")"
}

@test "FAIL: exit status 1, the reason and where to look" {
	boot not-ok v2 mm:swap_memcg
	is 1 "$status"
	has "FAIL: mm:swap_memcg: not ok: swap_memcg.no_trace_left"
	has "$run"
	is FAIL "$(jq -r .result "$run/verdict.json")"
}

@test "a test that the plan wants and the guest did not run: FAIL" {
	boot not-ok-masked
	is 1 "$status"
	boot truncated-log
	is 1 "$status"
	boot stock-no-plan
	is 1 "$status"
	has "missing test: mm:swap_memcg"
}

@test "the plan of a boot: its hierarchy, and no failures on purpose" {
	boot pass v2
	is "mm:swap_memcg cgroup:test_kill" "$(cut -f1 "$run/plan" | paste -sd' ')"
	boot pass v1
	is "mm:swap_memcg" "$(cut -f1 "$run/plan" | paste -sd' ')"
	grep -q 'guest.cgroup=v1.*guest.tests=mm:swap_memcg$' "$tmp/seen"
}

# planned VARIANT: the programs that a v2 boot of that kernel gets
planned()
{
	mkdir -p "$tmp/build/6.12/$1"
	cp -r "$tmp/build/6.12/lockstat/after" "$tmp/build/6.12/$1"
	kernel=$tmp/build/6.12/$1/after
	boot pass v2
	cut -f1 "$run/plan" | paste -sd' '
}

@test "what is too slow for a kernel does not run on it, whatever the compiler" {
	printf '%s\t%s\t%s\t%s\n' cgroup:a v2 1 "" cgroup:b v2 1 default-only cgroup:c v2 1 not-debug \
		> "$repo/selftests/plan"
	is "cgroup:a cgroup:b cgroup:c" "$(planned default-llvm)"
	is "cgroup:a" "$(planned debug-llvm)"
	is "cgroup:a cgroup:c" "$(planned gcov)"
}

@test "TESTS names one, even a failure on purpose, whole words only" {
	boot panic v2 guest:panic
	is guest:panic "$(cut -f1 "$run/plan")"
	has "FAIL: panic: "
	boot pass v2 "mm:swap"
	[ ! -e "$run/verdict.json" ]
}

@test "no test for that hierarchy: said, nothing booted, no verdict" {
	boot pass v1 cgroup:test_kill
	is 0 "$status"
	has "no test"
	[ ! -e "$tmp/seen" ]
	[ ! -e "$run/verdict.json" ]
}

@test "a boot that had no test is not missing from the report" {
	mkdir -p "$tmp/runs/one"
	printf '%s\t%s\t%s\n' "boot STATE=after CGROUP=v2" 3 0 "boot STATE=after CGROUP=v1" 0 0 > "$tmp/runs/one/steps.tsv"
	boot stock-no-plan v2 cgroup:test_kill
	is 0 "$status"
	run=$tmp/runs/one/lockstat-after-v1
	boot stock-no-plan v1 cgroup:test_kill
	is 0 "$status"
	run "$repo/ci/report.pl" "$tmp/runs/one"
	is PASS "${lines[-1]}"
}

@test "the patience grows with the accelerator's measured time" {
	local slow
	boot pass
	slow=$(sed -n 's/^limit=//p' "$run/facts")
	sed -i 's/seconds=.*/seconds=1/' "$tmp/accel"
	boot pass
	[ "$slow" -gt "$(sed -n 's/^limit=//p' "$run/facts")" ]
	[ "$(sed -n 's/^silence=//p' "$run/facts")" -lt "$(sed -n 's/^limit=//p' "$run/facts")" ]
	grep -q "guest.timeout=[1-9]" "$tmp/seen"
}

@test "a second boot into the same folder starts from nothing" {
	mkdir -p "$run"
	echo '{"result": "PASS"}' > "$run/verdict.json"
	echo old > "$run/trace.txt"
	program qemu <<-'EOF'
		#!/bin/sh
		case "$*" in
		*" help"*)   echo q35; exit ;;
		*--version*) echo "QEMU emulator version 7.2.22"; exit ;;
		esac
		exit 1
	EOF
	boot pass v2
	is 1 "$status"
	[ ! -e "$run/trace.txt" ]
	is FAIL "$(jq -r .result "$run/verdict.json")"
}

@test "a call trace is kept beside the console" {
	boot survived-oops v2 mm:swap_memcg
	is 1 "$status"
	has "FAIL: oops: "
	grep -q 'Call Trace' "$run/trace.txt"
	grep -q 'mem_cgroup_swapout' "$run/trace.txt"
	grep -q 'NULL pointer' "$run/trace.txt"
}
