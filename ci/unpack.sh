#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# unpack.sh SOURCE TREE: put the source that SOURCE records (see fetch.sh)
# into TREE, a fresh copy, unpatched, and check that the series can rest on it.
#
# The origin is only read. TREE appears whole or not at all.
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || usage_die "usage: unpack.sh SOURCE TREE"
source=$1 tree=$2
path=$(field "$source" path)

rm -rf "$tree.new"
mkdir -p "$tree.new"
on_exit rm -rf "$tree.new"

say "  unpacking Linux $(field "$source" version) from $path"
case $(field "$source" kind) in
tarball)   tar -xf "$path" -C "$tree.new" --strip-components=1 ;;
git)       git -C "$path" archive "$(field "$source" id)" | tar -x -C "$tree.new" ;;
# Objects and a quilt's records stay behind: the tree is what it is.
directory) tar -C "$path" --exclude=./.git --exclude=./.pc --exclude='*.o' --exclude='*.cmd' -c . | tar -x -C "$tree.new" ;;
*)         die "$source: kind '$(field "$source" kind)' is not known" ;;
esac
if [ -e "$tree.new/.config" ] || [ -d "$tree.new/include/config" ]; then
	# kbuild refuses a separate object folder beside an in-tree build.
	make -s -C "$tree.new" mrproper > /dev/null
fi

# The states begin anew with the tree.
rm -rf "$tree.git" "$tree.old"
[ ! -e "$tree" ] || mv "$tree" "$tree.old"
mv "$tree.new" "$tree"
rm -rf "$tree.old"
