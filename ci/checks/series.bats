#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What must hold of the series and of the kernels built from it. Needs what
# `make check` built; WORK, TREE and SERIES name it.

setup()
{
	cd "$BATS_TEST_DIRNAME/../.."
	: "${WORK:?}" "${TREE:?}" "${SERIES:?}"
	patches=$(sed 's/[ \t]*#.*//; /^$/d; s|^|patches/|' "$SERIES")
}

# A digest of every file of the tree: its name, mode and content.
digest()
{
	(cd "$TREE" && find . -path ./.pc -prune -o -type f -printf '%m %p\0' | LC_ALL=C sort -z |
		cut -z -d' ' -f2- | xargs -0 sha256sum | sha256sum)
}

map_functions="swap_cgroup_record swap_cgroup_clear lookup_swap_cgroup_id"

@test "record, clear and lookup take no lock and no atomic" {
	# shellcheck disable=SC2086
	run ci/lockless.sh "$WORK/default/after/vmlinux" $map_functions
	echo "$output"
	[ "$status" = 0 ]
}

@test "that check sees the lock of the stock kernel" {
	run ci/lockless.sh "$WORK/default/before/vmlinux" swap_cgroup_record
	echo "$output"
	[ "$status" = 1 ]
}

@test "the series adds locking to the charge mover only" {
	# Added lines that lock or are atomic, outside the tests.
	# shellcheck disable=SC2086
	run awk '
		FNR == 1 { file = "" }
		/^\+\+\+ /  { file = $2 }
		/^@@ /      { where = $0; sub(/^@@[^@]*@@ */, "", where) }
		/^[ +][a-z].*\(/ { where = substr($0, 2) }
		file !~ /selftests/ && /^\+/ && !/^\+[ \t]*(\*|\/\*)/ &&
		/(spin|mutex|rwsem|lock_cluster)[a-z_]*lock|lock_cluster|atomic|xchg|_lock\(/ &&
		!/lockdep_assert|unlock/ { print FILENAME ": " where ": " $0 }
	' $patches
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c . <<< "$output")" = 1 ]
	grep -q 'lock_cluster_or_swap_info' <<< "$output"
}

@test "swap_cgroup_cmpxchg is nowhere in the patched tree" {
	make -s apply STATE=after
	run grep -rn swap_cgroup_cmpxchg "$TREE" --include='*.[chS]' --include='*.rst'
	echo "$output"
	[ "$status" = 1 ]
}

@test "exported symbols are the same before and after" {
	for variant in default debug; do
		cmp "$WORK/$variant/before/Module.symvers" "$WORK/$variant/after/Module.symvers"
		[ -s "$WORK/$variant/before/Module.symvers" ]
	done
}

@test "push and pop restore the tree to the byte" {
	make -s apply STATE=before
	before=$(digest)
	make -s apply STATE=after
	[ "$(digest)" != "$before" ]
	make -s apply STATE=before
	[ "$(digest)" = "$before" ]
}

@test "the series lists every patch, and only those, in order" {
	diff <(printf '%s\n' "$patches") <(find "patches/${SERIES#series/}" -name '*.patch' | LC_ALL=C sort)
}

@test "every patch is git's own, with subject, author and sign-off" {
	for p in $patches; do
		grep -qE '^From [0-9a-f]{40} ' "$p"
		grep -qE '^Subject: \[PATCH' "$p"
		who=$(sed -n 's/^From: //p' "$p" | head -n 1)
		[ -n "$who" ]
		grep -qF "Signed-off-by: $who" "$p"
	done
}

@test "checkpatch --strict finds nothing in any patch" {
	for p in $patches; do
		# The tree's MAINTAINERS covers the new files by their folder, and
		# without git history no commit id can be known.
		run "$TREE/scripts/checkpatch.pl" --strict --no-tree --quiet --ignore FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID "$p"
		echo "$p: $output"
		[ "$status" = 0 ]
	done
}

@test "the test patch is what selftests/mm makes" {
	make -s apply STATE=before
	made=$(ci/testpatch.sh "$TREE" "$SERIES" "$BATS_TEST_TMPDIR")
	same="patches/$(grep selftests-mm- "$SERIES")"
	[ "$(basename "$made")" = "$(basename "$same")" ]
	# Who sends it may put another name on it.
	diff <(grep -vE '^(From|Date|Signed-off-by): |^From ' "$same") \
	     <(grep -vE '^(From|Date|Signed-off-by): |^From ' "$made")
}
