#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# check-all.sh: its rows, what is done again and what is not. A script plays make: a
# row with a file of its name in $tmp/bad fails.

load common

setup()
{
	repo
	echo 6.12/toy/0001-toy.patch > "$repo/series/6.12"
	mkdir -p "$repo/selftests/toy" "$tmp/bad"
	echo "toy-row 3 toy-target A=1" > "$repo/selftests/toy/check-all"
	mkdir -p "$repo/build/6.12"
	echo kind=tarball > "$repo/build/6.12/source"
	program fake-make <<-EOF
		#!/bin/sh
		shift
		[ "\$*" != fetch ] || exit 0
		echo "\$*" >> "$tmp/calls"
		[ ! -e "$tmp/bad/\$1" ]
	EOF
	export MAKE=fake-make BASE=6.12 ARCH=x86_64 SMP=4 MEM=1G
}

check_all()
{
	: > "$tmp/calls"
	run "$repo/ci/check-all.sh" build build/6.12 "$@"
}

@test "each row is made and said, those of the topics too" {
	check_all
	is 0 "$status"
	is "check;boot VARIANT=debug TESTS=cgroup:test_zswap;coverage;bisect VARIANT=default;run TOPIC=toy;toy-target A=1;" \
		"$(tr '\n' ';' < "$tmp/calls")"
	has "toy-row: passed, 0:0"
	is 6 "${#lines[@]}"
}

@test "what has passed is not done again, until a file changes" {
	check_all
	check_all
	is 0 "$status"
	is "" "$(cat "$tmp/calls")"
	has "coverage: passed before"
	SMP=2 check_all
	is 6 "$(wc -l < "$tmp/calls")"
	echo >> "$repo/README.md"
	check_all
	is 6 "$(wc -l < "$tmp/calls")"
	echo kind=git >> "$repo/build/6.12/source"
	check_all
	is 6 "$(wc -l < "$tmp/calls")"
}

@test "a row that fails: said, with its log; the others are done, and it alone again" {
	touch "$tmp/bad/coverage"
	check_all
	is 1 "$status"
	has "coverage: FAILED"
	has "build/6.12/check-all/coverage.log"
	is 6 "$(wc -l < "$tmp/calls")"
	rm "$tmp/bad/coverage"
	check_all
	is 0 "$status"
	is coverage "$(cat "$tmp/calls")"
}

@test "a row by name, and a name that is none" {
	check_all toy-row
	is 0 "$status"
	is "toy-target A=1" "$(cat "$tmp/calls")"
	check_all toy-rows
	is 2 "$status"
	has "no row 'toy-rows'"
	has "toy-row"
}

@test "after 100 minutes no row is begun, and the call says what is left" {
	SECONDS=5900 check_all toy-row
	is 1 "$status"
	is "" "$(cat "$tmp/calls")"
	has "rows left: 1"
	SECONDS=5700 check_all toy-row
	is 0 "$status"
}

@test "make -n makes nothing" {
	MAKEFLAGS=n check_all
	is 0 "$status"
	is "" "$(cat "$tmp/calls")"
	[ ! -e "$repo/build/6.12/check-all" ]
}
