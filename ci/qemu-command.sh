#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# qemu-command.sh KERNEL INITRAMFS ACCEL SMP MEM GUEST-ARGS [PORT=FILE...]:
# print the QEMU command that boots the guest, one argument a line.
#
# KERNEL     what build.sh kept: image, .config, boot-parameters
# ACCEL      kvm or tcg
# SMP, MEM   virtual CPUs; memory as QEMU writes it (1G)
# GUEST-ARGS words for the guest's init (see selftests/guest/init); what they
#            take the kernel to do is added here
# PORT=FILE  a virtio port of that name whose bytes go to FILE
#
# The serial console is QEMU's stdin and stdout, with its monitor's escape
# (C-a): a host script can send a break for sysrq through it.
# QEMU in the environment names another QEMU.
. "$(dirname "$0")/lib.sh"

[ $# -ge 6 ] || usage_die "usage: qemu-command.sh KERNEL INITRAMFS ACCEL SMP MEM GUEST-ARGS [PORT=FILE...]"
kernel=$1 initramfs=$2 accel=$3 smp=$4 mem=$5 guest_args=$6
shift 6
qemu=${QEMU:-qemu-system-x86_64}

# microvm has no PCI and boots in half the time; it announces its virtio-mmio
# devices on the kernel's command line, which needs an option. Else q35.
if grep -q '^CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES=y' "$kernel/.config" &&
   grep -q '^microvm ' <<< "$("$qemu" -M help)"; then
	machine=microvm,acpi=off bus=device
elif grep -q '^CONFIG_VIRTIO_PCI=y' "$kernel/.config"; then
	machine=q35 bus=pci
else
	die "this kernel has neither VIRTIO_MMIO_CMDLINE_DEVICES nor VIRTIO_PCI: QEMU has no machine for it"
fi

case $accel in
kvm) accelerator=kvm cpu=host ;;
# tcg: 'max' offers what the kernel of the host's compiler may use
tcg) accelerator=tcg,thread=multi cpu=max ;;
*)   usage_die "accelerator '$accel' is not known (kvm, tcg)" ;;
esac

# Memory cgroups can be disabled by the kernel alone.
case " $guest_args " in
*" guest.cgroup=off "*) guest_args="cgroup_disable=memory $guest_args" ;;
esac

printf '%s\n' "$qemu" -M "$machine" -accel "$accelerator" -cpu "$cpu" \
	-smp "$smp" -m "$mem" -no-reboot -nodefaults -display none \
	-kernel "$kernel/image" -initrd "$initramfs" \
	-append "$(cat "$kernel/boot-parameters")$guest_args" \
	-chardev stdio,id=console,mux=on,signal=off -serial chardev:console \
	-mon chardev=console
if [ $# -gt 0 ]; then
	printf '%s\n' -device "virtio-serial-$bus"
	for port in "$@"; do
		printf '%s\n' -chardev "file,id=${port%%=*},path=${port#*=}" \
			-device "virtserialport,chardev=${port%%=*},name=${port%%=*}"
	done
fi
