#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shell.sh KERNEL INITRAMFS ACCEL-FILE CGROUP: an interactive guest on
# this terminal. Leave with `exit`, or end QEMU with C-a x.
. "$(dirname "$0")/lib.sh"

[ $# = 4 ] || usage_die "usage: shell.sh KERNEL INITRAMFS ACCEL-FILE CGROUP"
command=$("$top/ci/qemu-command.sh" "$1" "$2" "$(field "$3" accel)" \
	"guest.mode=shell guest.cgroup=$4")
mapfile -t command <<< "$command"
exec "${command[@]}"
