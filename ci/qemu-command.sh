#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# qemu-command.sh KERNEL INITRAMFS ACCEL GUEST-ARGS [PORT=FILE...]:
# print the QEMU command that boots the guest, one argument a line.
#
# KERNEL     what build.sh kept: image, .config, boot-parameters
# ACCEL      kvm or tcg; icount: tcg whose clock counts instructions, one CPU
# GUEST-ARGS words for the guest's init (see selftests/guest/init); what they
#            take the kernel to do is added here
# PORT=FILE  a virtio port of that name whose bytes go to FILE
#
# The serial console is QEMU's stdin and stdout, with its monitor's escape
# (C-a): a host script can send a break for sysrq through it.
# The machine is the first of ci/arch/ARCH that kernel and QEMU both have: on x86-64,
# microvm has no PCI and boots in half the time of q35.
# From the environment: ARCH; SMP, virtual CPUs; MEM, memory as QEMU writes it (1G);
# QEMU, if another one is to be called.
. "$(dirname "$0")/lib.sh"

[ $# -ge 4 ] || usage_die "usage: qemu-command.sh KERNEL INITRAMFS ACCEL GUEST-ARGS [PORT=FILE...]"
need SMP MEM ARCH
kernel=$1 initramfs=$2 accel=$3 guest_args=$4
shift 4
facts=$top/ci/arch/$ARCH
qemu=${QEMU:-$(field "$facts" qemu)}

machine=
while read -r name option bus; do
	if grep -q "^$option=y" "$kernel/.config" && grep -qE "^${name%%,*}( |\$)" <<< "$("$qemu" -M help)"; then
		machine=$name
		break
	fi
done < <(field "$facts" machine)
[ -n "$machine" ] || die "QEMU has no machine for this kernel: it needs one of $(field "$facts" machine |
	awk '{ print $2 " (" $1 ")" }' | paste -sd,)"

case $accel in
kvm) accelerator=kvm cpu=host ;;
# tcg: 'max' offers what the kernel of the host's compiler may use
tcg) accelerator=tcg,thread=multi cpu=max ;;
# The guest's clock counts instructions: the same number in each boot.
icount) accelerator=tcg,thread=single cpu=max ;;
*)   usage_die "accelerator '$accel' is not known (kvm, tcg, icount)" ;;
esac
[ "$accel" != icount ] || [ "$SMP" = 1 ] || usage_die "icount needs SMP=1, not $SMP"

# Memory cgroups can be disabled by the kernel alone.
case " $guest_args " in
*" guest.cgroup=off "*) guest_args="cgroup_disable=memory $guest_args" ;;
esac

printf '%s\n' "$qemu" -M "$machine" -accel "$accelerator" -cpu "$cpu" \
	-smp "$SMP" -m "$MEM" -no-reboot -nodefaults -display none \
	-kernel "$kernel/image" -initrd "$initramfs" \
	-append "$(cat "$kernel/boot-parameters")$guest_args" \
	-chardev stdio,id=console,mux=on,signal=off -serial chardev:console \
	-mon chardev=console
[ "$accel" != icount ] || printf '%s\n' -icount shift=0,sleep=off
if [ $# -gt 0 ]; then
	printf '%s\n' -device "virtio-serial-$bus"
	for port in "$@"; do
		printf '%s\n' -chardev "file,id=${port%%=*},path=${port#*=}" \
			-device "virtserialport,chardev=${port%%=*},name=${port%%=*}"
	done
fi
