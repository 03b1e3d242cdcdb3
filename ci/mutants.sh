#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh WORK ACCEL-FILE [NAME...]: does a broken series make the tests fail?
#
# WORK  build folder of the base; gets mutants/NAME/ with result and runs
# NAME  just these (all of selftests/TOPIC/BASE/mutants/)
#
# Each mutant is a patch on top of the series, one plausible mistake, with a
# header of lines "Key: value":
#   Mistake:   what it does wrong
#   With:      a delay that widens its window: a file in delays/ beside it
#   Kernel:    the variant that has to catch it: default or debug
#   Cgroup:    v1, v2 or off
#   Caught-by: COLLECTION:PROGRAM [CASE], which must print "not ok", or
#              console EXTENDED-REGEX, an assertion that must fire; of several
#              such lines each must hold, each program in a boot of its own
#   Program:   what to run, where no Caught-by line names a program
#
# Caught means that it builds, boots, the run comes to its end and the named
# test fails or the named assertion fires. Anything else is not a catch. One
# with a delay must be caught in each of five boots, and the series with the
# same delay must pass in each of five.
# Prints the matrix; exits 0 when each mutant was caught. What was done before
# with the same mutant, series, tests and machine, and was caught, is not done again.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: mutants.sh WORK ACCEL-FILE [NAME...]"
need SMP MEM JOBS BASE
work=$1 tree=$1/linux accel=$2
shift 2
. "$(dirname "$0")/lib-broken.sh"
race_boots=5

# header FILE KEY
header()
{
	sed -n "/^diff --git\|^--- /q; s/^$2: //p" "$1"
}

# delay_of MUTANT: the patch that its header names, if any
delay_of()
{
	local delay
	delay=$(header "$1" With)
	echo "${delay:+$(dirname "$1")/delays/$delay}"
}

