#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# initramfs.sh TREE SELFTESTS OUT: pack the guest into OUT (cpio): busybox,
# coreutils' timeout and stdbuf (kselftest's runner uses them), the guest's
# init, and the kselftests with the shared libraries that they are linked to.
#
# TREE       for its own usr/gen_init_cpio, which needs no root for /dev nodes
# SELFTESTS  what selftests.sh laid out
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: initramfs.sh TREE SELFTESTS OUT"
tree=$1 selftests=$(realpath "$2") out=$3

work=$(mktemp -d)
on_exit rm -rf "$work"
cc -O2 -o "$work/gen_init_cpio" "$tree/usr/gen_init_cpio.c"

tools=("$(command -v timeout)" "$(command -v stdbuf)")
# Two libraries that nothing is linked to: stdbuf preloads the one, and
# pthread_cancel() loads the other.
libstdbuf=$(find /usr/libexec /usr/lib -path '*coreutils/libstdbuf.so' 2> /dev/null | head -n 1 || true)
libgcc=$(cc -print-file-name=libgcc_s.so.1)
{
	for d in /bin /sbin /dev /proc /sys /tmp /etc /usr /usr/bin /usr/sbin /mnt /kselftest; do
		echo "dir $d 0755 0 0"
	done
	echo "nod /dev/console 0600 0 0 c 5 1"
	echo "file /bin/busybox /bin/busybox 0755 0 0"
	echo "slink /bin/sh busybox 0755 0 0"
	for f in "${tools[@]}"; do
		echo "file /usr/bin/${f##*/} $f 0755 0 0"
	done
	echo "file /init $top/selftests/guest/init 0755 0 0"
	echo "file /run-tests $top/selftests/guest/run-tests 0755 0 0"

	(cd "$selftests" && find . -mindepth 1 -type d -printf '%P\n' | sort) |
	while IFS= read -r d; do
		echo "dir /kselftest/$d 0755 0 0"
	done
	(cd "$selftests" && find . -type f ! -name '*.o' ! -name log -printf '%P\n' | sort) |
	while IFS= read -r f; do
		echo "file /kselftest/$f $selftests/$f 0755 0 0"
	done

	# Shared libraries, at the paths under which the loader looks for them.
	# ldd fails on the scripts among them, which need none, as does a busybox
	# that is static; one that is not will do as well.
	{ find "$selftests" "${tools[@]}" /bin/busybox -type f -perm -u+x -exec ldd {} + 2> /dev/null || true; } |
		grep -oE '/[^ :]+\.so[^ :]*' | sort -u - <(printf '%s\n' "$libstdbuf" "/lib/${libgcc##*/}") > "$work/libraries"
	while IFS= read -r lib; do
		d=${lib%/*}
		while [ -n "$d" ]; do
			echo "$d"
			d=${d%/*}
		done
	done < "$work/libraries" | sort -u | grep -vxE '/usr|/bin' | sed 's/.*/dir & 0755 0 0/'
	while IFS= read -r lib; do
		case $lib in
		*/libgcc_s.so.1) echo "file $lib $(realpath "$libgcc") 0755 0 0" ;;
		*)               echo "file $lib $(realpath "$lib") 0755 0 0" ;;
		esac
	done < "$work/libraries"
} > "$work/list"

"$work/gen_init_cpio" "$work/list" > "$out.new"
mv "$out.new" "$out"
