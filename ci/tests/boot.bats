#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh watching a QEMU: a small shell script plays it. A script's sleeps
# are shortened; what it counts in seconds stays as it is.

load common

setup()
{
	short_sleeps
	run=$tmp/run
	mkdir "$run"
	printf 'mm:swap_memcg\t\tv2\t2\n' > "$run/plan"
}

# The fake QEMU's text on stdin; it finds its folder in $1.
qemu()
{
	program qemu
}

boot()
{
	SILENCE=$1 LIMIT=$2 run timeout -k 1 30 "$top/ci/boot.sh" "$run" lockstat-after-v2 qemu "$run" "${@:3}"
}

# ended: QEMU told its process id; it must be gone.
ended()
{
	gone "$(cat "$run/pid")"
}

@test "a normal end: console, KTAP and the command are kept" {
	qemu <<-'EOF'
		#!/bin/sh
		echo "guest: init cpus=4"
		echo "ok 1 selftests: mm: swap_memcg" > "$1/ktap.log"
		echo "guest: end"
		echo "a word of QEMU's own" >&2
	EOF
	boot 30 60 -append "console=ttyS0 quiet"
	is 0 "$status"
	is "exit 0" "$(cat "$run/end")"
	is "guest: init cpus=4 guest: end" "$(paste -sd' ' "$run/console.log")"
	is "ok 1 selftests: mm: swap_memcg" "$(cat "$run/ktap.log")"
	is "a word of QEMU's own" "$(cat "$run/qemu.log")"
	eval "command=($(cat "$run/command"))"
	is 4 "${#command[@]}"
	is "console=ttyS0 quiet" "${command[3]}"
}

@test "an early exit: QEMU's status is written down" {
	qemu <<-'EOF'
		#!/bin/sh
		echo "[    0.000000] Linux version 6.12.117"
		exit 7
	EOF
	boot 30 60
	is 0 "$status"
	is "exit 7" "$(cat "$run/end")"
}

@test "QEMU is not there: an early exit, its words kept" {
	run "$top/ci/boot.sh" "$run" label "$tmp/no-such-qemu"
	is 0 "$status"
	is "exit 127" "$(cat "$run/end")"
	grep -q no-such-qemu "$run/qemu.log"
}

@test "nothing printed: silent, and QEMU is killed" {
	qemu <<-'EOF'
		#!/bin/sh
		echo $$ > "$1/pid"
		exec cat > /dev/null
	EOF
	boot 2 60
	is 0 "$status"
	is "silent 2" "$(cut -d" " -f1,2 "$run/end")"
	ended
}

@test "output stops: sysrq w, l, t by break and key, then killed, a hang" {
	qemu <<-'EOF'
		#!/bin/sh
		echo $$ > "$1/pid"
		echo "guest: init cpus=4"
		exec cat > "$1/keys"
	EOF
	boot 2 60
	is 0 "$status"
	is "hang 2" "$(cut -d" " -f1,2 "$run/end")"
	is "$(printf '\001bw\001bl\001bt' | od -c)" "$(od -c < "$run/keys")"
	ended
	has "hang"
	has "lockstat-after-v2"
}

@test "what the kernel answers to sysrq is on the console" {
	qemu <<-'EOF'
		#!/bin/sh
		echo "guest: init cpus=4"
		head -c 3 > /dev/null
		echo "sysrq: Show Blocked State"
		exec cat > /dev/null
	EOF
	boot 2 60
	is "hang 2" "$(cut -d" " -f1,2 "$run/end")"
	is "sysrq: Show Blocked State" "$(tail -n 1 "$run/console.log")"
	# but not part of what the verdict goes by
	is "guest: init cpus=4" "$(head -c "$(cut -d' ' -f3 "$run/end")" "$run/console.log")"
}

@test "a machine that ends at sysrq by itself is a hang too" {
	qemu <<-'EOF'
		#!/bin/sh
		echo "guest: init cpus=4"
		head -c 3 > /dev/null
	EOF
	boot 2 60
	is 0 "$status"
	is "hang 2" "$(cut -d" " -f1,2 "$run/end")"
}

@test "results without console output are no hang" {
	qemu <<-'EOF'
		#!/bin/sh
		echo "guest: init cpus=4"
		for i in 1 2 3 4 5 6 7; do
			/bin/sleep 0.5
			echo "# ok $i case" >> "$1/ktap.log"
		done
		echo "guest: end"
	EOF
	boot 2 60
	is "exit 0" "$(cat "$run/end")"
}

@test "printing without an end: over its limit, and QEMU is killed" {
	qemu <<-'EOF'
		#!/bin/sh
		echo $$ > "$1/pid"
		while :; do
			echo "still trying"
			/bin/sleep 0.1
		done
	EOF
	boot 30 2
	is 0 "$status"
	is "limit 2" "$(cut -d" " -f1,2 "$run/end")"
	ended
}

@test "how long it waits depends on this boot: the seconds until init spoke" {
	qemu <<-'EOF'
		#!/bin/sh
		/bin/sleep 2.2
		echo "guest: init cpus=4"
		/bin/sleep 1
		echo "guest: end"
	EOF
	run env -u SILENCE -u LIMIT bash -x "$top/ci/boot.sh" "$run" label qemu "$run"
	is "exit 0" "$(cat "$run/end")"
	# three before it is known
	is "silence=150 limit=900" "$(grep -oE '^\++ (silence|limit)=.*' <<< "$output" | sed 's/^+* //' | head -n 2 | paste -sd' ')"
	grep -qE '^\++ silence=1[25]0$' <<< "$(grep -E '^\++ silence=' <<< "$output" | tail -n 1)"
	is 2 "$(grep -cE '^\++ silence=' <<< "$output")"
}

@test "interrupted: no end is written, no process is left" {
	local signal pid rc
	qemu <<-'EOF'
		#!/bin/sh
		echo $$ > "$1/pid"
		echo "guest: init cpus=4"
		exec cat > /dev/null
	EOF
	for signal in TERM HUP; do
		rm -f "$run/pid"
		# The tests may run under nohup, which would have it ignored.
		env --default-signal="$signal" "$top/ci/boot.sh" "$run" label qemu "$run" 3>&- &
		pid=$!
		await "$run/pid"
		kill -s "$signal" "$pid"
		rc=0
		wait "$pid" || rc=$?
		is "$((128 + $(kill -l "$signal")))" "$rc"
		[ ! -e "$run/end" ]
		ended
	done
}

@test "what an earlier boot left does not count" {
	echo "exit 0" > "$run/end"
	echo "guest: end" > "$run/console.log"
	echo "ok 1 selftests: mm: swap_memcg" > "$run/ktap.log"
	qemu <<-'EOF'
		#!/bin/sh
		cp "$1/end" "$1/seen" 2> /dev/null
		exit 3
	EOF
	boot 30 60
	[ ! -e "$run/seen" ]
	is "exit 3" "$(cat "$run/end")"
	[ ! -s "$run/console.log" ]
	[ ! -s "$run/ktap.log" ]
}

@test "a wrong call: exit status 2 and the usage" {
	run "$top/ci/boot.sh" "$run" label
	is 2 "$status"
	has "usage: boot.sh"
}
