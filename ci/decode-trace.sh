#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# decode-trace.sh KERNEL RUN: put RUN/console.log through the kernel's own
# scripts/decode_stacktrace.sh; writes RUN/trace.txt, the first call trace with
# what stands around it.
#
# KERNEL  what build.sh kept (vmlinux; lines of source need its debug info)
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || usage_die "usage: decode-trace.sh KERNEL RUN"
kernel=$1 run=$2
tree=$(field "$kernel/facts" tree)

# From 30 lines before the first trace to 60 lines after its start.
first=$(grep -n -m 1 'Call Trace' "$run/console.log" | cut -d: -f1)
{ sed -n "$((first > 30 ? first - 30 : 1)),$((first + 60))p" "$run/console.log" | tr -d '\r'; } > "$run/trace.txt"

# Without debug info it would take the offsets away and give no lines for them.
grep -q '^CONFIG_DEBUG_INFO=y' "$kernel/.config" || exit 0
"$tree/scripts/decode_stacktrace.sh" "$kernel/vmlinux" "$tree" \
	< "$run/trace.txt" > "$run/trace.new" 2> "$run/trace.log"
mv "$run/trace.new" "$run/trace.txt"
