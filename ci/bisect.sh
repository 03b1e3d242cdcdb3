#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bisect.sh WORK VARIANT ACCEL-FILE: put the patches in one by one. With each that
# changes the kernel, the kernel must build without a new warning, boot, and pass
# this project's tests on cgroup v2, on v1, and with memory cgroups disabled; mm/
# must also build without swap, memory cgroups, or cgroup v1. With each that adds
# tests, all tests must build.
#
# WORK     build folder of the base; gets bisect/N/ (the runs)
# VARIANT  the kernel's configuration
#
# mm/ is compiled with W=1, in folders of its own; its warnings are compared with
# those of the tree before the series, by file and text. A test that is known to fail before
# the fixes (after-only in the plan) runs when all patches of the kernel
# are in. Prints a line a patch; exits 0 when all are fine.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: bisect.sh WORK VARIANT ACCEL-FILE"
need SMP MEM JOBS BASE
work=$1 tree=$1/linux variant=$2 accel=$3
out=$work/bisect
list=$("$top/ci/list.sh" patches after)
[ -n "$list" ] || die "the series has no patch"
mapfile -t patches <<< "$list"
last=$(printf '%s\n' "${patches[@]}" | grep -nv -- -selftests- | tail -n 1 | cut -d: -f1)

# tests N: the tests that have to pass with N patches
tests()
{
	"$top/ci/list.sh" own-plan | awk -v n="$1" -v last="$last" '
		/devmem/ || (/after-only/ && n < last) { next }
		{ print $1 }
	' | sort -u | paste -sd' '
}

# warnings OBJ: what W=1 says of the files of mm/ that have changed since the last
# call, without line numbers; fails if it does not build
warnings()
{
	local log=$out/log
	env -u MAKEFLAGS make -s -C "$tree" "O=$(realpath "$1")" "-j$JOBS" W=1 mm/ > "$log" 2>&1 || return 1
	sed -n 's/^\([^ ]*\.[ch]\):[0-9:]* warning:/\1/p' "$log" | sort -u
}

# new_warnings OPTION N: what is wrong with mm/ without that option, if anything
new_warnings()
{
	local now new
	now=$(warnings "$out/$1") || { echo "$1=n: does not build"; return; }
	[ "$2" != 0 ] || { echo "$now" > "$out/warnings.$1"; return; }
	new=$(comm -13 "$out/warnings.$1" <(echo "$now"))
	[ -z "$new" ] || echo "$1=n: new warning: $(head -n 1 <<< "$new")"
}

rm -rf "$out"
mkdir -p "$out"
"$top/ci/apply.sh" "$tree" before
for option in NONE SWAP MEMCG MEMCG_V1; do
	mkdir "$out/$option"
	grep -v "^CONFIG_$option=" "$work/$variant/obj/.config" > "$out/$option/.config"
	echo "# CONFIG_$option is not set" >> "$out/$option/.config"
	env -u MAKEFLAGS make -s -C "$tree" "O=$(realpath "$out/$option")" olddefconfig prepare > "$out/log" 2>&1 ||
		die "$option=n cannot be configured; see $out/log"
	! grep -q "^CONFIG_$option=y" "$out/$option/.config" || die "Kconfig does not let $option=n"
done

failed=0
declare -A boot
for n in $(seq 0 "${#patches[@]}"); do
	result=
	[ "$n" = 0 ] || say "[$n/${#patches[@]}] ${patches[n - 1]##*/}"
	"$top/ci/apply.sh" "$tree" "$n"
	if [ "$n" -gt 0 ] && [[ ${patches[n - 1]} == *-selftests-* ]]; then
		rm -rf "$out/tests" && mkdir "$out/tests"
		make -C "$tree/tools/testing/selftests/cgroup" "-j$JOBS" OUTPUT="$(realpath "$out/tests")" \
			KHDR_INCLUDES="-isystem $(realpath "$work/headers")/usr/include" > "$out/log" 2>&1 ||
			result="the tests do not build"
		printf '%-70s %s\n' "${patches[n - 1]##*/}" "${result:-the tests build}" >> "$out/result"
		[ -z "$result" ] || failed=$((failed + 1))
		continue
	fi
	for option in NONE SWAP MEMCG MEMCG_V1; do
		wrong=$(new_warnings "$option" "$n")
		[ -z "$wrong" ] || result="${result:+$result; }$wrong"
	done
	[ "$n" -gt 0 ] || continue
	kernel=$out/$n/$variant/after
	if ! "$top/ci/build.sh" "$tree" "$work/$variant/obj" "$kernel" "variant=$variant" state=after; then
		result="does not build"
	else
		for cgroup in v2 v1 off; do
			TESTS=$(tests "$n") env --default-signal=INT,QUIT "$top/ci/test-boot.sh" "$kernel" "$work/initramfs.cpio" "$accel" \
				"$out/$n/$variant-after-$cgroup" "$cgroup" &
			boot[$cgroup]=$!
		done
		for cgroup in v2 v1 off; do
			wait "${boot[$cgroup]}" || result="${result:+$result; }fails on $cgroup"
		done
	fi
	rm -rf "${out:?}/$n/$variant"
	printf '%-70s %s\n' "${patches[n - 1]##*/}" "${result:-builds in all configurations, boots, passes}" >> "$out/result"
	[ -z "$result" ] || failed=$((failed + 1))
done
cat "$out/result"
echo "$((${#patches[@]} - failed)) fine, $failed not"
[ "$failed" = 0 ]
