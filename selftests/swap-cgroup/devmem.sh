#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# devmem.sh WORK ACCEL-FILE: exit with a page table entry that was
# overwritten through /dev/mem, before and after the series.
#
# WORK  build folder of the base, with both kernels of the variant devmem; gets
#       devmem/ with the runs
#
# Before, a slot beyond the end of the swap area must end in an oops. After, the
# test must pass: the kernel says that the entry is bad, which the verdict of a
# boot would count as a failure. Prints TAP; exits 0 when both are so.
. "$(dirname "$0")/../../ci/lib.sh"

[ $# = 2 ] || usage_die "usage: devmem.sh WORK ACCEL-FILE"
need SMP MEM
# shellcheck disable=SC2034 # of boot_kernel
work=$1 accel=$2
. "$top/ci/lib-broken.sh"
program=local:swap_bad_entry failed=0

# result N STATE WHAT COMMAND...: one line of TAP
result()
{
	local n=$1 state=$2 what=$3
	shift 3
	if "$@"; then
		echo "ok $n - $state: $what"
	else
		echo "not ok $n - $state: $what"
		echo "# all of it is in $work/devmem/devmem-$state-v2"
		failed=1
	fi
}

# all_passed RUN: each case, the end, and no oops
all_passed()
{
	grep -q '^guest: end' "$1/console.log" && ! grep -q 'Oops' "$1/console.log" &&
		jq -e --arg program "$program" 'any(.programs[]; .name == $program and
			(.cases | length == 2 and all(.result == "ok")))' "$1/verdict.json" > /dev/null
}

echo "1..2"
for state in before after; do
	boot_kernel "$work/devmem/$state" "$work/devmem/devmem-$state-v2" v2 "$program" >&2
done
result 1 before "a slot beyond the end is an oops" failed_as "$work/devmem/devmem-before-v2" \
	"$program bad_entry.beyond_the_end.exit" "console BUG: (unable to handle page fault|kernel NULL pointer)"
result 2 after "each bad entry is said to be one" all_passed "$work/devmem/devmem-after-v2"
[ "$failed" = 0 ]
