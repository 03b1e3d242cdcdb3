#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# micro-check.sh DIR [SECONDS]: is the map right with real threads, and would
# it be noticed if not? Prints TAP.
#
# DIR      has before/ and after/ (see bench/native/Makefile); programs are
#          built below it
# SECONDS  of the ThreadSanitizer run of `after` (5)
#
# The right map must be silent under ThreadSanitizer, AddressSanitizer and
# UBSan; each wrong variant must be reported within 10 s. Exits 0 when all
# cases pass. clang's cases are skipped where there is no clang.
. "$(dirname "$0")/../../ci/lib.sh"

[ $# = 1 ] || [ $# = 2 ] || usage_die "usage: micro-check.sh DIR [SECONDS]"
dir=$1 seconds=${2:-5} bin=$1/bin
[ -f "$dir/after/mm/swap_cgroup.c" ] || usage_die "no $dir/after/mm/swap_cgroup.c"
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage_die "SECONDS=$seconds is not allowed; allowed: a number above 0"

# ThreadSanitizer of these compilers cannot map its shadow with much address
# randomisation; a report ends the program at once.
export TSAN_OPTIONS="halt_on_error=1" ASAN_OPTIONS="detect_leaks=1" UBSAN_OPTIONS="halt_on_error=1"
fixed=()
if setarch -R true 2> /dev/null; then
	fixed=(setarch -R)
fi

log=$(mktemp)
on_exit rm -f "$log"
n=0 failed=0

# result STATUS NAME: one TAP line; what the case printed follows a failure.
result()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		sed 's/^/# /' "$log" | head -n 20
		failed=$((failed + 1))
	fi
}

skip()
{
	n=$((n + 1))
	echo "ok $n $1 # skip $2"
}

# silent NAME PROGRAM ARGS...: it must end well and print no report.
silent()
{
	local rc=0
	timeout $((seconds + 60)) "${fixed[@]}" "${@:2}" > "$log" 2>&1 || rc=$?
	if [ "$rc" = 0 ] && grep -q 'the map is as the model' "$log" &&
	   ! grep -qE 'WARNING|ERROR|FAIL|runtime error' "$log"; then
		result 0 "$1"
	else
		result 1 "$1"
	fi
}

# reported NAME REGEX PROGRAM ARGS...: it must fail within 10 s, with a report
# that matches.
reported()
{
	local rc=0
	timeout 10 "${fixed[@]}" "${@:3}" > "$log" 2>&1 || rc=$?
	if [ "$rc" != 0 ] && [ "$rc" != 124 ] && grep -qE "$2" "$log"; then
		result 0 "$1"
	else
		result 1 "$1"
	fi
}

# compiled NAME WORDS...: bench/native/Makefile makes that without a warning.
compiled()
{
	local rc=0
	"${MAKE:-make}" --no-print-directory -s -j"$(nproc)" -C "$top/bench/native" OUT="$(realpath "$dir")" \
		"${@:2}" > "$log" 2>&1 || rc=1
	[ ! -s "$log" ] || rc=1
	result "$rc" "$1"
}

# locked FUNCTION: atomic instructions in it, one a line.
locked()
{
	local code
	code=$(objdump -d --no-show-raw-insn "--disassemble=$1" "$bin/time")
	grep -q "<$1>:" <<< "$code" || echo "$1 is not there"
	grep -E '\block |\bxchg[bwlq]? .*\(' <<< "$code" || true
}

race='ThreadSanitizer: data race'

compiled "gcc: no warning" CC=gcc all
if command -v clang > /dev/null; then
	compiled "clang: no warning" CC=clang NAME=clang all
else
	skip "clang: no warning" "no clang here"
fi

silent "before: AddressSanitizer and UBSan are silent" "$bin/check-before-asan" -s 2
silent "before: ThreadSanitizer is silent but for the unmarked lookup" "$bin/check-before-tsan" -n -s 2
reported "before: ThreadSanitizer reports the unmarked lookup" "$race" "$bin/check-before-tsan" -s 10
reported "before: a lookup during swapon or swapoff leaves the map" AddressSanitizer \
	"$bin/check-before-asan" -o -s 10
silent "after: AddressSanitizer and UBSan are silent" "$bin/check-after-asan" -o -s 3
silent "after: ThreadSanitizer is silent for $seconds s" "$bin/check-after-tsan" -o -s "$seconds"

reported "wrong: a store of 32 bits" "$race|FAIL: slot" "$bin/check-wide-store" -s 10
reported "wrong: a store in two halves" "FAIL: slot .* is no id" "$bin/check-torn-store" -s 10
reported "wrong: a slot released without a hand-over" "$race" "$bin/check-after-tsan" -w no-handover -s 10
reported "wrong: a second writer" "$race.*|FAIL: slot" "$bin/check-after-tsan" -w second-writer -s 10
reported "wrong: swapoff does not wait for lookups" AddressSanitizer "$bin/check-no-grace-period" -o -s 10

if [ "$(uname -m)" = x86_64 ]; then
	for function in record clear; do
		locked "after_swap_cgroup_$function" > "$log"
		result "$([ ! -s "$log" ] && echo 0 || echo 1)" "after: $function has no locked instruction"
		locked "packed_swap_cgroup_$function" > "$log"
		result "$(grep -q 'lock cmpxchg' "$log" && echo 0 || echo 1)" "packed: $function has a lock cmpxchg"
	done
else
	skip "no locked instruction" "not looked for on $(uname -m)"
fi

# One round: it also compares what each call returns.
rc=0
"$bin/time" -r 1 > "$log" 2>&1 || rc=$?
result "$rc" "the timing program runs, and each call returns what it should"

echo "1..$n"
exit "$((failed > 0))"
