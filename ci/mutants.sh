#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh WORK TREE SERIES ACCEL-FILE SMP MEM JOBS [NAME...]: does a broken
# kernel make the tests fail?
#
# WORK        build folder of the base; gets mutants/NAME/ with result and run
# NAME        just these (all of selftests/mutants/*.patch)
#
# Each mutant is a small patch with a header of lines "Key: value":
#   Mistake:   what it does wrong, or which fault of the base it shows
#   On:        before or after the series
#   With:      a delay that widens its window: a file in selftests/mutants/delays
#   Kernel:    the variant that has to catch it: default, lockstat or debug
#   Cgroup:    v1 or v2
#   Caught-by: COLLECTION:PROGRAM CASE, which must print "not ok" (without a
#              case: any of them), or console REGULAR-EXPRESSION, an assertion
#              that must fire
#   Clean:     yes: the delay alone, on the series, must pass that program
#
# Caught means that it builds, boots, the run comes to its end and the named
# test fails or the named assertion fires. Anything else is not a catch.
# Prints the matrix; exits 0 when each mutant was caught. What was done before
# with the same mutant, series and tests is not done again.
. "$(dirname "$0")/lib.sh"

[ $# -ge 7 ] || usage_die "usage: mutants.sh WORK TREE SERIES ACCEL-FILE SMP MEM JOBS [NAME...]"
work=$1 tree=$2 series=$3 accel=$4 smp=$5 mem=$6 jobs=$7
shift 7
from=$top/selftests/mutants

# header FILE KEY
header()
{
	sed -n "/^diff --git\|^--- /q; s/^$2: //p" "$1"
}

# caught RUN CAUGHT-BY: did that boot end, and fail as named?
caught()
{
	grep -q '^guest: end' "$1/console.log" || return 1
	case $2 in
	console\ *)
		grep -qE "${2#console }" "$1/console.log"
		;;
	*)
		jq -e --arg program "${2%% *}" --arg case "${2#"${2%% *}"}" '
			any(.programs[]; .name == $program and
			    any(.cases[]; .result == "not ok" and ($case == "" or " " + .name == $case)))
		' "$1/verdict.json" > /dev/null
		;;
	esac
}

# boot KERNEL RUN PROGRAM CGROUP: the verdict is read from what it leaves
boot()
{
	"$top/ci/test-boot.sh" "$1" "$work/initramfs.cpio" "$accel" "$2" "$4" "$smp" "$mem" "$3" || true
}

# build VARIANT OUT ON PATCH...
build()
{
	local variant=$1 out=$2 on=$3
	shift 3
	# Checked here: a condition switches errexit off.
	"$top/ci/apply.sh" "$tree" "$series" "$on" "$@" || return 1
	"$top/ci/build.sh" "$tree" "$work/$variant/obj" "$out" bzImage "$jobs"
}

# try MUTANT: sets result
try()
{
	local mutant=$1 dir=$2 variant cgroup by on program patches=()
	variant=$(header "$mutant" Kernel) cgroup=$(header "$mutant" Cgroup)
	by=$(header "$mutant" Caught-by) on=$(header "$mutant" On)
	program=$(header "$mutant" Program)
	[ -n "$program" ] || program=${by%% *}
	if [ -n "$(header "$mutant" With)" ]; then
		patches+=("$from/delays/$(header "$mutant" With)")
	fi
	result="does not apply or build"
	build "$variant" "$dir/$variant/$on" "$on" "${patches[@]}" "$mutant" || return 0
	boot "$dir/$variant/$on" "$dir/run/$variant-$on-$cgroup" "$program" "$cgroup"
	result="NOT CAUGHT"
	! caught "$dir/run/$variant-$on-$cgroup" "$by" || result=caught
	if [ "$result" = caught ] && [ "$(header "$mutant" Clean)" = yes ]; then
		result="caught, but the series with the same delay does not build"
		build "$variant" "$dir/clean/$variant/after" after "${patches[@]}" || return 0
		result=caught
		boot "$dir/clean/$variant/after" "$dir/clean/run/$variant-after-$cgroup" "$program" "$cgroup"
		[ "$(jq -r .result "$dir/clean/run/$variant-after-$cgroup/verdict.json")" = PASS ] ||
			result="caught, but the series with the same delay fails too"
	fi
	rm -rf "${dir:?}/$variant" "$dir/clean/$variant"
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd "$from" && find . -maxdepth 1 -name '*.patch' -printf '%P\n' | sed 's/\.patch$//' | sort)
[ "${#names[@]}" -gt 0 ] || die "no mutant in selftests/mutants"

n=0 missed=0
for name in "${names[@]}"; do
	n=$((n + 1)) start=$SECONDS
	mutant=$from/$name.patch dir=$work/mutants/$name
	[ -f "$mutant" ] || usage_die "there is no mutant '$name' in selftests/mutants"
	# The tests are in the series; what they run in and on counts as well.
	delay=$(header "$mutant" With)
	key=$({ cat "$mutant" "$series" ${delay:+"$from/delays/$delay"}
		cat "$work/source" "$top"/kernel-config/* "$top/selftests/plan" \
			"$top/selftests/guest/init" "$top/selftests/guest/run-tests"
		find "$top/patches" -name '*.patch' -print0 | sort -z | xargs -0 cat; } | sha256sum)
	if [ "$(head -n 1 "$dir/result" 2> /dev/null)" != "$key" ]; then
		say "[$n/${#names[@]}] $name: $(header "$mutant" Mistake)"
		rm -rf "$dir"
		mkdir -p "$dir"
		try "$mutant" "$dir"
		printf '%s\n' "$key" "$result" "$((SECONDS - start))" > "$dir/result"
	fi
done
"$top/ci/apply.sh" "$tree" "$series" after

printf '%-34s %-9s %-52s %6s  %s\n' mutant kernel "must be caught by" time result
for name in "${names[@]}"; do
	mutant=$from/$name.patch
	mapfile -t result < "$work/mutants/$name/result"
	printf '%-34s %-9s %-52s %4s s  %s\n' "$name" "$(header "$mutant" Kernel) $(header "$mutant" Cgroup)" \
		"$(header "$mutant" Caught-by | cut -c1-52)" "${result[2]}" "${result[1]}"
	[ "${result[1]}" = caught ] || missed=$((missed + 1))
done
echo "$((${#names[@]} - missed)) caught, $missed not caught"
[ "$missed" = 0 ]
