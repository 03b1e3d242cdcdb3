#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# A topic, a base and an architecture are data: a toy of each is added to a copy of
# this project by files alone (and lines of the series), and every step knows it.

load common

setup()
{
	repo=$tmp/repo
	mkdir "$repo"
	(cd "$top" && files | grep -v '^ci/tests/fixtures/' | xargs cp --parents -t "$repo")
	cd "$repo" || return
	export SMP=4 MEM=1G JOBS=1
}

# toy_topic BASE: on top of nothing, with one patch, one test, one mutant
toy_topic()
{
	export BASE=$1
	mkdir -p "patches/$1/toy" "selftests/toy/$1/mutants" selftests/toy/cgroup
	echo "$1/toy/0001-toy.patch" >> "series/$1"
	printf 'diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n' > "patches/$1/toy/0001-toy.patch"
	printf 'cgroup:test_toy\tv2\t3\n' > selftests/toy/plan
	printf 'lock=&toy->lock\n' > selftests/toy/topic
	printf 'Kernel: default\n' > "selftests/toy/$1/mutants/0001-broken-toy.patch"
	printf '.PHONY: toy-count\ntoy-count: ## count toys\n\t@echo 3\n' > selftests/toy/targets.mk
	printf 'toy 1 toy-count\n' > selftests/toy/check-all
}

@test "a topic: make knows its name, tests, mutants and targets" {
	toy_topic 6.12
	for words in TOPIC=toy TESTS=cgroup:test_toy MUTANTS=0001-broken-toy "TOPIC=toy TESTS=cgroup:test_toy"; do
		# shellcheck disable=SC2086 # words for make
		run -0 make help $words
		has "toy-count      count toys"
	done
	run -2 make help TOPIC=toy MUTANTS=0025-free-leaves-record
	is 3 "$(make -s toy-count)"
	export ARCH=x86_64
	mkdir -p "$tmp/o"
	touch "$tmp/o/source"
	program fetches <<-EOF
		#!/bin/sh
		case "\$*" in *fetch*) exit 0 ;; esac
		exec make "\$@"
	EOF
	MAKE=fetches run -0 ci/check-all.sh "$tmp/o" "$tmp/o" toy
	has "toy: passed"
}

@test "a topic: it stands alone, its states hold no other's patches" {
	toy_topic 6.12
	export TOPIC=toy
	is toy "$(ci/list.sh topics)"
	is "" "$(ci/list.sh patches before)"
	is 6.12/toy/0001-toy.patch "$(ci/list.sh patches after)"
	is "cgroup:test_toy	v2	3" "$(ci/list.sh own-plan)"
	is "&toy->lock" "$(ci/list.sh locks)"
	mkdir "$tmp/tree"
	echo 1 > "$tmp/tree/b"
	ci/apply.sh "$tmp/tree" after
	is 2 "$(cat "$tmp/tree/b")"
	ci/apply.sh "$tmp/tree" before
	is 1 "$(cat "$tmp/tree/b")"
}

@test "a topic that builds on another has its patches in both states, and its tests" {
	toy_topic 6.12
	echo builds-on=swap-cgroup-fixes >> selftests/toy/topic
	export TOPIC=toy
	is "$(grep /swap-cgroup-fixes/ series/6.12)" "$(ci/list.sh patches before)"
	is "$(grep -E '/(swap-cgroup-fixes|toy)/' series/6.12)" "$(ci/list.sh patches after)"
	is "$(printf '%s\n' swap-cgroup-fixes toy)" "$(ci/list.sh topics)"
	# What shows the fixes are the tests of all that builds on them.
	TOPIC=swap-cgroup-fixes
	ci/list.sh own-plan | grep -q cgroup:test_toy
	ci/list.sh own-plan | grep -q cgroup:test_swap_charge
}

@test "a base: its package, its source, and the options that it lacks" {
	printf '%s\n' packages=linux-source-9.9:/nowhere/linux-9.9.tar source=/nowhere/linux-9.9.tar lacks=SWAP > ci/bases/9.9
	toy_topic 9.9
	run -0 make help BASE=9.9 TOPIC=toy
	is toy "$(ci/list.sh topics)"
	run -1 ci/deps.sh check bases/9.9
	has "missing: linux-source-9.9"
	run -1 ci/fetch.sh 9.9 "" "$tmp/source"
	has "no /nowhere/linux-9.9.tar: install the package linux-source-9.9"
	mkdir "$tmp/tree"
	cp "$fixtures/kconfig.mk" "$tmp/tree/Makefile"
	touch "$tmp/tree/drops" "$tmp/tree/adds"
	ARCH=x86_64 ci/config.sh default "$tmp/tree" "$tmp/obj"
	grep -q '^CONFIG_ZRAM=y' "$tmp/obj/.config"
	run ! grep -q '^CONFIG_SWAP=y' "$tmp/obj/.config"
}

@test "an architecture: QEMU, its machine, the console, kernel options, what locks" {
	printf '%s\n' packages=qemu-toy:qemu-system-toy qemu=qemu-system-toy \
		"machine=marble CONFIG_VIRTIO_PCI pci" 'locked=\bhold\b' 'call=\bgo\b' 'jump=\bhop\b' > ci/arch/toy
	echo CONFIG_TOY=y > kernel-config/toy.config
	echo console=ttyTOY > kernel-config/toy.boot
	export BASE=6.12 ARCH=toy
	run -0 make help
	run -1 ci/deps.sh check arch/toy
	has "missing: qemu-toy"
	mkdir "$tmp/tree"
	cp "$fixtures/kconfig.mk" "$tmp/tree/Makefile"
	touch "$tmp/tree/drops" "$tmp/tree/adds"
	ci/config.sh default "$tmp/tree" "$tmp/obj"
	grep -q '^CONFIG_TOY=y' "$tmp/obj/.config"
	run ! grep -q X86_MPPARSE "$tmp/obj/.config"
	program qemu-system-toy <<< 'echo "marble   a toy"'
	run -0 ci/qemu-command.sh "$tmp/obj" initramfs tcg guest.mode=shell
	is qemu-system-toy "${lines[0]}"
	is marble "${lines[2]}"
	has "console=ttyTOY panic=-1"
	program nm <<< 'echo "0 T put"'
	program objdump <<< 'printf "0 <put>:\n 1: hold r1\n 2: hop 5 <put+0x3>\n"'
	run -1 ci/lockless.sh vmlinux put
	is "put:  1: hold r1" "$output"
	program objdump <<< 'printf "0 <put>:\n 1: go 9 <other>\n 2: hop 9 <other>\n 3: go 0 <put>\n"'
	run -1 ci/lockless.sh vmlinux put
	is "put:  1: go 9 <other>;put:  2: hop 9 <other>" "$(paste -sd';' <<< "$output")"
}
