#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# Real guests in which each test is killed, to see that nothing is left behind.
# They mostly wait, so they run at once.

setup_file()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}"
	local accel cgroup
	accel=$WORK/default/accel-${ACCEL:-auto}
	for cgroup in v2 v1 off; do
		{ SMP=4 MEM=1G TESTS=guest:killed ci/test-boot.sh "$WORK/default/after" "$WORK/initramfs.cpio" \
			"$accel" "$WORK/killed/default-after-$cgroup" "$cgroup" 2>&1 &&
			echo "verdict was PASS"; } > "$BATS_FILE_TMPDIR/$cgroup" &
	done
	wait
}

# killed CGROUP: what became of the guest that kills all tests for that hierarchy.
killed()
{
	cat "$BATS_FILE_TMPDIR/$1"
	grep -E '^# (not ok|# )' "$WORK/killed/default-after-$1/ktap.log" || true
	grep -q '^verdict was PASS$' "$BATS_FILE_TMPDIR/$1"
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
