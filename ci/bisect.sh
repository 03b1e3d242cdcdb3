#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bisect.sh WORK TREE SERIES VARIANT ACCEL-FILE SMP MEM JOBS: put the patches in
# one by one; each time the kernel must build without a new warning, boot, and
# pass this project's tests on cgroup v2, on v1, and with memory cgroups disabled.
#
# WORK     build folder of the base; gets bisect/N/ (the runs)
# VARIANT  the kernel's configuration
#
# What changed is compiled with W=1; its warnings are compared with those of
# the tree before the series, by file and text. A test that is known to fail before
# the fixes (after-only in selftests/plan) runs when all patches are in.
# Prints a line a patch; exits 0 when all are fine.
. "$(dirname "$0")/lib.sh"

[ $# = 8 ] || usage_die "usage: bisect.sh WORK TREE SERIES VARIANT ACCEL-FILE SMP MEM JOBS"
work=$1 tree=$2 series=$3 variant=$4 accel=$5 smp=$6 mem=$7 jobs=$8
obj=$work/$variant/obj out=$work/bisect
mapfile -t patches < <(sed 's/[ \t]*#.*//; /^$/d' "$series")

# tests N: the tests that have to pass with N patches
tests()
{
	awk -v n="$1" -v all="${#patches[@]}" '
		$1 !~ /^(cgroup:test_swap|stress:)/ { next }
		/after-only/ && n < all         { next }
		{ print $1 }
	' "$top/selftests/plan" | paste -sd' '
}

# The objects of the files under mm/ that the series touches.
objects=$(sed -n 's|^+++ b/\(mm/[a-z0-9_-]*\)\.c$|\1.o|p' "${patches[@]/#/$top/patches/}" | sort -u)

# warnings: what W=1 says of them, without line numbers
warnings()
{
	local o
	for o in $objects; do
		rm -f "$obj/$o"
	done
	# shellcheck disable=SC2086 # one word an object
	{ env -u MAKEFLAGS make -s -C "$tree" "O=$(realpath "$obj")" "-j$jobs" W=1 $objects 2>&1 || true; } |
		sed -n 's/^\([^ ]*\.[ch]\):[0-9:]* \(warning\|error\):/\1/p' | sort -u
}

rm -rf "$out"
mkdir -p "$out"
"$top/ci/apply.sh" "$tree" "$series" before
"$top/ci/build.sh" "$tree" "$obj" "$out/0/$variant/after" bzImage "$jobs"
warnings > "$out/warnings"

failed=0
declare -A boot
for n in $(seq "${#patches[@]}"); do
	say "[$n/${#patches[@]}] ${patches[n - 1]##*/}"
	result=
	"$top/ci/apply.sh" "$tree" "$series" "$n"
	warnings > "$out/warnings.$n"
	new=$(comm -13 "$out/warnings" "$out/warnings.$n")
	[ -z "$new" ] || result="new warning: $(head -n 1 <<< "$new")"
	kernel=$out/$n/$variant/after
	if ! "$top/ci/build.sh" "$tree" "$obj" "$kernel" bzImage "$jobs"; then
		result="does not build"
	else
		# For a call trace: decode-trace.sh looks for the tree beside the variant.
		ln -sfn "$(realpath "$tree")" "$out/$n/linux"
		for cgroup in v2 v1 off; do
			"$top/ci/test-boot.sh" "$kernel" "$work/initramfs.cpio" "$accel" \
				"$out/$n/$variant-after-$cgroup" "$cgroup" "$smp" "$mem" "$(tests "$n")" &
			boot[$cgroup]=$!
		done
		for cgroup in v2 v1 off; do
			wait "${boot[$cgroup]}" || result="fails on $cgroup"
		done
	fi
	rm -rf "${out:?}/$n/$variant"
	printf '%-70s %s\n' "${patches[n - 1]##*/}" "${result:-builds, boots, passes}" >> "$out/result"
	[ -z "$result" ] || failed=$((failed + 1))
done
cat "$out/result"
echo "$((${#patches[@]} - failed)) fine, $failed not"
[ "$failed" = 0 ]
