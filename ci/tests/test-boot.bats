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
	export BASE=6.12 ARCH=x86_64
	echo 6.12/toy/0001-toy.patch > "$repo/series/6.12"
	mkdir -p "$repo/selftests/toy"
	printf '%s\t%s\t%s\t%s\n' cgroup:test_swap_offline v2 5 "" cgroup:test_swap_offline v1 5 "" \
		> "$repo/selftests/toy/plan"
	printf '%s\t%s\t%s\t%s\n' cgroup:test_kill v2 3 "no-plan stock" guest:panic v2 1 "" > "$repo/selftests/plan"
	kernel=$tmp/build/6.12/lockstat/after
	mkdir -p "$kernel"
	printf '%s\n' CONFIG_VIRTIO_PCI=y > "$kernel/.config"
	printf 'console=ttyS0 ' > "$kernel/boot-parameters"
	echo "make bzImage" > "$kernel/command"
	printf '%s\n' variant=lockstat state=after "tree=$tmp/build/6.12/linux" > "$kernel/facts"
	printf '%s\n' accel=tcg "reason=said so" > "$tmp/accel"
	cp -r "$fixtures/boot" "$tmp/saved"
	# It plays the boot in $tmp/saved and leaves its command.
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
		/bin/sleep "\${QEMU_TAKES:-0}"
	EOF
	export QEMU=qemu
	run=$tmp/runs/one/lockstat-after-v2
}

# boot [CGROUP [TESTS]]
boot()
{
	export SMP=4 MEM=1G TESTS=${2:-}
	run timeout -k 1 30 "$repo/ci/test-boot.sh" "$kernel" initramfs.cpio "$tmp/accel" "$run" "${1:-v2}"
}

planned()
{
	cut -f1 "$run/plan" | paste -sd' '
}

@test "PASS: exit status 0, and the folder holds all of it" {
	local f
	export QEMU_TAKES=1.1
	boot
	is 0 "$status"
	has "lockstat-after-v2 (tcg"
	has PASS
	is PASS "$(jq -r .result "$run/verdict.json")"
	for f in plan facts environment command config kernel-command console.log ktap.log end verdict.json; do
		[ -s "$run/$f" ] || { echo "no $f"; return 1; }
	done
	is "lockstat after v2 tcg 4 1G" \
		"$(jq -r '[.variant, .state, .cgroup, .accel, .cpus, .memory] | join(" ")' "$run/verdict.json")"
	[[ "$(jq -r .kernel "$run/verdict.json")" == 6.12.* ]]
	[[ "$(jq -r .seconds "$run/verdict.json")" =~ ^[1-9][0-9]?$ ]]
}

@test "FAIL: exit status 1, the reason and where to look" {
	sed -i 's/^# ok 2 test_cgkill/# not ok 2 test_cgkill/' "$tmp/saved/ktap.log"
	boot
	is 1 "$status"
	has "FAIL: cgroup:test_kill: not ok: test_cgkill_tree"
	has "$run"
	is FAIL "$(jq -r .result "$run/verdict.json")"
}

@test "a test that the plan wants and the guest did not run: FAIL" {
	sed -i '/^ok 1 selftests: cgroup: test_swap_offline/q' "$tmp/saved/ktap.log"
	boot
	is 1 "$status"
	has "missing test: cgroup:test_kill"
}

@test "the plan of a boot: its hierarchy, and no failures on purpose" {
	boot v2
	is "cgroup:test_swap_offline cgroup:test_kill" "$(planned)"
	grep -q 'guest.cgroup=v2 guest.tests=cgroup:test_swap_offline guest.stock=cgroup:test_kill$' "$tmp/seen"
	boot v1
	is cgroup:test_swap_offline "$(planned)"
	grep -q 'guest.cgroup=v1 guest.tests=cgroup:test_swap_offline guest.stock=$' "$tmp/seen"
}

# planned_of STATE VARIANT: the programs that a v2 boot of that kernel gets
planned_of()
{
	printf '%s\n' "variant=$2" "state=$1" "tree=$tmp/linux" > "$kernel/facts"
	boot v2
	planned
}

