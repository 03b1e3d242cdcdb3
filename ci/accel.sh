#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# accel.sh KERNEL INITRAMFS ACCEL OUT: choose QEMU's accelerator by a boot that has to
# print a marker.
#
# ACCEL  kvm, tcg or icount (just that one), or auto (kvm if it works, else tcg)
# OUT    gets "accel=kvm|tcg|icount" and "reason=TEXT", with the time of that boot
#
# From the environment: ARCH; SMP and MEM, the guest's.
#
# Where /dev/kvm opens it may still not run a stock kernel, and QEMU does not
# fall back by itself. Fails when no accelerator boots to the marker.
. "$(dirname "$0")/lib.sh"

[ $# = 4 ] || usage_die "usage: accel.sh KERNEL INITRAMFS ACCEL OUT"
need SMP MEM
kernel=$1 initramfs=$2 wish=$3 out=$4

work=$(mktemp -d)
on_exit rm -rf "$work"

# marker ACCEL SECONDS: boot it; sets `seconds` to the whole seconds that it
# took, or to nothing, and fails, if no marker came in SECONDS.
marker()
{
	local command start=$SECONDS qemu t=
	"$top/ci/qemu-command.sh" "$kernel" "$initramfs" "$1" guest.mode=marker > "$work/command"
	mapfile -t command < "$work/command"
	"${command[@]}" < /dev/null > "$work/console" 2> "$work/error" &
	qemu=$!
	on_exit kill -9 "$qemu"
	while [ $((SECONDS - start)) -lt "$2" ]; do
		if grep -q '^guest: marker' "$work/console"; then
			t=$((SECONDS - start))
			break
		fi
		kill -0 "$qemu" || break
		sleep 0.2
	done 2> /dev/null	# where the shell says that QEMU was aborted
	kill -9 "$qemu" 2> /dev/null || true
	wait "$qemu" 2> /dev/null || true
	seconds=$t
	[ -n "$t" ] || return 1
	[ "$t" -gt 0 ] || seconds=1
}

kvm_says="not tried"
seconds=
if [ "$wish" = auto ] || [ "$wish" = kvm ]; then
	if [ ! -w /dev/kvm ]; then
		kvm_says="no usable /dev/kvm"
	elif marker kvm 20; then
		accel=kvm reason="a marker boot under KVM took $seconds s"
	else
		kvm_says="KVM opens but boots no guest to its marker"
	fi
fi
if [ -z "$seconds" ] && [ "$wish" != kvm ]; then
	accel=tcg
	[ "$wish" != icount ] || accel=icount
	# A host under load has been seen to take four times as long.
	if marker "$accel" 120; then
		reason="$kvm_says; a marker boot under ${accel^^} took $seconds s"
	else
		tail -n 3 "$work/console" "$work/error" >&2
	fi
fi
[ -n "$seconds" ] || die "ACCEL=$wish boots no guest ($kvm_says)"
printf '%s\n' "accel=$accel" "reason=$reason" > "$out"
