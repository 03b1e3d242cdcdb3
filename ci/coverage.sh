#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh WORK ACCEL-FILE: which lines and branches of the functions that the
# series changes do this project's tests execute?
#
# WORK  build folder of the base, with the kernel gcov configured; gets gcov/runs/
#
# Only the objects under mm/ that the series touches count (by gcov); the tests are
# those of v2, v1 and a boot with memory cgroups disabled. Prints the table of
# coverage.pl; fails when a boot does not pass.
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || usage_die "usage: coverage.sh WORK ACCEL-FILE"
need SMP MEM JOBS BASE
work=$1 tree=$1/linux accel=$2
kernel=$work/gcov/after runs=$(realpath -m "$work/gcov/runs")
mapfile -t sources < <("$top/ci/list.sh" patches after | sed "s|^|$top/patches/|" |
	xargs sed -n 's|^+++ b/\(mm/.*\.c\)$|\1|p' | sort -u)
mapfile -t profile < <(printf '%s\n' "${sources[@]}" | sed 's|.*/\(.*\)\.c$|GCOV_PROFILE_\1.o=y|')

rm -rf "$runs"
mkdir -p "$runs/before"
"$top/ci/apply.sh" "$tree" before
(cd "$tree" && cp --parents "${sources[@]}" "$runs/before")
"$top/ci/apply.sh" "$tree" after
env "${profile[@]}" "$top/ci/build.sh" "$tree" "$work/gcov/obj" "$kernel" variant=gcov state=after

tests=$("$top/ci/list.sh" own-plan | awk '!/devmem/ { print $1 }' | sort -u | paste -sd' ')
for cgroup in v2 v1 off; do
	TESTS=$tests "$top/ci/test-boot.sh" "$kernel" "$work/initramfs.cpio" "$accel" \
		"$runs/gcov-after-$cgroup" "$cgroup"
	mkdir "$runs/$cgroup"
	tar -x -C "$runs/$cgroup" -f "$runs/gcov-after-$cgroup/gcov.tar"
	for source in "${sources[@]}"; do
		cp "$work/gcov/obj/${source%.c}.gcno" "$runs/$cgroup"
		# The objects' folder is in the name: gcov wants both files side by side.
		find "$runs/$cgroup" -path "*/${source%.c}.gcda" -exec mv -t "$runs/$cgroup" {} +
	done
done
"$top/ci/coverage.pl" "$runs" "$tree" "${sources[@]}"
