#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh TREE: does an unpacked, unpatched kernel tree have what the
# ownership rule of swap-cgroup rests on? See MAINTAINERS-notes.md.
#
# TREE  a kernel tree of which mm/ is looked at; nothing is written
#
# A patch can apply cleanly to a base on which it is wrong. So this looks at
# the code, by a semantic patch a property in ci/prerequisites/, and not at
# version numbers. A function that is gone or has another form is refused, as
# is code that spatch cannot parse.
#
# Prints nothing and returns 0 when all is there. Returns 1 with one line that
# says what is missing, in which file and function, and why it matters; 2 for
# a wrong call, or when spatch is missing or fails.
#
# What this cannot decide: a lock that is dropped by a function called with it,
# except for those that the rules name (cluster_reclaim_range() does, and looks
# at the slots again); a lock taken by way of another pointer; whether two
# pointers are one device. That is left to the lockdep assertions of the series
# in the debug kernel.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: prerequisites.sh TREE"
for file in memory swap_cgroup swap_state swapfile vmscan; do
	[ -e "$1/mm/$file.c" ] || usage_die "$1 is not a tree for this series: it has no mm/$file.c"
done
command -v spatch > /dev/null ||
	usage_die "spatch is missing: install the packages coccinelle and python3-dev"
rules=$top/ci/prerequisites
cd "$1"

# callers FUNCTION FILE: FILE and the others that name the function, one a line
callers()
{
	{ echo "$2"; grep -lw "$1" mm/*.c || true; } | sort -u
}

# check RULE FILE...: every line that the rule prints is a refusal
check()
{
	local found
	found=$(spatch --very-quiet --no-includes --no-show-diff --sp-file "$rules/$1.cocci" "${@:2}" 2>&1) ||
		usage_die "spatch cannot run $1.cocci (it needs python3-dev): ${found##*$'\n'}"
	[ -z "$found" ] || die "${found%%$'\n'*}"
}

mapfile -t free < <(callers mem_cgroup_uncharge_swap mm/swapfile.c)
mapfile -t swapin < <(callers mem_cgroup_swapin_uncharge_swap mm/memory.c)
mapfile -t swapout < <(callers mem_cgroup_swapout mm/vmscan.c)

check si-lock mm/swapfile.c
check helpers mm/swapfile.c
check allocation mm/swapfile.c
check duplicate mm/swapfile.c
check free "${free[@]}"
check swapin "${swapin[@]}"
check swapout "${swapout[@]}"
check lookup mm/swap_cgroup.c

# One more caller in a function that does not parse would be passed over.
calls='uncharge_swap|cgroup_swapout|range_free|swap_map_slots|alloc_swap|alloc_range|range_alloc'
unparsed=$(spatch --parse-c "${free[@]}" "${swapin[@]}" "${swapout[@]}" 2>&1 |
	sed -nE "s/^(bad:|BAD:!+)[[:space:]]*(.*($calls).*)/\2/p")
[ -z "$unparsed" ] || die "mm: spatch cannot parse \"${unparsed%%$'\n'*}\": nothing can be said of it"
