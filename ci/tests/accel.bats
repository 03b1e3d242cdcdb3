#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# accel.sh: the choice between KVM and TCG by a boot to a marker. A script
# plays QEMU: what it prints for an accelerator stands in $tmp/kvm, $tmp/tcg.

load common

setup()
{
	kernel=$tmp/kernel
	mkdir "$kernel"
	echo CONFIG_VIRTIO_PCI=y > "$kernel/.config"
	: > "$kernel/boot-parameters"
	program qemu <<-EOF
		#!/bin/sh
		case "\$*" in
		*" help"*) echo q35; exit ;;
		esac
		accel=\$(printf '%s\n' "\$*" | sed 's/.*-accel \([a-z]*\).*/\1/')
		echo "\$accel" >> "$tmp/tried"
		echo \$\$ > "$tmp/pid"
		[ -e "$tmp/\$accel" ] || exit 1
		cat "$tmp/\$accel"
		exec cat "$tmp/forever"
	EOF
	mkfifo "$tmp/forever"
	export QEMU=qemu
	out=$tmp/accel
}

# What the host's /dev/kvm lets us see: with none, KVM is not even tried.
has_kvm()
{
	[ -w /dev/kvm ]
}

choose()
{
	export SMP=4 MEM=1G ARCH=x86_64
	run timeout -k 1 20 "$top/ci/accel.sh" "$kernel" initramfs.cpio "$1" "$out"
}

@test "auto: TCG where KVM boots nothing, with the reason" {
	echo "guest: marker" > "$tmp/tcg"
	choose auto
	is 0 "$status"
	is tcg "$(sed -n 's/^accel=//p' "$out")"
	if has_kvm; then
		is "kvm tcg" "$(paste -sd' ' "$tmp/tried")"
		grep -q '^reason=KVM opens but boots no guest to its marker.*TCG took' "$out"
	else
		is tcg "$(cat "$tmp/tried")"
		grep -q '^reason=no usable /dev/kvm.*TCG took' "$out"
	fi
}

@test "auto: KVM where it boots" {
	has_kvm || skip "no usable /dev/kvm here"
	echo "guest: marker" | tee "$tmp/kvm" > "$tmp/tcg"
	choose auto
	is 0 "$status"
	is kvm "$(sed -n 's/^accel=//p' "$out")"
	is kvm "$(cat "$tmp/tried")"
}

@test "icount: TCG, and it is said to count instructions" {
	echo "guest: marker" > "$tmp/tcg"
	export SMP=1 MEM=1G ARCH=x86_64
	run timeout -k 1 20 "$top/ci/accel.sh" "$kernel" initramfs.cpio icount "$out"
	is 0 "$status"
	is icount "$(sed -n 's/^accel=//p' "$out")"
}

@test "tcg: KVM is not tried" {
	echo "guest: marker" | tee "$tmp/kvm" > "$tmp/tcg"
	choose tcg
	is 0 "$status"
	is tcg "$(sed -n 's/^accel=//p' "$out")"
	is tcg "$(cat "$tmp/tried")"
}

@test "what is kept: the choice, and the reason in one line with the time" {
	echo "guest: marker" > "$tmp/tcg"
	choose tcg
	is "accel reason" "$(cut -d= -f1 "$out" | paste -sd' ')"
	grep -qE '^reason=.* took [1-9][0-9]* s$' "$out"
}

@test "the guest that printed the marker is ended" {
	echo "guest: marker" > "$tmp/tcg"
	choose tcg
	gone "$(cat "$tmp/pid")"
}

@test "kvm only: fails clearly, does not fall back, keeps nothing" {
	echo "guest: marker" > "$tmp/tcg"
	choose kvm
	is 1 "$status"
	has "ACCEL=kvm boots no guest"
	if has_kvm; then
		has "KVM opens but boots no guest to its marker"
	else
		has "no usable /dev/kvm"
	fi
	[ ! -e "$out" ]
	run ! grep -q tcg "$tmp/tried"
}

@test "none boots: fails, shows the end of the console, keeps nothing" {
	choose auto
	is 1 "$status"
	has "ACCEL=auto boots no guest"
	[ ! -e "$out" ]
}

@test "a console without the marker is no boot" {
	# The marker is a line of the guest's, not the echo of a parameter.
	echo "Kernel panic - not syncing: guest: marker" > "$tmp/tcg"
	rm "$tmp/forever"
	choose tcg
	is 1 "$status"
	has "Kernel panic - not syncing"
	[ ! -e "$out" ]
}
