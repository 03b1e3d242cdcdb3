#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# fetch.sh: what the kernel source is. A tree here is no more than a Makefile.

load common

setup()
{
	out=$tmp/build/6.12/source
	tree 6 12 117
}

# tree VERSION PATCHLEVEL SUBLEVEL: $tmp/linux becomes that kernel
tree()
{
	mkdir -p "$tmp/linux/mm"
	kernel_makefile "$@" > "$tmp/linux/Makefile"
	echo "/* SPDX */" > "$tmp/linux/mm/swap_cgroup.c"
}

tarball()
{
	tar -C "$tmp" -cJf "$tmp/linux.tar.xz" --transform 's/^linux/linux-source-6.12/' linux
}

repository()
{
	git -C "$tmp/linux" init -q
	git -C "$tmp/linux" add -A
	git -C "$tmp/linux" commit -qm "Linux 6.12.117"
	git -C "$tmp/linux" tag v6.12.117
}

fetch()
{
	run "$top/ci/fetch.sh" "${2:-6.12}" "$1" "$out"
}

record()
{
	sed -n "s/^$1=//p" "$out"
}

@test "a directory" {
	fetch "$tmp/linux"
	is 0 "$status"
	is directory "$(record kind)"
	is "$(realpath "$tmp/linux")" "$(record path)"
	is 6.12.117 "$(record version)"
	[ -n "$(record id)" ]
}

@test "a tarball, with its checksum" {
	tarball
	fetch "$tmp/linux.tar.xz"
	is 0 "$status"
	is tarball "$(record kind)"
	is 6.12.117 "$(record version)"
	is "$(sha256sum < "$tmp/linux.tar.xz" | cut -d' ' -f1)" "$(record id)"
}

@test "a tarball's top Makefile counts, not one further down" {
	kernel_makefile 1 2 3 > "$tmp/linux/mm/Makefile"
	tar -C "$tmp" -cJf "$tmp/linux.tar.xz" linux/mm linux/Makefile
	fetch "$tmp/linux.tar.xz"
	is 6.12.117 "$(record version)"
}

@test "DIR@REV: the commit, not the files that lie around" {
	repository
	tree 6 13 0
	fetch "$tmp/linux@v6.12.117"
	is 0 "$status"
	is git "$(record kind)"
	is 6.12.117 "$(record version)"
	is "$(git -C "$tmp/linux" rev-parse HEAD)" "$(record id)"
}

@test "DIR@REV with no such revision" {
	repository
	fetch "$tmp/linux@v9.99"
	is 1 "$status"
	has "KSRC=$tmp/linux@v9.99"
	[ ! -e "$out" ]
}

@test "no such source" {
	fetch "$tmp/nothing"
	is 1 "$status"
	has "KSRC=$tmp/nothing"
	has "DIR@REVISION"
	[ ! -e "$out" ]
}

@test "no source package: says which to install" {
	repo
	printf '%s\n' packages=linux-source-9.99:/none/l.tar source=/none/l.tar > "$repo/ci/bases/9.99"
	run "$repo/ci/fetch.sh" 9.99 "" "$out"
	is 1 "$status"
	has linux-source-9.99
	has KSRC=
	[ ! -e "$out" ]
}

@test "a directory without a kernel" {
	mkdir "$tmp/empty"
	fetch "$tmp/empty"
	is 1 "$status"
	has "KSRC=$tmp/empty"
	echo "all:" > "$tmp/empty/Makefile"
	fetch "$tmp/empty"
	is 1 "$status"
	has "KSRC=$tmp/empty"
	[ ! -e "$out" ]
}

@test "a tarball without a kernel is said to be one" {
	tar -C "$tmp" -cJf "$tmp/other.tar.xz" linux/mm
	fetch "$tmp/other.tar.xz"
	is 1 "$status"
	has "KSRC=$tmp/other.tar.xz"
	echo "no tarball" > "$tmp/text"
	fetch "$tmp/text"
	is 1 "$status"
	has "KSRC=$tmp/text"
	[ ! -e "$out" ]
}

@test "a commit without a kernel is said to be one" {
	rm "$tmp/linux/Makefile"
	repository
	fetch "$tmp/linux@v6.12.117"
	is 1 "$status"
	has "KSRC=$tmp/linux@v6.12.117"
	[ ! -e "$out" ]
}

@test "another series stops, with both named" {
	tree 6 13 2
	fetch "$tmp/linux"
	is 1 "$status"
	has 6.13.2
	has "BASE=6.12"
	[ ! -e "$out" ]
}

@test "6.12 is not 6.1" {
	fetch "$tmp/linux" 6.1
	is 1 "$status"
	has 6.12.117
}

@test "the first release of a series" {
	tree 6 12 0
	fetch "$tmp/linux"
	is 6.12.0 "$(record version)"
}

@test "a newer point release than last time is said, and recorded" {
	fetch "$tmp/linux"
	has_not "POINT RELEASE"
	tree 6 12 118
	fetch "$tmp/linux"
	is 0 "$status"
	has "NEW POINT RELEASE"
	has 6.12.118
	has 6.12.117
	is 6.12.118 "$(record version)"
}

@test "nothing changed: the record keeps its time, nothing is said" {
	local ksrc
	tarball
	repository
	for ksrc in "$tmp/linux" "$tmp/linux.tar.xz" "$tmp/linux@v6.12.117"; do
		rm -f "$out"
		fetch "$ksrc"
		touch -d '2001-01-01' "$out"
		fetch "$ksrc"
		is 0 "$status"
		is "" "$output"
		is 2001 "$(date -r "$out" +%Y)"
	done
}

@test "a changed file in a directory is another source" {
	local id
	fetch "$tmp/linux"
	id=$(record id)
	echo "int x;" >> "$tmp/linux/mm/swap_cgroup.c"
	fetch "$tmp/linux"
	[ "$id" != "$(record id)" ]
}

@test "the origin is only read" {
	local before
	repository
	before=$(digest "$tmp/linux")
	fetch "$tmp/linux"
	fetch "$tmp/linux@v6.12.117"
	is "$before" "$(digest "$tmp/linux")"
}
