#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lockless.sh VMLINUX FUNCTION...: does a function of a built kernel take a
# lock or an atomic? Prints each offending instruction as "FUNCTION: text".
#
# Looked for on x86-64: the lock prefix, an exchange with memory (it locks
# without one), and any call of a function that is not among those given, as
# what it does is not looked at. A function that is not in VMLINUX is an error
# too: it cannot be said to be lockless.
# Exits 0 when there is none, 1 when there is one, 2 for a missing function.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: lockless.sh VMLINUX FUNCTION..."
vmlinux=$1
shift
given=$(printf '%s|' "$@")

found=0
for function in "$@"; do
	code=$(objdump -dr --no-show-raw-insn "--disassemble=$function" "$vmlinux" | sed -n "/<$function>:\$/,\$p")
	[ -n "$code" ] || usage_die "$function is not in $vmlinux"
	offending=$(printf '%s\n' "$code" |
		grep -E '\block\b|\bxchg[bwlq]? .*(\(|%gs:)|\bcall\b|\bjmp .*<[^+>]*>' |
		grep -vE "(call|jmp) .*<(${given%|})>" || true)
	if [ -n "$offending" ]; then
		printf '%s\n' "$offending" | sed "s/^/$function: /"
		found=1
	fi
done
exit "$found"
