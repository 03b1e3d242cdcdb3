#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# config.sh VARIANT TREE OBJ: write OBJ/.config from the variant's fragments.
#
# VARIANT  a name in kernel-config/variants
# TREE     the kernel tree
# OBJ      the object folder; also gets OBJ/boot-parameters
#
# The base is allnoconfig: what is on is on because a fragment asked for it
# or Kconfig's own default did. Kconfig drops an option whose dependencies are
# not met without a word, so what was requested is compared with what came
# out; a difference stops it, with the option and its fragment.
# Options that the base's Kconfig does not know (lacks in ci/bases/BASE) are not
# asked for. From the environment: BASE, ARCH; CROSS_COMPILE and LLVM reach kbuild.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: config.sh VARIANT TREE OBJ"
need BASE ARCH
variant=$1 tree=$(realpath "$2") obj=$3
configs=${KERNEL_CONFIG:-$top/kernel-config}

fragments=$(awk -v v="$variant" '$1 == v { $1 = ""; print }' "$configs/variants")
[ -n "$fragments" ] || usage_die "variant '$variant' is not in kernel-config/variants"
fragments="$ARCH $fragments"
lacks=$(field "$top/ci/bases/$BASE" lacks)

# wanted FRAGMENT: its lines, but for those of options that the base lacks
wanted()
{
	awk -v lacks="$lacks" '
		BEGIN { n = split(lacks, options, " "); while (n) lacking["CONFIG_" options[n--]] }
		{ option = $0; sub(/^# /, "", option); sub(/[= ].*/, "", option) }
		!(option in lacking)
	' "$configs/$1.config"
}

mkdir -p "$obj"
obj=$(realpath "$obj")
: > "$obj/requested"
: > "$obj/boot-parameters"
for f in $fragments; do
	[ -f "$configs/$f.config" ] || die "variant $variant: no fragment kernel-config/$f.config"
	wanted "$f" >> "$obj/requested"
	[ ! -f "$configs/$f.boot" ] || tr '\n' ' ' < "$configs/$f.boot" >> "$obj/boot-parameters"
done

for target in allnoconfig olddefconfig; do
	make -s -C "$tree" O="$obj" KCONFIG_ALLCONFIG="$obj/requested" "$target" > "$obj/config.log" 2>&1 || {
		tail -n 5 "$obj/config.log" >&2
		die "kbuild could not configure $variant"
	}
done

# Each fragment's wish against the result; a later fragment may overrule.
dropped=0
for f in $fragments; do
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		CONFIG_*=*)               option=${line%%=*} want=${line#*=} ;;
		"# CONFIG_"*" is not set") option=${line#\# } option=${option%% *} want=n ;;
		*)                        continue ;;
		esac
		last=$(grep -E "^($option=|# $option is not set)" "$obj/requested" | tail -n 1)
		[ "$last" = "$line" ] || continue
		got=$(sed -n "s/^$option=//p" "$obj/.config")
		if [ "${got:-n}" != "$want" ]; then
			say "  $option: fragment kernel-config/$f.config wants $want, Kconfig made it ${got:-n}"
			dropped=1
		fi
	done < <(wanted "$f")
done
if [ "$dropped" = 1 ]; then
	mv "$obj/.config" "$obj/.config.dropped"
	die "variant $variant: Kconfig dropped what a fragment asks for (see $obj/.config.dropped)"
fi
