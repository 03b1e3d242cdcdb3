#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lockless.sh VMLINUX FUNCTION...: does a function of a built kernel take a
# lock or an atomic? Prints each offending instruction as "FUNCTION: text".
#
# Looked for on x86-64: the lock prefix, an exchange with memory (it locks
# without one), and a call or jump to a function of locking. A function that
# is not in VMLINUX is an error too: it cannot be said to be lockless.
# Exits 0 when there is none, 1 when there is one, 2 for a missing function.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: lockless.sh VMLINUX FUNCTION..."
vmlinux=$1
shift

found=0
for function in "$@"; do
	code=$(objdump -d --no-show-raw-insn "--disassemble=$function" "$vmlinux" | sed -n "/<$function>:\$/,\$p")
	[ -n "$code" ] || usage_die "$function is not in $vmlinux"
	offending=$(printf '%s\n' "$code" |
		grep -E '\block\b|\bxchg[bwlq]? .*\(|(call|j[a-z]+) .*<[^>]*(spin|mutex|rwsem|_lock|_unlock|atomic|preempt)' || true)
	if [ -n "$offending" ]; then
		printf '%s\n' "$offending" | sed "s/^/$function: /"
		found=1
	fi
done
exit "$found"