@test "the notes of the plan: after-only, default-only, devmem, and the load" {
	printf '%s\t%s\t%s\t%s\n' cgroup:a v2 1 "" cgroup:b v2 1 after-only cgroup:c v2 1 "no-plan default-only" \
		local:d v2 1 devmem load:e v2 1 "" cgroup:f v2 1 not-debug > "$repo/selftests/plan"
	: > "$repo/selftests/toy/plan"
	is "cgroup:a cgroup:c cgroup:f" "$(planned_of before default)"
	is "cgroup:a cgroup:b cgroup:c cgroup:f" "$(planned_of after default)"
	is "cgroup:a cgroup:b" "$(planned_of after debug)"
	is "cgroup:a cgroup:c cgroup:f" "$(planned_of before default-llvm)"
	is "cgroup:a" "$(planned_of before debug-llvm)"
	is "cgroup:a cgroup:f" "$(planned_of before lockstat)"
	is "cgroup:a local:d cgroup:f" "$(planned_of before devmem)"
	boot v2 load:e
	is load:e "$(planned)"
}

@test "NOTE: what has that note, by the same rules" {
	printf '%s\t%s\t%s\t%s\n' cgroup:a v2 1 shown cgroup:b v2 1 "after-only shown" cgroup:c v2 1 "" \
		cgroup:d v2 1 not-shown > "$repo/selftests/plan"
	: > "$repo/selftests/toy/plan"
	export NOTE=shown
	is "cgroup:a" "$(planned_of before default)"
	is "cgroup:a cgroup:b" "$(planned_of after default)"
}

@test "TESTS names one, even a failure on purpose, whole words only" {
	sed -i '/Running tests in cgroup/q' "$tmp/saved/console.log"
	echo '[   12.3] Kernel panic - not syncing: sysrq triggered crash' >> "$tmp/saved/console.log"
	boot v2 guest:panic
	is guest:panic "$(planned)"
	has "FAIL: panic: "
	boot v2 "cgroup:test_swap"
	[ ! -e "$run/verdict.json" ]
}

@test "no test for that hierarchy: said, nothing booted, no verdict" {
	boot v1 cgroup:test_kill
	is 0 "$status"
	has "no test"
	[ ! -e "$tmp/seen" ]
	[ ! -e "$run/verdict.json" ]
}

@test "a boot that had no test is not missing from the report" {
	mkdir -p "$tmp/runs/one"
	printf '%s\t%s\t%s\n' "boot STATE=after CGROUP=v2" 3 0 "boot STATE=after CGROUP=v1" 0 0 > "$tmp/runs/one/steps.tsv"
	sed -i '1,/^ok 1 selftests: cgroup: test_swap_offline/d' "$tmp/saved/ktap.log"
	boot v2 cgroup:test_kill
	is 0 "$status"
	run=$tmp/runs/one/lockstat-after-v1
	boot v1 cgroup:test_kill
	is 0 "$status"
	run "$repo/ci/report.pl" "$tmp/runs/one"
	is PASS "${lines[-1]}"
}

@test "a second boot into the same folder starts from nothing" {
	mkdir -p "$run"
	echo '{"result": "PASS"}' > "$run/verdict.json"
	echo old > "$run/trace.txt"
	: > "$tmp/saved/console.log"
	: > "$tmp/saved/ktap.log"
	boot
	is 1 "$status"
	[ ! -e "$run/trace.txt" ]
	is FAIL "$(jq -r .result "$run/verdict.json")"
}

@test "a call trace is kept beside the console" {
	sed -i "s/^guest: end/[  9.1] BUG: kernel NULL pointer dereference, address: 10\n[  9.1] Call Trace:\n[  9.1]  mem_cgroup_swapout+0x1\n&/" \
		"$tmp/saved/console.log"
	boot
	is 1 "$status"
	has "FAIL: oops: "
	grep -q 'Call Trace' "$run/trace.txt"
	grep -q 'mem_cgroup_swapout' "$run/trace.txt"
	grep -q 'NULL pointer' "$run/trace.txt"
}

@test "what is to be counted is a fact of the boot: the locks of the topics" {
	echo 'lock=&ctrl->lock' > "$repo/selftests/toy/topic"
	boot
	is '&ctrl->lock' "$(jq -r .locks "$run/verdict.json")"
}
