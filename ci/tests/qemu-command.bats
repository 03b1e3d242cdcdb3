#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# qemu-command.sh: the machine that QEMU plays. QEMU itself is not started; a
# script that lists machines stands for it.

load common

setup()
{
	export SMP=4 MEM=1G ARCH=x86_64
	kernel=$tmp/kernel
	mkdir "$kernel"
	printf '%s\n' CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES=y CONFIG_VIRTIO_PCI=y > "$kernel/.config"
	printf 'console=ttyS0 reboot=t panic=-1 ' > "$kernel/boot-parameters"
	program qemu <<-'EOF'
		#!/bin/sh
		echo "Supported machines are:"
		echo "microvm              microvm (i386)"
		echo "q35                  Standard PC (Q35 + ICH9, 2009) (alias of pc-q35-7.2)"
	EOF
	export QEMU=qemu
}

# command [ARGS...]: the default call, with an accelerator or ports of one's own
command_of()
{
	run "$top/ci/qemu-command.sh" "$kernel" initramfs.cpio "${1:-tcg}" "guest.mode=marker" "${@:2}"
}

# option NAME: what follows the (first) option of that name
option()
{
	printf '%s\n' "${lines[@]}" | grep -A1 -xe "$1" | sed -n 2p
}

@test "microvm where kernel and QEMU can" {
	command_of
	is 0 "$status"
	is qemu "${lines[0]}"
	is microvm,acpi=off "$(option -M)"
	is 4 "$(option -smp)"
	is 1G "$(option -m)"
	is "$kernel/image" "$(option -kernel)"
	is initramfs.cpio "$(option -initrd)"
	has "-no-reboot"
}

@test "microvm is seen in a long list of machines" {
	# A reader that stops at the first hit leaves the writer to a SIGPIPE.
	program qemu <<-'EOF'
		#!/bin/sh
		echo "microvm              microvm (i386)"
		/bin/sleep 0.3
		seq 20000 || exit 141
	EOF
	command_of
	is microvm,acpi=off "$(option -M)"
}

@test "q35 where this QEMU has no microvm" {
	program qemu <<-'EOF'
		#!/bin/sh
		echo "q35                  Standard PC (Q35 + ICH9, 2009)"
	EOF
	command_of tcg ktap=ktap.log
	is q35 "$(option -M)"
	is virtio-serial-pci "$(option -device)"
}

@test "q35 where the kernel reads no device from its command line" {
	sed -i '/MMIO/s/.*/# CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES is not set/' "$kernel/.config"
	command_of
	is q35 "$(option -M)"
}

@test "neither: stops and names both options" {
	echo "CONFIG_64BIT=y" > "$kernel/.config"
	command_of
	is 1 "$status"
	has VIRTIO_MMIO_CMDLINE_DEVICES
	has VIRTIO_PCI
	has_not -kernel
}

@test "accelerators: tcg with threads, kvm with the host's CPU" {
	command_of tcg
	is tcg,thread=multi "$(option -accel)"
	is max "$(option -cpu)"
	command_of kvm
	is kvm "$(option -accel)"
	is host "$(option -cpu)"
}

@test "an unknown accelerator stops, with what is allowed" {
	command_of auto
	is 2 "$status"
	has "'auto'"
	has "kvm, tcg"
}

@test "the kernel's parameters and the guest's are one argument" {
	command_of
	is "console=ttyS0 reboot=t panic=-1 guest.mode=marker" "$(option -append)"
}

@test "a guest without memory cgroups has a kernel that is told so" {
	run "$top/ci/qemu-command.sh" "$kernel" initramfs.cpio tcg "guest.mode=tests guest.cgroup=off guest.tests=a"
	is 0 "$status"
	is "console=ttyS0 reboot=t panic=-1 cgroup_disable=memory guest.mode=tests guest.cgroup=off guest.tests=a" "$(option -append)"
	run "$top/ci/qemu-command.sh" "$kernel" initramfs.cpio tcg "guest.mode=tests guest.cgroup=v2"
	has_not cgroup_disable
}

@test "each port has a file, a device and its name" {
	command_of tcg ktap=/run/ktap.log load=/run/load.log
	is virtio-serial-device "$(option -device)"
	has "file,id=ktap,path=/run/ktap.log"
	has "virtserialport,chardev=ktap,name=ktap"
	has "file,id=load,path=/run/load.log"
	has "virtserialport,chardev=load,name=load"
}

@test "icount: a clock that counts instructions, on one CPU" {
	SMP=1
	run "$top/ci/qemu-command.sh" "$kernel" initramfs.cpio icount guest.mode=marker
	is 0 "$status"
	is tcg,thread=single "$(option -accel)"
	is shift=0,sleep=off "$(option -icount)"
	command_of tcg
	has_not icount
	SMP=4
	run "$top/ci/qemu-command.sh" "$kernel" initramfs.cpio icount guest.mode=marker
	is 2 "$status"
	has "needs SMP=1"
}

@test "no ports: no serial bus either" {
	command_of
	has_not virtio-serial
}

@test "the console is stdin and stdout, with the escape that sysrq needs" {
	command_of
	has "stdio,id=console,mux=on,signal=off"
	is chardev:console "$(option -serial)"
	is chardev=console "$(option -mon)"
}

@test "the real QEMU takes the command" {
	unset QEMU
	command -v qemu-system-x86_64 > /dev/null || skip "no qemu-system-x86_64 here"
	command_of tcg "ktap=$tmp/ktap.log"
	is 0 "$status"
	# Started frozen, and told to quit at once: it parses all of it first, and
	# complains of the kernel last.
	mapfile -t words <<< "$output"
	head -c 8192 /dev/zero > "$kernel/image"
	: > "$tmp/initramfs.cpio"
	run timeout 20 "${words[@]/#initramfs.cpio/$tmp/initramfs.cpio}" -S < <(printf '\001x')
	is 1 "$status"
	is "qemu: linux kernel too old to load a ram disk" "$output"
}