# inputs FILE...: a digest of what a result with these files depends on
inputs()
{
	# The tests are in the series; what they run in and on counts as well.
	{ echo "$SMP $MEM $(field "$accel" accel) ${TOPIC:-}"
	  "$top/ci/list.sh" plan
	  cat "$@" "$top/series/$BASE" "$work/source" "$top"/kernel-config/* \
		"$top/selftests/guest/init" "$top/selftests/guest/run-tests"
	  find "$top/patches" -name '*.patch' -print0 | sort -z | xargs -0 cat; } | sha256sum
}

# clean DELAY VARIANT CGROUP PROGRAMS: how often the series with that delay (a
# patch) passes, of $race_boots; nothing when it does not build.
clean()
{
	local delay=$1 variant=$2 cgroup=$3 programs=$4 n good=0 key run
	local name=${delay##*/} kernel
	kernel=$work/mutants/clean/${name%.patch}-$variant
	run=$kernel/$cgroup-${programs//[ :]/-}
	key=$(inputs "$delay")
	if [ "$(cat "$kernel/key" 2> /dev/null)" != "$key" ]; then
		rm -rf "$kernel"
		build_kernel "$variant" after "$kernel" "$delay" >&2 || return 0
		echo "$key" > "$kernel/key"
	fi
	if [ "$(cat "$run/good" 2> /dev/null)" != "$race_boots" ]; then
		for n in $(seq "$race_boots"); do
			boot_kernel "$kernel/$variant/after" "$run/$n/$variant-after-$cgroup" "$cgroup" "$programs" >&2
			! passed "$run/$n/$variant-after-$cgroup" || good=$((good + 1))
		done
		echo "$good" > "$run/good"
	fi
	cat "$run/good"
}

# try MUTANT DIR: prints the result
try()
{
	local mutant=$1 dir=$2 variant cgroup by programs program must seen delay boots=1 n good=0 run
	variant=$(header "$mutant" Kernel) cgroup=$(header "$mutant" Cgroup)
	mapfile -t by < <(header "$mutant" Caught-by)
	programs=$({ header "$mutant" Program; printf '%s\n' "${by[@]}"; } |
		sed -n 's/^\([a-z]*:[^ ]*\).*/\1/p' | awk '!seen[$0]++' | paste -sd' ')
	delay=$(delay_of "$mutant")
	[ -z "$delay" ] || boots=$race_boots
	if ! build_kernel "$variant" after "$dir" ${delay:+"$delay"} "$mutant" >&2; then
		echo "does not apply or build"
		return
	fi
	# Where the console alone tells, an oops is the end of the boot: the task
	# may have died with a folio locked, and the test would wait for that folio.
	printf '%s\n' "${by[@]}" | grep -qv '^console ' ||
		printf 'oops=panic ' >> "$dir/$variant/after/boot-parameters"
	for n in $(seq "$boots"); do
		seen=yes
		# Each has a kernel to itself: what one breaks is not the other's.
		for program in $programs; do
			run=$dir/$n-${program#*:}/$variant-after-$cgroup
			mapfile -t must < <(printf '%s\n' "${by[@]}" | grep -E "^(console|$program)( |\$)")
			boot_kernel "$dir/$variant/after" "$run" "$cgroup" "$program" >&2
			failed_as "$run" "${must[@]}" || { seen=; break; }
		done
		[ -z "$seen" ] || good=$((good + 1))
	done
	rm -rf "${dir:?}/$variant"
	if [ "$good" != "$boots" ]; then
		echo "NOT CAUGHT: $good of $boots"
	elif [ -z "$delay" ]; then
		echo caught
	else
		n=$(clean "$delay" "$variant" "$cgroup" "$programs")
		if [ "$n" = "$boots" ]; then
			echo "caught $good of $boots, clean $n of $boots"
		else
			echo "CLEAN SERIES FAILS: passes ${n:-no build} of $boots"
		fi
	fi
}

topics=$("$top/ci/list.sh" topics)
mapfile -t mutants < <(for topic in $topics; do
	from=$top/selftests/$topic/$BASE/mutants
	[ "${TOPIC:-$topic}" != "$topic" ] || [ ! -d "$from" ] || find "$from" -maxdepth 1 -name '*.patch' | sort
done)
if [ $# -gt 0 ]; then
	all=("${mutants[@]}") mutants=()
	for name; do
		mutant=$(printf '%s\n' "${all[@]}" | grep "/$name\.patch$") ||
			usage_die "there is no mutant '$name' for base $BASE${TOPIC:+ and topic $TOPIC}"
		mutants+=("$mutant")
	done
fi
[ "${#mutants[@]}" -gt 0 ] || die "no mutant for base $BASE${TOPIC:+ and topic $TOPIC}"

n=0 caught=0 production=0
for mutant in "${mutants[@]}"; do
	n=$((n + 1)) start=$SECONDS name=$(basename "$mutant" .patch)
	dir=$work/mutants/$name
	delay=$(delay_of "$mutant")
	key=$(inputs "$mutant" ${delay:+"$delay"})
	# What has failed is tried again.
	if [ "$(head -n 1 "$dir/result" 2> /dev/null)" != "$key" ] ||
	   [[ $(sed -n 2p "$dir/result") != caught* ]]; then
		say "[$n/${#mutants[@]}] $name: $(header "$mutant" Mistake)"
		rm -rf "$dir"
		mkdir -p "$dir"
		result=$(try "$mutant" "$dir")
		printf '%s\n' "$key" "$result" "$((SECONDS - start))" > "$dir/result"
	fi
done
"$top/ci/apply.sh" "$tree" after

printf '%-30s %-12s %-50s %6s  %s\n' mutant kernel "must be caught by" time result
for mutant in "${mutants[@]}"; do
	name=$(basename "$mutant" .patch)
	mapfile -t result < "$work/mutants/$name/result"
	printf '%-30s %-12s %-50s %4s s  %s\n' "$name" "$(header "$mutant" Kernel) $(header "$mutant" Cgroup)" \
		"$(header "$mutant" Caught-by | head -n 1 | cut -c1-50)" "${result[2]}" "${result[1]}"
	if [[ ${result[1]} == caught* ]]; then
		caught=$((caught + 1))
		[ "$(header "$mutant" Kernel)" != default ] || production=$((production + 1))
	fi
done
echo "$caught of ${#mutants[@]} caught, $production of them in the default kernel"
[ "$caught" = "${#mutants[@]}" ]
