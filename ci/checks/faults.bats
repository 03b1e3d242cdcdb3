#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# Real guests that fail on purpose, to see that the road from the guest to the
# verdict sees it: a panic, a hang, an early exit, truncated results. They mostly
# wait, so they run at once.

setup_file()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}"
	guest panic
	SILENCE=25 guest hang
	guest exit
	guest truncated
	guest truncated 'swapacount=1 ' parameter
	guest truncated 'maxcpus=1 ' cpus
	wait
}

# guest FAULT [PARAMETER NAME]: boot the guest that fails so, with one more kernel
# parameter and another name for the run
guest()
{
	local name=${3:-$1} kernel
	kernel=$BATS_FILE_TMPDIR/$name
	cp -r "$WORK/default/after" "$kernel"
	printf %s "${2:-}" >> "$kernel/boot-parameters"
	{ SMP=2 MEM=512M TESTS=guest:$1 ci/test-boot.sh "$kernel" "$WORK/initramfs.cpio" \
		"$WORK/default/accel-${ACCEL:-auto}" "$WORK/faults/default-after-$name" v2 2>&1 ||
		echo "status $?"; } > "$BATS_FILE_TMPDIR/$name.log" &
}

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
}

# fault NAME REASON: the verdict was FAIL with a reason that matches
fault()
{
	cat "$BATS_FILE_TMPDIR/$1.log"
	grep -qx 'status 1' "$BATS_FILE_TMPDIR/$1.log"
	grep -qE "FAIL: $2" "$BATS_FILE_TMPDIR/$1.log"
}

@test "a guest that panics" {
	fault panic 'panic: Kernel panic - not syncing: sysrq triggered crash'
	grep -q sysrq_handle_crash "$WORK/faults/default-after-panic/trace.txt"
}

@test "a guest that hangs is asked what it does, then ended" {
	fault hang 'hang: no output for 25 s'
	grep -q 'Show Blocked State' "$WORK/faults/default-after-hang/console.log"
	grep -q 'Show State' "$WORK/faults/default-after-hang/console.log"
}

@test "a guest that is gone without a word" {
	fault exit 'early exit'
}

@test "a test that prints fewer results than it planned" {
	fault truncated 'guest:truncated: truncated KTAP, 1 of 2'
}

@test "an unknown kernel parameter" {
	fault parameter 'unknown kernel parameter: Unknown kernel command line parameters .*swapacount=1'
}

@test "a guest that sees fewer CPUs than asked for" {
	fault cpus 'the guest sees 1 CPUs, asked for 2'
}
