#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh TREE: does an unpacked, unpatched kernel tree have what the
# ownership rule of swap-cgroup rests on? See MAINTAINERS-notes.md.
#
# TREE  a kernel tree of which mm/ is looked at; nothing is written
#
# A patch can apply cleanly to a base on which it is wrong. So this looks at
# the bodies of functions, comments taken out, and not at version numbers.
# Prints nothing and returns 0 when all is there. Returns 1 with one line that
# says what is missing, in which file, and why it matters; 2 for a wrong call.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: prerequisites.sh TREE"
tree=$1
for file in memory.c swap_state.c swapfile.c swap_cgroup.c; do
	[ -e "$tree/mm/$file" ] || usage_die "$tree is not a tree for this series: it has no mm/$file"
done

# missing FILE WHAT WHY
missing()
{
	die "$1: $2: $3"
}

# functions FILE: each line of a function's body as "NAME<tab>LINE", without
# comments. A function begins with a name and a parenthesis in a line that
# starts in the first column, and ends with "}" in the first column.
functions()
{
	awk '
	{
		line = ""
		while ($0 != "") {
			if (comment) {
				if (!(end = index($0, "*/")))
					break
				comment = 0
				$0 = substr($0, end + 2)
			} else if ((start = index($0, "/*"))) {
				line = line substr($0, 1, start - 1)
				comment = 1
				$0 = substr($0, start + 2)
			} else {
				line = line $0
				break
			}
		}
		$0 = line
	}
	!inside && /^[A-Za-z_].*\(/ && !/^#/ {
		name = $0
		sub(/\(.*/, "", name)
		sub(/.*[^A-Za-z0-9_]/, "", name)
		head = 1
	}
	head && /;[ \t]*$/ { head = 0 }		# a declaration
	head && /^\{/ { head = 0; inside = 1 }
	inside { print name "\t" $0 }
	inside && /^\}/ { inside = 0 }
	' "$tree/$1"
}

# body FILE FUNCTION
body()
{
	functions "$1" | awk -F '\t' -v name="$2" '$1 == name { sub(/^[^\t]*\t/, ""); print }'
}

# callers FILE CALLEE: the functions that call it, one a line
callers()
{
	functions "$1" | awk -F '\t' -v callee="$2" '
		$1 != callee && $0 ~ "(^|[^A-Za-z0-9_])" callee "\\(" && !seen[$1]++ { print $1 }'
}

# reserved FILE FUNCTION: it takes the cache reservation, and does so before
# it clears the records of what it swaps in
reserved()
{
	body "$1" "$2" | awk '
		/[^A-Za-z0-9_]swapcache_prepare\(/ { reserved = 1 }
		/mem_cgroup_swapin_uncharge_swap\(/ { cleared = 1; if (!reserved) early = 1 }
		END { exit !(cleared && !early) }'
}

# under_si_lock FILE FUNCTION CALLEE: wherever FUNCTION calls CALLEE, the last
# thing that it did to the lock of the swap device was to take it. A release
# on the way out of the function or to a label does not count.
under_si_lock()
{
	body "$1" "$2" | awk -v callee="$3" '
		released && !/(goto|return|continue|break)/ { held = 0 }
		{ released = 0 }
		/spin_lock\(&(si|p|sis)->lock\)|=[ ]*swap_info_get_cont\(/ { held = 1 }
		/spin_unlock\(&(si|p|sis)->lock\)/ { released = 1 }
		$0 ~ "(^|[^A-Za-z0-9_])" callee "\\(" { called = 1; if (!held) bare = 1 }
		END { exit !(called && !bare) }'
}

check_swapin()
{
	local why="two swapins of one entry would both write its record"

	reserved mm/memory.c do_swap_page || missing mm/memory.c \
		"do_swap_page() does not call swapcache_prepare() before it uncharges the swap" "$why"
	reserved mm/swap_state.c __read_swap_cache_async || missing mm/swap_state.c \
		"__read_swap_cache_async() does not call swapcache_prepare() before it uncharges the swap" "$why"
}

check_free()
{
	local why="a slot could be allocated again before its record is cleared"
	local clearer caller file=mm/swapfile.c

	[ -n "$(callers "$file" mem_cgroup_uncharge_swap)" ] ||
		missing "$file" "nothing calls mem_cgroup_uncharge_swap()" "the free path is not the one that was audited"
	[ -z "$(callers "$file" swap_info_get_cont)" ] ||
		body "$file" swap_info_get_cont | grep 'spin_lock(&p->lock)' > /dev/null ||
		missing "$file" "swap_info_get_cont() does not take si->lock" "$why"

	for clearer in $(callers "$file" mem_cgroup_uncharge_swap); do
		! under_si_lock "$file" "$clearer" mem_cgroup_uncharge_swap || continue
		# It does not take the lock itself: then all its callers must.
		[ -n "$(callers "$file" "$clearer")" ] ||
			missing "$file" "$clearer() clears records without si->lock" "$why"
		for caller in $(callers "$file" "$clearer"); do
			under_si_lock "$file" "$caller" "$clearer" ||
				missing "$file" "$caller() calls $clearer() without si->lock" "$why"
		done
	done
}

check_allocation()
{
	local why="a slot could be handed out while its record is being cleared"
	local caller file=mm/swapfile.c

	callers "$file" scan_swap_map_slots | grep -x get_swap_pages > /dev/null ||
		missing "$file" "get_swap_pages() does not call scan_swap_map_slots()" "the allocator is not the one that was audited"
	for caller in $(callers "$file" scan_swap_map_slots); do
		under_si_lock "$file" "$caller" scan_swap_map_slots ||
			missing "$file" "$caller() allocates slots without si->lock" "$why"
	done
}

check_cluster_lock()
{
	body mm/swapfile.c __swap_duplicate | grep '[^a-z_]lock_cluster_or_swap_info(' > /dev/null ||
		missing mm/swapfile.c "__swap_duplicate() does not take lock_cluster_or_swap_info()" \
			"charge moving excludes a swapin by this lock"
}

check_lookup()
{
	body mm/swap_cgroup.c lookup_swap_cgroup_id | grep -E '![ ]*(ctrl->)?map\b' > /dev/null ||
		missing mm/swap_cgroup.c "lookup_swap_cgroup_id() does not test for a missing map" \
			"a corrupted page table entry makes a host without swap oops, and the series extends this test"
}

check_swapin
check_free
check_allocation
check_cluster_lock
check_lookup
