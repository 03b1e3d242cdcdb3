#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh: what it says and returns, on excerpts with the shape of
# 6.12. Each rule is tried on the real files in ci/checks/prerequisites.bats.

load common

setup()
{
	tree=$tmp/tree
	cp -r "$fixtures/prerequisites" "$tree"
}

# refused FILE FUNCTION TEXT: one line that names them, and has a reason
refused()
{
	run -1 "$top/ci/prerequisites.sh" "$tree"
	has "prerequisites.sh: mm/$1: $2() $3"
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

@test "a tree that has all of it is accepted without a word, and not touched" {
	before=$(digest "$tree")
	run -0 "$top/ci/prerequisites.sh" "$tree"
	is "" "$output"
	is "$before" "$(digest "$tree")"
}

@test "a reservation that is only spoken of in a comment" {
	edit memory.c 's|if (swapcache_prepare(entry, nr_pages))|/* & */ if (busy)|'
	refused memory.c do_swap_page "uncharges swap that swapcache_prepare() has not reserved"
}

@test "si->lock dropped by a function that was called with it" {
	edit swapfile.c '/mem_cgroup_uncharge_swap/ s/.*/spin_unlock(\&si->lock);\n&\nspin_lock(\&si->lock);/'
	refused swapfile.c swap_entry_range_free "drops si->lock"
}

@test "a function that has another name" {
	edit vmscan.c 's/__remove_mapping/__detach_folio/'
	refused vmscan.c __remove_mapping "is not there"
}

@test "a caller in a file that had none" {
	printf 'void x(void)\n{\n\tmem_cgroup_swapin_uncharge_swap(entry, 1);\n}\n' > "$tree/mm/shmem.c"
	refused shmem.c x "uncharges swap that swapcache_prepare() has not reserved"
}

@test "6.14, where the cluster lock has replaced si->lock" {
	cp "$tree/swapfile-6.14.c" "$tree/mm/swapfile.c"
	refused swapfile.c __try_to_reclaim_swap "calls swap_entry_range_free() without si->lock"
}

@test "a caller that spatch cannot parse is not passed over" {
	printf '%s\n' 'void x(void)' '{' 'DECLARE_BITMAP(bits, 64) = { 0 };' \
		'swap_entry_range_free(si, entry, 1);' '}' >> "$tree/mm/swapfile.c"
	run -1 "$top/ci/prerequisites.sh" "$tree"
	has 'spatch cannot parse "swap_entry_range_free(si, entry, 1);"'
}

@test "no spatch, or one that fails: exit status 2 and the packages" {
	program spatch <<< 'echo "no Python library"; exit 255'
	run -2 "$top/ci/prerequisites.sh" "$tree"
	has "python3-dev"
	has "no Python library"
	mkdir "$tmp/none"
	ln -s "$(command -v dirname)" "$tmp/none"
	run -2 env PATH="$tmp/none" "$BASH" "$top/ci/prerequisites.sh" "$tree"
	has "install the packages coccinelle and python3-dev"
}

@test "something that is no kernel tree is a wrong call" {
	run -2 "$top/ci/prerequisites.sh" "$tmp/nowhere"
	has "is not a tree for this series"
	run -2 "$top/ci/prerequisites.sh"
}
