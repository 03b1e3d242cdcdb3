#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# unpack.sh: a fresh copy of the source; the origin is only read.

load common

setup()
{
	origin=$tmp/linux
	tree=$tmp/build/linux
	mkdir -p "$origin/mm" "$tmp/build"
	{
		kernel_makefile 6 12 117
		printf 'mrproper:\n\trm -rf .config include/config\n'
	} > "$origin/Makefile"
	echo "int a;" > "$origin/mm/swap_cgroup.c"
}

# record KIND PATH [ID]
record()
{
	printf '%s\n' "kind=$1" "path=$2" "id=${3:-0}" version=6.12.117 > "$tmp/source"
}

unpack()
{
	run "$top/ci/unpack.sh" "$tmp/source" "$tree"
}

# fresh: the tree is the origin's text and nothing lies beside it.
fresh()
{
	is 0 "$status"
	cmp "$origin/Makefile" "$tree/Makefile"
	is "int a;" "$(cat "$tree/mm/swap_cgroup.c")"
	is linux "$(ls "$tmp/build")"
}

@test "a tarball loses its top folder" {
	tar -C "$tmp" -cJf "$tmp/linux.tar.xz" linux
	record tarball "$tmp/linux.tar.xz"
	unpack
	fresh
}

@test "a directory is copied, without objects and repository" {
	git -C "$origin" init -q
	# the series changes one of these
	echo '*.o' > "$origin/mm/.gitignore"
	touch "$origin/mm/swap_cgroup.o" "$origin/mm/.swap_cgroup.o.cmd"
	record directory "$origin"
	unpack
	fresh
	cmp "$origin/mm/.gitignore" "$tree/mm/.gitignore"
	[ ! -e "$tree/.git" ]
	[ ! -e "$tree/mm/swap_cgroup.o" ]
	[ ! -e "$tree/mm/.swap_cgroup.o.cmd" ]
}

@test "a commit, not the files that lie around" {
	git -C "$origin" init -q
	git -C "$origin" add -A
	git -C "$origin" commit -qm a
	record git "$origin" "$(git -C "$origin" rev-parse HEAD)"
	echo "int b;" > "$origin/mm/swap_cgroup.c"
	unpack
	is "int a;" "$(cat "$tree/mm/swap_cgroup.c")"
	# no worktree was registered, no ref made
	is "$origin" "$(git -C "$origin" worktree list --porcelain | sed -n 's/^worktree //p')"
}

@test "the origin is never modified, not even one that was built in" {
	local before
	mkdir -p "$origin/include/config"
	touch "$origin/.config" "$origin/include/config/auto.conf"
	before=$(digest "$origin")
	record directory "$origin"
	unpack
	fresh
	[ ! -e "$tree/.config" ]
	[ ! -e "$tree/include/config" ]
	is "$before" "$(digest "$origin")"
	echo "int b;" > "$tree/mm/swap_cgroup.c"
	is "$before" "$(digest "$origin")"
}

@test "a user's own quilt state does not come along" {
	# It would be taken for ours, and his patches popped.
	mkdir -p "$origin/.pc"
	echo debian.patch > "$origin/.pc/applied-patches"
	record directory "$origin"
	unpack
	fresh
	[ ! -e "$tree/.pc" ]
}

@test "a newer source replaces the tree, and leaves nothing of the old one" {
	mkdir -p "$tree/.pc"
	touch "$tree/old"
	record directory "$origin"
	unpack
	fresh
	[ ! -e "$tree/old" ]
	[ ! -e "$tree/.pc" ]
}

@test "a broken tarball leaves the old tree" {
	mkdir "$tree"
	touch "$tree/old"
	tar -C "$tmp" -cJf "$tmp/linux.tar.xz" linux
	truncate -s -40 "$tmp/linux.tar.xz"
	record tarball "$tmp/linux.tar.xz"
	unpack
	[ "$status" != 0 ]
	is old "$(ls "$tree")"
	is linux "$(ls "$tmp/build")"
}

@test "a broken commit leaves the old tree" {
	mkdir "$tree"
	touch "$tree/old"
	git -C "$origin" init -q
	record git "$origin" 0123456789012345678901234567890123456789
	unpack
	[ "$status" != 0 ]
	is old "$(ls "$tree")"
	is linux "$(ls "$tmp/build")"
}

@test "interrupted: the old tree is left, and nothing beside it" {
	mkdir "$tree"
	touch "$tree/old"
	record tarball "$tmp/linux.tar.xz"
	# it has unpacked a part when the signal comes
	program tar <<-EOF
		#!/bin/sh
		touch "$tree.new/part"
		kill -TERM \$PPID
	EOF
	unpack
	is 143 "$status"
	is old "$(ls "$tree")"
	is linux "$(ls "$tmp/build")"
}

@test "what an interruption left before is in nobody's way" {
	mkdir "$tree.new" "$tree.old"
	touch "$tree.new/part" "$tree.old/part"
	record directory "$origin"
	unpack
	fresh
	[ ! -e "$tree/part" ]
}

@test "an unknown kind of source" {
	record floppy "$origin"
	unpack
	is 1 "$status"
	has floppy
	[ ! -e "$tree" ]
}
