#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# config.sh: requested against final. fixtures/kconfig.mk plays Kconfig: it
# drops the options in $tree/drops and adds those in $tree/adds.

load common

setup()
{
	tree=$tmp/tree
	obj=$tmp/obj
	mkdir "$tree" "$tmp/configs"
	cp "$fixtures/kconfig.mk" "$tree/Makefile"
	: > "$tree/drops"
	: > "$tree/adds"
	export KERNEL_CONFIG=$tmp/configs BASE=6.12 ARCH=x86_64
	fragment x86_64
	printf '%s\t%s\n' small "boot" normal "boot mm" > "$tmp/configs/variants"
	fragment boot CONFIG_64BIT=y CONFIG_NR_CPUS=64 'CONFIG_CMDLINE="a b"'
	fragment mm CONFIG_SWAP=y CONFIG_ZSWAP=y
	printf 'console=ttyS0\npanic=-1\n' > "$tmp/configs/boot.boot"
}

fragment()
{
	{ echo "# a comment"; printf '%s\n' "${@:2}"; } > "$tmp/configs/$1.config"
}

config()
{
	run "$top/ci/config.sh" "$1" "$tree" "$obj"
}

@test "what was asked for is there, and the boot parameters beside it" {
	config normal
	is 0 "$status"
	for option in CONFIG_64BIT=y CONFIG_NR_CPUS=64 'CONFIG_CMDLINE="a b"' CONFIG_SWAP=y; do
		grep -qxF "$option" "$obj/.config"
	done
	is "console=ttyS0 panic=-1 " "$(cat "$obj/boot-parameters"; echo -n)"
}

@test "a variant has its own fragments and no other" {
	config small
	is 0 "$status"
	run ! grep -q SWAP "$obj/.config"
}

@test "a dropped option is an error that names option and fragment" {
	echo CONFIG_ZSWAP > "$tree/drops"
	config normal
	is 1 "$status"
	has CONFIG_ZSWAP
	has kernel-config/mm.config
	has_not CONFIG_SWAP:
	has_not boot.config
	[ ! -e "$obj/.config" ]
}

@test "an option that came out otherwise is one too" {
	fragment mm '# CONFIG_SWAP is not set' CONFIG_ZSWAP=y CONFIG_LOG=12
	printf '%s\n' CONFIG_SWAP CONFIG_LOG > "$tree/drops"
	printf '%s\n' CONFIG_SWAP=y CONFIG_LOG=17 > "$tree/adds"
	config normal
	is 1 "$status"
	has "CONFIG_SWAP: fragment kernel-config/mm.config wants n, Kconfig made it y"
	has "CONFIG_LOG: fragment kernel-config/mm.config wants 12, Kconfig made it 17"
}

@test "all dropped options are told at once" {
	printf '%s\n' CONFIG_ZSWAP CONFIG_64BIT > "$tree/drops"
	config normal
	is 1 "$status"
	has CONFIG_ZSWAP
	has CONFIG_64BIT
}

@test "the last line of a fragment counts without a newline too" {
	printf 'CONFIG_SWAP=y\nCONFIG_ZSWAP=y' > "$tmp/configs/mm.config"
	echo CONFIG_ZSWAP > "$tree/drops"
	config normal
	is 1 "$status"
	has CONFIG_ZSWAP
	: > "$tree/drops"
	printf 'CONFIG_64BIT=y' > "$tmp/configs/boot.config"
	config normal
	is 0 "$status"
	grep -qx CONFIG_SWAP=y "$obj/.config"
}

@test "an option that is not asked for may be on" {
	echo CONFIG_EXTRA=y > "$tree/adds"
	config normal
	is 0 "$status"
}

@test "asked for as off and left out is no drop" {
	fragment mm '# CONFIG_SWAP is not set' CONFIG_ZSWAP=n
	printf '%s\n' CONFIG_SWAP CONFIG_ZSWAP > "$tree/drops"
	config normal
	is 0 "$status"
}

@test "a later fragment overrules an earlier one" {
	fragment boot CONFIG_64BIT=y CONFIG_SWAP=y CONFIG_NR_CPUS=64
	fragment mm '# CONFIG_SWAP is not set' CONFIG_NR_CPUS=8
	config normal
	is 0 "$status"
	grep -qx CONFIG_NR_CPUS=8 "$obj/.config"
	run ! grep -q CONFIG_SWAP=y "$obj/.config"
}

@test "an unknown variant: exit status 2 and its name" {
	config huge
	is 2 "$status"
	has "'huge'"
	[ ! -e "$obj/.config" ]
}

@test "a variant whose fragment is not there" {
	printf 'odd\tboot nothere\n' >> "$tmp/configs/variants"
	config odd
	is 1 "$status"
	has nothere
}

@test "a Kconfig that fails: its own words, and no configuration" {
	printf 'allnoconfig:\n\t@echo "mm/Kconfig:12: syntax error" >&2; false\n' > "$tree/Makefile"
	config normal
	is 1 "$status"
	has "mm/Kconfig:12: syntax error"
	has normal
}

@test "the project's own variants are made of fragments that are there" {
	local variant fragments f
	unset KERNEL_CONFIG
	while read -r variant fragments; do
		case $variant in ""|"#"*) continue ;; esac
		for f in $fragments; do
			[ -f "$top/kernel-config/$f.config" ] || { echo "$variant: $f"; return 1; }
		done
	done < "$top/kernel-config/variants"
}

@test "the project's own fragments hold nothing that would be passed over" {
	run grep -nvE '^(CONFIG_[A-Z0-9_]+=("[^"]*"|[^ ]+)|# CONFIG_[A-Z0-9_]+ is not set|#.*|)$' \
		"$top"/kernel-config/*.config
	is "" "$output"
	# A typing error makes a comment of the second form.
	run grep -nE '^# *CONFIG_' "$top"/kernel-config/*.config
	while IFS= read -r line; do
		[[ "$line" =~ ^(|.*:[0-9]+:# CONFIG_[A-Z0-9_]+ is not set)$ ]] || { echo "$line"; return 1; }
	done <<< "$output"
}
