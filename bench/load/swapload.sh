#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# swapload.sh TASKS PAGES FOLIO_KB ROUNDS [LOCK_STAT]: run swapload, in the folder
# of this script, with an area on zram for all its pages, and undo all set-up.
#
# The arguments are those of swapload. The memory controller's hierarchy is the
# one that is mounted, v1 at /sys/fs/cgroup/memory or v2 at /sys/fs/cgroup. Needs
# root and zram; refuses to run if other swap is on. Large folios of one size are
# enabled where they are advised, or none. Exits with what swapload does, 1 when
# the set-up failed.

here=$(cd "$(dirname "$0")" && pwd)
thp=/sys/kernel/mm/transparent_hugepage

die()
{
	echo "swapload.sh: $*" >&2
	exit 1
}

[ $# = 4 ] || [ $# = 5 ] || { echo "usage: swapload.sh TASKS PAGES FOLIO_KB ROUNDS [LOCK_STAT]" >&2; exit 2; }
tasks=$1 pages=$2 folio_kb=$3 rounds=$4 lock_stat=$5
[ "$(grep -c . /proc/swaps)" = 1 ] || die "other swap is on: turn it off, the load counts all swap"

cgroup=/sys/fs/cgroup/swapload
[ ! -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] || cgroup=/sys/fs/cgroup/memory/swapload

# set_value FILE VALUE: write it, until the end
set_=
set_value()
{
	old=$(sed 's/.*\[\(.*\)\].*/\1/' "$1") || die "cannot read $1"
	set_="$1 $old
$set_"
	echo "$2" > "$1" || die "cannot write $2 to $1"
}

undo()
{
	[ -z "$device" ] || swapoff "$device" 2> /dev/null
	[ -z "$device" ] || echo "${device#/dev/zram}" > /sys/class/zram-control/hot_remove
	# Its tasks' cgroups, too, if it has failed.
	[ ! -d "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} +
	echo "$set_" | while read -r file value; do
		[ -z "$file" ] || echo "$value" > "$file"
	done
}
device=
trap undo EXIT
trap 'exit 130' INT TERM HUP

for size in "$thp"/hugepages-*kB; do
	[ -e "$size/enabled" ] || continue
	case $size in
	*/hugepages-"$folio_kb"kB) set_value "$size/enabled" madvise ;;
	*)                         set_value "$size/enabled" never ;;
	esac
done
[ "$folio_kb" = 0 ] || [ -e "$thp/hugepages-${folio_kb}kB" ] || die "no folios of $folio_kb kB on this kernel"
set_value /proc/sys/vm/page-cluster 0

mkdir "$cgroup" || die "cannot make $cgroup"
case $cgroup in
*/memory/*) ;;
*)	{ echo +memory > /sys/fs/cgroup/cgroup.subtree_control &&
		echo +memory > "$cgroup/cgroup.subtree_control"; } ||
		die "the memory controller is not on cgroup v2"
	;;
esac

device=/dev/zram$(cat /sys/class/zram-control/hot_add) || die "needs zram"
# A half more: a slot that was freed is not used again at once.
page_kb=$(sed -n 's/^KernelPageSize: *\([0-9]*\) kB/\1/p' /proc/self/smaps | head -n 1)
{ echo $((tasks * pages * page_kb * 3 / 2))K > "/sys/block/${device#/dev/}/disksize" &&
	mkswap "$device" > /dev/null && swapon "$device"; } || die "cannot swap to $device"

"$here/swapload" "$cgroup" "$tasks" "$pages" "$folio_kb" "$rounds" ${lock_stat:+"$lock_stat"}
