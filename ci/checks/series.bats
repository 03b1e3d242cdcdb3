#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What must hold of the series of a base. Each topic's own checks are in its folder.
# Needs what `make check` built; WORK and TREE name it.

# shellcheck disable=SC2086 # the lists are one word a file

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}" "${TREE:?}" "${BASE:?}"
	# git writes patches here, which nobody sends.
	export GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@example.org
	export GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@example.org
	patches=$(ci/list.sh patches after | sed 's|^|patches/|')
	topics=$(ci/list.sh topics)
	[ -n "$topics" ]
}

# A digest of every file of the tree: its name, mode and content.
digest()
{
	(cd "$TREE" && {
		find . -printf '%y %m %p %l\n' | LC_ALL=C sort
		find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	} | sha256sum)
}

# A patch without who wrote it and when.
unnamed()
{
	sed '1,/^Subject: /{/^Subject: /!d}; /^Signed-off-by: /d' "$1"
}

# The files that the series touches, as the tree has them now, into a folder.
touched_files()
{
	mkdir -p "$1"
	sed -n 's|^[+-]\{3\} [ab]/||p' $patches | sort -u | while IFS= read -r f; do
		[ ! -e "$TREE/$f" ] || (cd "$TREE" && cp --parents -t "$1" "$f")
	done
}

@test "quilt, git am and the states give the same files" {
	ci/apply.sh "$TREE" before
	touched_files "$BATS_TEST_TMPDIR/quilt"
	cp -r "$BATS_TEST_TMPDIR/quilt" "$BATS_TEST_TMPDIR/am"
	ci/apply.sh "$TREE" after
	touched_files "$BATS_TEST_TMPDIR/state"
	(cd "$BATS_TEST_TMPDIR/quilt" && QUILT_PATCHES=$OLDPWD/patches QUILT_SERIES=$OLDPWD/series/$BASE \
		quilt --quiltrc /dev/null push -a --fuzz=0 && rm -r .pc)
	git -C "$BATS_TEST_TMPDIR/am" init -q
	git -C "$BATS_TEST_TMPDIR/am" add -f -A
	git -C "$BATS_TEST_TMPDIR/am" commit -q -m base
	realpath $patches | xargs git -C "$BATS_TEST_TMPDIR/am" am -q
	rm -r "$BATS_TEST_TMPDIR/am/.git"
	diff -r "$BATS_TEST_TMPDIR/state" "$BATS_TEST_TMPDIR/quilt"
	diff -r "$BATS_TEST_TMPDIR/state" "$BATS_TEST_TMPDIR/am"
}

@test "push and pop restore the tree to the byte" {
	ci/apply.sh "$TREE" before
	before=$(digest)
	ci/apply.sh "$TREE" after
	[ "$(digest)" != "$before" ]
	ci/apply.sh "$TREE" before
	[ "$(digest)" = "$before" ]
}

@test "the series lists every patch, and only those, each topic in order" {
	diff <(LC_ALL=C sort <<< "$patches") <(find "patches/$BASE" -name '*.patch' | LC_ALL=C sort)
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

@test "the test patches are what the topics' sources make" {
	ci/apply.sh "$TREE" before
	for topic in $topics; do
		[ -d "selftests/$topic/cgroup" ] || continue
		mkdir "$BATS_TEST_TMPDIR/$topic"
		TOPIC=$topic ci/apply.sh "$TREE" before
		made=$(ci/testpatch.sh "$TREE" "$topic" "$BATS_TEST_TMPDIR/$topic")
		diff <(grep "/$topic/.*-selftests-" <<< "$patches" | xargs -n 1 basename) <(echo "$made")
		for p in $made; do
			# Who sends it may put another name on it.
			diff <(unnamed "patches/$BASE/$topic/$p") <(unnamed "$BATS_TEST_TMPDIR/$topic/$p")
		done
	done
}

@test "each topic applies on those that it builds on, and on no other" {
	for topic in $topics; do
		TOPIC=$topic ci/apply.sh "$TREE" after
	done
	ci/apply.sh "$TREE" after
}

@test "no mail is over 60 kB" {
	run find patches -name '*.patch' -size +60k
	[ -z "$output" ]
}
