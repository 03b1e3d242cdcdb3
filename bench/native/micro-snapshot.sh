#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# micro-snapshot.sh TREE DIR: copy the map's file and header from a kernel tree.
#
# TREE  a kernel tree in the state that is wanted (see apply.sh); only read
# DIR   gets mm/swap_cgroup.c and include/linux/swap_cgroup.h, byte for byte
. "$(dirname "$0")/../../ci/lib.sh"

[ $# = 2 ] || usage_die "usage: micro-snapshot.sh TREE DIR"
tree=$1 dir=$2
[ -f "$tree/mm/swap_cgroup.c" ] || usage_die "$tree has no mm/swap_cgroup.c"
mkdir -p "$dir/mm" "$dir/include/linux"
cp "$tree/include/linux/swap_cgroup.h" "$dir/include/linux/"
# last, as it is what Make looks at
cp "$tree/mm/swap_cgroup.c" "$dir/mm/"
