#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh: a tree without one of the things that the ownership rule
# rests on is refused, with the one that is missing. The fixture has the shape
# of 6.12; each test takes one thing out of a copy of it.

load common

setup()
{
	tree=$tmp/tree
	cp -r "$fixtures/prerequisites" "$tree"
}

prerequisites()
{
	run -"$1" "$top/ci/prerequisites.sh" "$tree"
}

# refused FILE TEXT: one line that names both, and has a reason
refused()
{
	prerequisites 1
	has "prerequisites.sh: $1: "
	has "$2"
	is 1 "${#lines[@]}"
	[[ "$output" =~ :\ [a-z].*:\ [a-z] ]]
}

# edit FILE SED...: the file must differ afterwards
edit()
{
	local file=$tree/mm/$1
	shift
	cp "$file" "$tmp/was"
	sed -i "$@" "$file"
	! cmp -s "$tmp/was" "$file"
}

@test "a tree that has all of it is accepted without a word" {
	prerequisites 0
	is "" "$output"
}

@test "nothing is written to the tree" {
	before=$(digest "$tree")
	prerequisites 0
	is "$before" "$(digest "$tree")"
}

@test "synchronous swapin without the cache reservation" {
	edit memory.c 's/swapcache_prepare/swap_duplicate/'
	refused mm/memory.c "do_swap_page() does not call swapcache_prepare()"
}

@test "a reservation that is only spoken of in a comment" {
	edit memory.c 's|if (swapcache_prepare(entry, nr_pages))|/* & */ if (busy)|'
	refused mm/memory.c "do_swap_page()"
}

@test "a reservation in another function" {
	edit memory.c -e 's/swapcache_prepare/swap_duplicate/' \
		-e '$a\\nstatic int other(void)\n{\n\treturn swapcache_prepare(entry, 1);\n}'
	refused mm/memory.c "do_swap_page()"
}

@test "a reservation that comes after the uncharge" {
	edit memory.c -e '/swapcache_prepare/i\\t\t\tmem_cgroup_swapin_uncharge_swap(entry, nr_pages);'
	refused mm/memory.c "do_swap_page()"
}

@test "swapin through the swap cache without the reservation" {
	edit swap_state.c '/swapcache_prepare/d'
	refused mm/swap_state.c "__read_swap_cache_async()"
}

@test "a folio's entries freed without si->lock" {
	edit swapfile.c '/^void put_swap_folio/,/^}/ s/spin_lock(&si->lock)/spin_lock(\&ci->lock)/'
	refused mm/swapfile.c "put_swap_folio() calls swap_entry_range_free() without si->lock"
}

@test "entries freed after si->lock has been dropped" {
	edit swapfile.c '/^static int __try_to_reclaim_swap/,/^}/ {
		/swap_entry_range_free/d
		/return ret/i\	swap_entry_range_free(si, entry, nr_pages);
	}'
	refused mm/swapfile.c "__try_to_reclaim_swap() calls swap_entry_range_free() without si->lock"
}

@test "the slot cache's entries freed without si->lock" {
	edit swapfile.c '/^static struct swap_info_struct \*swap_info_get_cont/,/^}/ s/spin_lock(&p->lock)/;/'
	refused mm/swapfile.c "swap_info_get_cont() does not take si->lock"
}

@test "slots allocated without si->lock" {
	edit swapfile.c '/^int get_swap_pages/,/^}/ { /spin_lock/d; /spin_unlock/d; }'
	refused mm/swapfile.c "get_swap_pages() allocates slots without si->lock"
}

@test "a slot for hibernation allocated without si->lock" {
	edit swapfile.c '/^swp_entry_t get_swap_page_of_type/,/^}/ s/spin_lock(&si->lock)/;/'
	refused mm/swapfile.c "get_swap_page_of_type() allocates slots without si->lock"
}

@test "a swapin that charge moving cannot exclude" {
	edit swapfile.c '/^static int __swap_duplicate/,/^}/ s/lock_cluster_or_swap_info(/lock_cluster(/'
	refused mm/swapfile.c "__swap_duplicate()"
}

@test "a lookup that does not test for a missing map" {
	edit swap_cgroup.c '/!ctrl->map/,+1d'
	refused mm/swap_cgroup.c "lookup_swap_cgroup_id()"
}

@test "6.14, where the cluster lock has replaced si->lock" {
	cp "$tree/swapfile-6.14.c" "$tree/mm/swapfile.c"
	refused mm/swapfile.c "without si->lock"
}

@test "something that is no kernel tree is a wrong call" {
	run -2 "$top/ci/prerequisites.sh" "$tmp/nowhere"
	has "is not a tree for this series"
	run -2 "$top/ci/prerequisites.sh"
}
