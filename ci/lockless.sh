#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lockless.sh VMLINUX FUNCTION...: does a function of a built kernel take a
# lock or an atomic? Prints each offending instruction as "FUNCTION: text".
#
# Looked for: an instruction that locks (ci/arch/ARCH), and any call to a function that
# is not given, since its body is not checked. A function that is not in VMLINUX is an
# error: nothing can be said of it.
# Exits 0 when there is none, 1 when there is one, 2 for a missing function.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: lockless.sh VMLINUX FUNCTION..."
need ARCH
vmlinux=$1
shift
facts=$top/ci/arch/$ARCH
locked=$(field "$facts" locked) call=$(field "$facts" call) jump=$(field "$facts" jump)
given=$(printf '%s|' "$@")
# The compiler may give a changed copy of a function another name.
suffix='(\.(isra|constprop|part)\.[0-9]+)*'

found=0
for function in "$@"; do
	symbol=$(nm "$vmlinux" | awk '{ print $3 }' | grep -m 1 -xE "$function$suffix" || true)
	[ -n "$symbol" ] || usage_die "$function is not in $vmlinux"
	code=$("${CROSS_COMPILE:-}objdump" -dr --no-show-raw-insn "--disassemble=$symbol" "$vmlinux" | sed -n "/<$symbol>:\$/,\$p")
	offending=$(printf '%s\n' "$code" |
		grep -E "$locked|$call|($jump) .*<[^+>]*>" |
		grep -vE "($call|$jump) .*<(${given%|})$suffix>" || true)
	if [ -n "$offending" ]; then
		printf '%s\n' "$offending" | sed "s/^/$function: /"
		found=1
	fi
done
exit "$found"
