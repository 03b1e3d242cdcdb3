#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# Real guests that fail on purpose, to see that the road from the guest to the
# verdict sees it: a panic, a hang, an early exit, truncated results.

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}"
	kernel=$WORK/default/after
	accel=$(find "$WORK/default" -name 'accel-*' | head -n 1)
}

# fault NAME REASON: boot the guest with that failure; the verdict must be
# FAIL with a reason that matches.
fault()
{
	run ci/test-boot.sh "$kernel" "$WORK/initramfs.cpio" "$accel" "$WORK/faults/default-after-$1" \
		v2 2 512M "guest:$1"
	echo "$output"
	[ "$status" = 1 ]
	grep -qE "FAIL: $2" <<< "$output"
}

@test "a guest that panics" {
	fault panic 'panic: Kernel panic - not syncing: sysrq triggered crash'
	grep -q sysrq_handle_crash "$WORK/faults/default-after-panic/trace.txt"
}

@test "a guest that hangs is asked what it does, then ended" {
	SILENCE=20 fault hang 'hang: no output for 20 s'
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
	mkdir "$BATS_TEST_TMPDIR/default" && cp -r "$kernel" "$BATS_TEST_TMPDIR/default/after"
	kernel=$BATS_TEST_TMPDIR/default/after
	printf 'swapacount=1 ' >> "$kernel/boot-parameters"
	fault truncated 'unknown kernel parameter: Unknown kernel command line parameters .*swapacount=1'
}

@test "a guest that sees fewer CPUs than asked for" {
	mkdir "$BATS_TEST_TMPDIR/default" && cp -r "$kernel" "$BATS_TEST_TMPDIR/default/after"
	kernel=$BATS_TEST_TMPDIR/default/after
	printf 'maxcpus=1 ' >> "$kernel/boot-parameters"
	fault truncated 'the guest sees 1 CPUs, asked for 2'
}
