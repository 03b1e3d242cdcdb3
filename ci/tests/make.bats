#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# The Makefile's face: help, and variables that are checked before anything
# is done. `help` is the goal throughout: nothing is built or written.

load common

# refused NAME VALUE ALLOWED: make stops with status 2, nothing done, and says
# the name, the value and what is allowed.
refused()
{
	run make -C "$top" help "$1=$2"
	is 2 "$status"
	has "$1"
	has "${2:-$1= }"
	has "allowed"
	has "$3"
	has_not "Variables"
}

accepted()
{
	local value
	for value in "${@:2}"; do
		run make -C "$top" help "$1=$value"
		[ "$status" = 0 ] || { echo "$1=$value: $output"; return 1; }
	done
}

@test "help names every public target" {
	local target
	run make -C "$top" help
	is 0 "$status"
	for target in $(sed -n 's/^\.PHONY: //p' "$top/Makefile"); do
		[ "$target" != FORCE ] || continue
		printf '%s\n' "$output" | grep -qE "^  ([a-z]+ )*$target( |$)" ||
			{ echo "not in help: $target"; return 1; }
	done
}

@test "help is what make alone does" {
	run make -C "$top" -s
	is 0 "$status"
	is "$(make -C "$top" -s help)" "$output"
}

@test "help says of each target what it does" {
	run bash -c "make -s -C '$top' help | sed -n '/^Steps/,/^Variables/p' | grep -E '^  ' | grep -vE '^  [a-z][a-z -]* .{5,}'"
	is "" "$output"
}

@test "help names every variable, with its default and what it is" {
	local variable
	run make -C "$top" help
	for variable in $(sed -n 's/^\([A-Z_]*\) *?=.*/\1/p' "$top/Makefile"); do
		printf '%s\n' "$output" | sed '1,/^Variables/d' | grep -qE "^  $variable=[^ ]* +[^ ].*" ||
			{ echo "not in help: $variable"; return 1; }
	done
	has "VARIANT=default "
}

@test "a variable that nothing reads is refused, as is one that the goal does not take" {
	run make -C "$top" help TOPICS=toy
	is 2 "$status"
	has "TOPICS= is no variable"
	has "allowed: BASE"
	run make -n -C "$top" run STATE=before
	is 2 "$status"
	has "STATE=before is not for make run"
}

@test "help leads to files that are there" {
	local path
	for path in $(make -s -C "$top" help | sed -n '/^Where/,$p' | grep -oE '^  [a-z-]+/[^ ,]*(, [a-z]+/)?' | tr -d ,); do
		case $path in
		build/*|patches/) continue ;;	# made by a run; empty at first
		esac
		[ -e "$top/$path" ] || { echo "no $path"; return 1; }
	done
}

@test "every script that the Makefile calls is there" {
	local script
	for script in $(grep -ohE '(ci|bench/native|selftests/[a-z-]+)/[a-z-]+\.(sh|pl)' "$top"/Makefile "$top"/selftests/*/targets.mk | sort -u); do
		[ -x "$top/$script" ] || { echo "no $script"; return 1; }
	done
}

@test "BASE" {
	refused BASE 5.10 6.12
	refused BASE "" 6.12
	refused BASE "6.12 6.12" 6.12
	accepted BASE 6.12
}
@test "VARIANT" {
	refused VARIANT huge lockstat
	refused VARIANT def debug
	accepted VARIANT default lockstat debug
}
@test "STATE" {
	refused STATE between "before after"
	accepted STATE before after
}
@test "CGROUP" {
	refused CGROUP v3 "v1 v2 off"
	accepted CGROUP v1 v2 off
}
@test "ACCEL" {
	refused ACCEL xen "auto kvm tcg icount"
	accepted ACCEL auto kvm tcg icount
}
@test "ARCH" {
	refused ARCH riscv x86_64
	accepted ARCH x86_64
}
@test "SMP" {
	refused SMP 0 "1 to 64"
	refused SMP 65 "1 to 64"
	refused SMP 4x "1 to 64"
	refused SMP "" "1 to 64"
	accepted SMP 1 9 10 59 60 64
}
@test "MEM" {
	refused MEM 1 512M
	refused MEM 1Gb 512M
	refused MEM 0G 512M
	refused MEM 8G "up to 4G"
	accepted MEM 1G 4G 512M 3999M
}
@test "JOBS" {
	refused JOBS 0 number
	refused JOBS many number
	accepted JOBS 1 16
}
@test "V" {
	refused V 3 "0 1 2"
	accepted V 0 1 2
}
@test "O" {
	refused O "a b" folder
	refused O "a;b" folder
	refused O "it's" folder
	accepted O build /tmp/o ../o
}
@test "LLVM" {
	refused LLVM yes 1
	accepted LLVM "" 1 -14 /usr/lib/llvm-14/bin/
}
@test "TESTS" {
	refused TESTS mm:no_such_test cgroup:test_core
	accepted TESTS "" cgroup:test_core "cgroup:test_core cgroup:test_kill"
}

@test "TESTS: one bad word among good ones" {
	run make -C "$top" help TESTS="cgroup:test_core mm:no_such_test cgroup:test_kill"
	is 2 "$status"
	has "TESTS: mm:no_such_test"
	has "allowed: "
}

@test "a value from the environment is checked too" {
	run env SMP=none make -C "$top" help
	is 2 "$status"
	has "SMP=none"
}

@test "a value is no shell command" {
	run make -C "$top" help "MEM=1G\$\$(touch $tmp/oops)'\$\$(touch $tmp/oops)'"
	is 2 "$status"
	[ ! -e "$tmp/oops" ]
}

@test "of two boots side by side, each can fail" {
	local a b
	for a in true false; do
		for b in true false; do
			run make -C "$top" -s --eval="both: ; @\$(call side-by-side,$a,$b)" both
			is "$([ "$a $b" = "true true" ] && echo 0 || echo 2)" "$status"
		done
	done
}

@test "a test that this boot does not have" {
	run make -C "$top" -n boot TESTS=cgroup:test_swap_v1
	is 2 "$status"
	has "cgroup:test_swap_v1 is not planned for CGROUP=v2; it is for: v1"
}
