#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# apply.sh on a tiny tree with a series of two patches.

load common

setup()
{
	repo
	tree=$tmp/tree
	mkdir -p "$tree/mm" "$repo/patches/6.12/swap-cgroup"
	seq -f 'line %g' 1 30 > "$tree/mm/swap_cgroup.c"
	seq -f 'text %g' 1 10 > "$tree/mm/swapfile.c"
	patch_of 0001-first mm/swap_cgroup.c 's/line 5$/line five/'
	patch_of 0002-second mm/swapfile.c 's/text 3$/text three/'
	series 0001-first 0002-second
	stock=$(files)
}

# patch_of NAME FILE SED: a patch that does to FILE what SED does
patch_of()
{
	diff -u --label "a/$2" --label "b/$2" "$tree/$2" <(sed "$3" "$tree/$2") \
		> "$repo/patches/6.12/swap-cgroup/$1.patch" || true
}

series()
{
	{
		echo "# base: 6.12.y"
		[ $# = 0 ] || printf '6.12/swap-cgroup/%s.patch\n' "$@"
	} > "$repo/series/6.12"
}

apply()
{
	BASE=6.12 run "$repo/ci/apply.sh" "$tree" "$@"
}

# files: the tree's text
files()
{
	(cd "$tree" && find . -type f -exec sha256sum {} + | sort)
}

@test "after, before: there and back, to the byte" {
	apply after
	is 0 "$status"
	grep -qx 'line five' "$tree/mm/swap_cgroup.c"
	grep -qx 'text three' "$tree/mm/swapfile.c"
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "a state that is there already changes nothing, not even a time" {
	local before
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
	apply after
	before=$(digest "$tree/mm")
	apply after
	is 0 "$status"
	is "$before" "$(digest "$tree/mm")"
}

@test "an empty series has both states, the same" {
	series
	apply after
	is 0 "$status"
	is "$stock" "$(files)"
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "a series that becomes empty" {
	apply after
	series
	apply after
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "offsets are fine" {
	sed -i '1i one line more' "$tree/mm/swap_cgroup.c"
	apply after
	is 0 "$status"
	grep -qx 'line five' "$tree/mm/swap_cgroup.c"
}

@test "a patch that needs fuzz: patch, file and hunk are named, the tree is as it was" {
	# a line of the context is another one; patch would take it with fuzz
	sed -i 's/text 1$/text one/' "$tree/mm/swapfile.c"
	stock=$(files)
	(cd "$tree" && patch --dry-run -p1 -F2 < "$repo/patches/6.12/swap-cgroup/0002-second.patch" > /dev/null)
	apply after
	is 1 "$status"
	has 0002-second.patch
	has mm/swapfile.c
	has "patch failed: mm/swapfile.c:1"
	has_not 0001-first
	is "$stock" "$(files)"
	is "" "$(find "$tree" -name '*.rej' -o -name '*.orig')"
}

@test "a patch of a file that is not there" {
	rm "$tree/mm/swapfile.c"
	stock=$(files)
	apply after
	is 1 "$status"
	has 0002-second.patch
	is "$stock" "$(files)"
}

@test "a patch that is not there" {
	series 0001-first 0003-third
	apply after
	[ "$status" != 0 ]
	has 0003-third
	is "$stock" "$(files)"
}

@test "an edited patch is taken out and put in again" {
	apply after
	sed -i 's/line five/line FIVE/' "$repo/patches/6.12/swap-cgroup/0001-first.patch"
	apply after
	is 0 "$status"
	grep -qx 'line FIVE' "$tree/mm/swap_cgroup.c"
	grep -qx 'text three' "$tree/mm/swapfile.c"
	apply before
	is "$stock" "$(files)"
}

@test "an edited patch that does not apply: the tree is as it was" {
	local before
	apply after
	before=$(files)
	sed -i 's/ line 4$/ line four/' "$repo/patches/6.12/swap-cgroup/0001-first.patch"
	apply after
	is 1 "$status"
	has 0001-first.patch
	is "$before" "$(files)"
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "an edited patch does not stop the way back" {
	apply after
	sed -i 's/line five/line FIVE/' "$repo/patches/6.12/swap-cgroup/0001-first.patch"
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "renamed patches, as a new format-patch makes them" {
	apply after
	cd "$repo/patches/6.12/swap-cgroup"
	mv 0001-first.patch 0001-better-name.patch
	series 0001-better-name 0002-second
	apply after
	is 0 "$status"
	grep -qx 'line five' "$tree/mm/swap_cgroup.c"
	apply before
	is "$stock" "$(files)"
}

@test "a patch added to the series goes on top" {
	apply after
	patch_of 0003-third mm/swapfile.c 's/text 9$/text nine/'
	series 0001-first 0002-second 0003-third
	apply after
	is 0 "$status"
	grep -qx 'text nine' "$tree/mm/swapfile.c"
	apply before
	is "$stock" "$(files)"
}

@test "one more patch on top, exchanged for another: the series below stays in" {
	local before
	patch_of 0001-mutant mm/swapfile.c 's/text 9$/text nine/'
	patch_of 0002-mutant mm/swapfile.c 's/text 8$/text eight/'
	mv "$repo"/patches/6.12/swap-cgroup/*-mutant.patch "$tmp"
	apply after "$tmp/0001-mutant.patch"
	is 0 "$status"
	grep -qx 'text nine' "$tree/mm/swapfile.c"
	before=$(stat -c %y "$tree/mm/swap_cgroup.c")
	apply after "$tmp/0002-mutant.patch"
	is 0 "$status"
	grep -qx 'text eight' "$tree/mm/swapfile.c"
	grep -qx 'text 9' "$tree/mm/swapfile.c"
	is "$before" "$(stat -c %y "$tree/mm/swap_cgroup.c")"
	apply before
	is "$stock" "$(files)"
}

@test "one more patch on top that does not apply: the old one is back in" {
	local before
	patch_of 0001-mutant mm/swapfile.c 's/text 9$/text nine/'
	patch_of 0002-mutant mm/swapfile.c 's/text 8$/text eight/'
	mv "$repo"/patches/6.12/swap-cgroup/*-mutant.patch "$tmp"
	sed -i 's/text 7/text seven/' "$tmp/0002-mutant.patch"
	apply after "$tmp/0001-mutant.patch"
	before=$(files)
	apply after "$tmp/0002-mutant.patch"
	is 1 "$status"
	has 0002-mutant.patch
	is "$before" "$(files)"
	apply before
	is "$stock" "$(files)"
}

@test "a hand-made change under a patch: refused, and nothing is lost" {
	local before
	apply after
	sed -i 's/line five/line five by hand/' "$tree/mm/swap_cgroup.c"
	before=$(files)
	apply before
	is 1 "$status"
	has mm/swap_cgroup.c
	has "hand-made change"
	grep -qx 'line five by hand' "$tree/mm/swap_cgroup.c"
	is "$before" "$(files)"
	sed -i 's/line five by hand/line five/' "$tree/mm/swap_cgroup.c"
	apply before
	is 0 "$status"
	is "$stock" "$(files)"
}

@test "a move that was killed is finished, without a loss" {
	apply after
	apply before
	# half of it is written, the index is not
	touch "$tree.git/moving" "$tree.git/index.lock"
	sed -i 's/line 5$/line five/' "$tree/mm/swap_cgroup.c"
	apply after
	is 0 "$status"
	grep -qx 'text three' "$tree/mm/swapfile.c"
	apply before
	is "$stock" "$(files)"
}

@test "a first call that was killed begins anew" {
	mkdir -p "$tree.git.new"
	apply after
	is 0 "$status"
	grep -qx 'line five' "$tree/mm/swap_cgroup.c"
}

@test "a hand-made change elsewhere stays" {
	echo "int x;" > "$tree/mm/other.c"
	apply after
	echo "int y;" >> "$tree/mm/other.c"
	apply before
	is 0 "$status"
	is "int x; int y;" "$(paste -sd' ' "$tree/mm/other.c")"
}

@test "push and pop: one patch at a time" {
	apply push
	is 0 "$status"
	grep -qx 'line five' "$tree/mm/swap_cgroup.c"
	grep -qx 'text 3' "$tree/mm/swapfile.c"
	apply push
	grep -qx 'text three' "$tree/mm/swapfile.c"
	apply pop
	grep -qx 'text 3' "$tree/mm/swapfile.c"
	apply after
	grep -qx 'text three' "$tree/mm/swapfile.c"
	apply before
	is "$stock" "$(files)"
}

@test "push and pop at an end: said, exit status 2" {
	apply pop
	is 2 "$status"
	[[ $output != *" failed: "* ]]
	apply after
	apply push
	is 2 "$status"
	[[ $output != *" failed: "* ]]
}

@test "push takes no fuzz either" {
	sed -i 's/line 3$/line three/' "$tree/mm/swap_cgroup.c"
	stock=$(files)
	apply push
	[ "$status" != 0 ]
	is "$stock" "$(files)"
}

@test "a user's git settings do not count" {
	mkdir "$tmp/home"
	printf '[core]\n\tautocrlf = true\n' > "$tmp/home/.gitconfig"
	HOME=$tmp/home apply after
	is 0 "$status"
	HOME=$tmp/home apply before
	is "$stock" "$(files)"
}

@test "an unknown state: exit status 2, its name and what is allowed" {
	apply sideways
	is 2 "$status"
	has "'sideways'"
	has "before, after"
	is "$stock" "$(files)"
}
