#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What must hold of the series and of the kernels built from it. Needs what
# `make check` built; WORK, TREE and SERIES name it.

# shellcheck disable=SC2086 # the lists are one word a file

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}" "${TREE:?}" "${SERIES:?}"
	# git writes patches here, which nobody sends.
	export GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@example.org
	export GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@example.org
	patches=$(sed 's/[ \t]*#.*//; /^$/d; s|^|patches/|' "$SERIES")
}

# A digest of every file of the tree: its name, mode and content.
digest()
{
	(cd "$TREE" && {
		find . -path ./.pc -prune -o -printf '%y %m %p %l\n' | LC_ALL=C sort
		find . -path ./.pc -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum)
}

# A patch without who wrote it and when.
unnamed()
{
	sed '1,/^Subject: /{/^Subject: /!d}; /^Signed-off-by: /d' "$1"
}

map_functions="swap_cgroup_record swap_cgroup_clear lookup_swap_cgroup_id __lookup_swap_cgroup"

@test "each fix applies alone" {
	touched=$(sed -n 's|^--- a/||p' $patches | sort -u)
	make -s apply STATE=before
	(cd "$TREE" && for f in $touched; do [ ! -e "$f" ] || cp --parents "$f" "$BATS_TEST_TMPDIR"; done)
	fixes=$(grep -- '-fixes/' <<< "$patches")
	[ "$(wc -l <<< "$fixes")" -gt 1 ]
	for fix in $fixes; do
		echo "$fix"
		patch -d "$BATS_TEST_TMPDIR" -p1 -F0 -s --dry-run < "$fix"
	done
}

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

@test "the series adds no lock and no atomic but the charge mover's cluster lock" {
	touched=$(sed -n 's|^+++ b/\(mm/.*\)|\1|p; s|^+++ b/\(include/.*\)|\1|p' $patches | sort -u)
	make -s apply STATE=before
	(cd "$TREE" && cp --parents $touched "$BATS_TEST_TMPDIR")
	make -s apply STATE=after
	added=$(cd "$TREE" && for f in $touched; do
		diff -w "$BATS_TEST_TMPDIR/$f" "$f" | sed -n "s|^> |$f: |p"
	done)
	[ "$(wc -l <<< "$added")" -gt 50 ]
	# Comments and assertions do not lock.
	locks=$(grep -E 'lock_|_lock|LOCK|mutex|atomic|xchg|smp_|rcu_|_rcu|refcount_' <<< "$added" |
		grep -vE ': [[:space:]]*(\*|/\*)|lockdep_assert|unlock_cluster')
	echo "$locks"
	# charge moving's, RCU in lookup, swapon and swapoff, and swapon's mutex,
	# which is taken later than before
	grep -q 'swapfile.c: .*ci = lock_cluster_or_swap_info(si, offset);' <<< "$locks"
	[ "$(grep -vcE 'swap_cgroup.c: .*(rcu|mutex_lock\(&swap_cgroup_mutex\)|lockdep_is_held)' <<< "$locks")" = 1 ]
}

@test "swap_cgroup_cmpxchg is nowhere in the patched tree" {
	make -s apply STATE=after
	run grep -rn --exclude-dir=.pc swap_cgroup_cmpxchg "$TREE" --include='*.[chS]' --include='*.rst'
	echo "$output"
	[ "$status" = 1 ]
}

@test "exported symbols are the same before and after" {
	cmp "$WORK/default/before/Module.symvers" "$WORK/default/after/Module.symvers"
	[ -s "$WORK/default/before/Module.symvers" ]
}

@test "push and pop restore the tree to the byte" {
	make -s apply STATE=before
	before=$(digest)
	make -s apply STATE=after
	[ "$(digest)" != "$before" ]
	make -s apply STATE=before
	[ "$(digest)" = "$before" ]
}

@test "the series lists every patch, and only those, each topic in order" {
	diff <(LC_ALL=C sort <<< "$patches") <(find "patches/${SERIES#series/}" -name '*.patch' | LC_ALL=C sort)
	for topic in $(dirname $patches | uniq); do
		diff <(grep "^$topic/" <<< "$patches") <(find "$topic" -name '*.patch' | LC_ALL=C sort)
	done
}

@test "every patch is git's own, with subject, author and sign-off" {
	for p in $patches; do
		grep -qE '^From [0-9a-f]{40} ' "$p"
		grep -qE '^Subject: \[PATCH' "$p"
		who=$(git mailinfo /dev/null /dev/null < "$p" |
			sed -n 's/^Author: //p; s/^Email: \(.*\)/<\1>/p' | paste -sd' ')
		[ -n "$who" ]
		grep -qF "Signed-off-by: $who" "$p"
	done
}

@test "checkpatch finds nothing in any patch, nor does --strict in those of the kernel" {
	for p in $patches; do
		# The tree's MAINTAINERS covers the new files by their folder, and
		# without git history no commit id can be known.
		# By standard input: a name that git knows is taken for a source file.
		options="--strict --ignore FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID"
		# It takes FIXTURE_DATA(x) *self for a product, and does not know that
		# a test looks for a system call that is not there.
		[[ $p != *selftests-cgroup* ]] || options="--ignore FILE_PATH_CHANGES,SPACING,ENOSYS"
		run "$TREE/scripts/checkpatch.pl" $options --no-tree --quiet - < "$p"
		echo "$p: $output"
		[ "$status" = 0 ]
	done
}

@test "the test patches are what selftests/cgroup makes" {
	make -s apply STATE=before
	topic=$(dirname "$(grep -m 1 selftests-cgroup- <<< "$patches")")
	made=$(ci/testpatch.sh "$TREE" "$topic" "$BATS_TEST_TMPDIR")
	diff <(grep selftests-cgroup- <<< "$patches" | xargs -n 1 basename) <(echo "$made")
	for p in $made; do
		# Who sends it may put another name on it.
		diff <(unnamed "$topic/$p") <(unnamed "$BATS_TEST_TMPDIR/$p")
	done
}

@test "no mail is over 60 kB" {
	run find patches -name '*.patch' -size +60k
	[ -z "$output" ]
}
