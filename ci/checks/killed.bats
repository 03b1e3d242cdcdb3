#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# Real guests in which each test is killed, to see that nothing is left behind.

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}"
	accel=$(find "$WORK/default" -name 'accel-*' | head -n 1)
}

# killed CGROUP: boot the guest that kills all tests for that hierarchy.
killed()
{
	run ci/test-boot.sh "$WORK/default/after" "$WORK/initramfs.cpio" "$accel" \
		"$WORK/killed/default-after-$1" "$1" 4 1G guest:killed
	echo "$output"
	grep -E '^# (not ok|# )' "$WORK/killed/default-after-$1/ktap.log" || true
	[ "$status" = 0 ]
}

@test "each cgroup v2 test, killed, leaves nothing" {
	killed v2
}

@test "each cgroup v1 test, killed, leaves nothing" {
	killed v1
}

@test "the test without memory cgroups, killed, leaves nothing" {
	killed off
}
