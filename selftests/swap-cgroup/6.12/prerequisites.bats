#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh accepts the stock tree, and refuses copies of its files in
# which one of the things that the ownership rule rests on was undone. TREE names
# the tree.

bats_require_minimum_version 1.5.0

setup_file()
{
	cd "$BATS_TEST_DIRNAME/../../.." || exit
	: "${TREE:?}" "${BASE:?}"
	ci/apply.sh "$TREE" before
	mkdir "$BATS_FILE_TMPDIR/mm"
	(cd "$TREE/mm" && cp $(grep -lE 'swapin_uncharge|uncharge_swap|cgroup_swapout|lookup_swap_cgroup' ./*.c) \
		"$BATS_FILE_TMPDIR/mm")
}

setup()
{
	cd "$BATS_TEST_DIRNAME/../../.." || exit
	export TOPIC=swap-cgroup
	tree=$BATS_TEST_TMPDIR/tree
	mkdir "$tree"
	cp -r "$BATS_FILE_TMPDIR/mm" "$tree"
}

# refused FILE FUNCTION TEXT SED: with SED done to FUNCTION
refused()
{
	local file=$tree/mm/$1 was=$BATS_FILE_TMPDIR/mm/$1
	sed -i "/^[a-z].*\\<$2(.*[^;]\$/,/^}/ { $4 }" "$file"
	! cmp "$was" "$file" || return
	run -1 ci/prerequisites.sh "$tree"
	echo "$output"
	[[ "$output" == "prerequisites.sh: mm/$1: $2() $3: "* ]]
	[ "${#lines[@]}" = 1 ]
}

drop='spin_unlock(\&si->lock);'
take='spin_lock(\&si->lock);'

@test "the stock tree is accepted" {
	run -0 ci/prerequisites.sh "$tree"
	[ -z "$output" ]
}

@test "free: si->lock dropped around the uncharge" {
	refused swapfile.c swap_entry_range_free "drops si->lock" \
		"s/mem_cgroup_uncharge_swap(.*/$drop & $take/"
}

@test "free: si->lock dropped and taken again before the uncharge" {
	refused swapfile.c swap_entry_range_free "drops si->lock" \
		"s/mem_cgroup_uncharge_swap(.*/$drop $take &/"
}

@test "free: a folio's entries without si->lock" {
	refused swapfile.c put_swap_folio "calls swap_entry_range_free() without si->lock" \
		's/spin_lock(&si->lock)/spin_lock(\&ci->lock)/'
}

@test "free: after si->lock was dropped" {
	refused swapfile.c __try_to_reclaim_swap "calls swap_entry_range_free() after it has dropped si->lock" \
		"s/swap_entry_range_free/$drop &/"
}

@test "free: the slot cache's entries, si->lock dropped in the loop" {
	refused swapfile.c swapcache_free_entries "calls swap_entry_range_free() after it has dropped si->lock" \
		's/prev = p;/& spin_unlock(\&p->lock);/'
}

@test "free: the slot cache's entries, si->lock never taken" {
	refused swapfile.c swap_info_get_cont "is not there, or does not take si->lock" 's/spin_lock(&p->lock)//'
}

@test "allocation: si->lock dropped around cluster_alloc_swap()" {
	refused swapfile.c scan_swap_map_slots "calls cluster_alloc_swap() after it has dropped si->lock" \
		"s/return cluster_alloc_swap(.*/{ $drop n_ret = cluster_alloc_swap(si, usage, nr, slots, order); $take return n_ret; }/"
}

@test "allocation: si->lock dropped around swap_range_alloc()" {
	refused swapfile.c cluster_alloc_range "calls swap_range_alloc() after it has dropped si->lock" \
		"s/swap_range_alloc(.*/$drop & $take/"
}

@test "allocation: si->lock not taken again after a break" {
	refused swapfile.c scan_swap_map_slots "calls swap_range_alloc() after it has dropped si->lock" \
		'/cond_resched();/ { n; s/spin_lock(.*// }'
}

@test "allocation: si->lock dropped between the test and the set of the byte" {
	refused swapfile.c scan_swap_map_slots \
		"does not test the byte of a slot under the si->lock under which it sets it" "s/memset(/$drop $take &/"
}

@test "allocation: the scan that finds a free slot does not take si->lock" {
	refused swapfile.c swap_offset_available_and_locked "is not there, or does not take si->lock" \
		'0,/spin_lock/ s/spin_lock(.*//'
}

@test "allocation: by a caller without si->lock" {
	refused swapfile.c get_swap_page_of_type "calls scan_swap_map_slots() without si->lock" "s/spin_lock(.*//"
}

@test "allocation: a caller that has another name" {
	refused swapfile.c get_swap_pages "is not there, or does not call scan_swap_map_slots()" \
		's/get_swap_pages/alloc_swap_pages/'
}

@test "swapin: without the reservation" {
	refused memory.c do_swap_page "uncharges swap that swapcache_prepare() has not reserved" \
		's/swapcache_prepare/swap_duplicate/'
}

@test "swapin: after a reservation that failed" {
	refused memory.c do_swap_page "uncharges swap that swapcache_prepare() has not reserved" \
		'/swapcache_prepare/,/}/ s/goto out_page;//'
}

@test "swapin through the swap cache: uncharge before the reservation" {
	refused swap_state.c __read_swap_cache_async "uncharges swap that swapcache_prepare() has not reserved" \
		's/err = swapcache_prepare/mem_cgroup_swapin_uncharge_swap(entry, 1); &/'
}

@test "swapin: not under the lock that charge moving takes" {
	refused swapfile.c __swap_duplicate "does not take lock_cluster_or_swap_info()" \
		's/= lock_cluster_or_swap_info(/= lock_cluster(/'
}

@test "swap-out: recorded after the entry has left the swap cache" {
	refused vmscan.c __remove_mapping "calls put_swap_folio() before mem_cgroup_swapout()" \
		'/mem_cgroup_swapout/d; s/put_swap_folio(.*/& mem_cgroup_swapout(folio, swap);/'
}

@test "lookup: without a test for a missing map" {
	refused swap_cgroup.c lookup_swap_cgroup_id "does not test for a missing map" '/!ctrl->map/,+1d'
}
