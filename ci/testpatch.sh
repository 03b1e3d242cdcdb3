#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# testpatch.sh TREE SERIES OUT: write the series' test patch from selftests/mm,
# which is the truth that it is made from.
#
# TREE    an unpacked kernel tree, before the series (its files are only read)
# SERIES  a file in series/; the patch takes the number of its place there, or
#         the next one
# OUT     folder for the patch; its path is printed
#
# The C files go to tools/testing/selftests/mm as they are; hooks.diff hooks
# them into the files that stand there; commit-message is the message. git
# writes the patch, with the configured identity and its sign-off. The date of
# an existing patch is kept. Fails when hooks.diff does not apply.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: testpatch.sh TREE SERIES OUT"
tree=$(realpath "$1") series=$(realpath "$2") out=$(realpath "$3")
from=$top/selftests/mm to=tools/testing/selftests/mm

old=$(grep -E '/[0-9]+-selftests-mm-[^/]*\.patch$' "$series" | head -n 1 || true)
if [ -n "$old" ]; then
	number=$(basename "$old")
	number=$((10#${number%%-*}))
	GIT_AUTHOR_DATE=$(sed -n 's/^Date: //p' "$top/patches/$old" | head -n 1)
	export GIT_AUTHOR_DATE
else
	number=$(($(grep -cE '\.patch$' "$series" || true) + 1))
fi

work=$(mktemp -d)
on_exit rm -rf "$work"
cd "$work"
git init -q
sed -n 's|^--- a/||p' "$from/hooks.diff" | while IFS= read -r f; do
	mkdir -p "$(dirname "$f")"
	cp -p "$tree/$f" "$f"
done
# .gitignore of the selftests ignores all but sources: it is not for us here.
git add -f -A
git commit -qm base
git apply --index "$from/hooks.diff" || die "selftests/mm/hooks.diff does not apply to $tree"
cp "$from"/*.[ch] "$to"
git add -f "$to"
git commit -qsF "$from/commit-message"
git format-patch -q -1 --start-number "$number" -N --zero-commit --no-signature -o "$out" |
	cat
find "$out" -maxdepth 1 -name "$(printf %04d "$number")-*.patch"
