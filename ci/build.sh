#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh TREE OBJ OUT [FACT=VALUE...]: build the kernel in OBJ from TREE as it
# stands, and keep in OUT what belongs together: the image, vmlinux,
# System.map, Module.symvers, .config, the command that made them, and facts.
#
# FACT  what the caller knows: variant, state, topic. The facts are these, and
#       base, arch, tree and image; later steps read them, not the names of folders.
#
# JOBS processes at once.
#
# Prints how many objects are compiled, with the time. With V=1 kbuild's own
# output is shown. Fails with the compiler's first error; OUT appears whole.
. "$(dirname "$0")/lib.sh"

[ $# -ge 3 ] || usage_die "usage: build.sh TREE OBJ OUT [FACT=VALUE...]"
need JOBS BASE ARCH
tree=$(realpath "$1") obj=$(realpath "$2") out=$3
shift 3

# A rebuild of the same source must give the same image.
export KBUILD_BUILD_USER=builder KBUILD_BUILD_HOST=host
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_VERSION=1

# Make's own variables for sub-makes would reach kbuild and confuse it.
unset MAKEFLAGS MFLAGS MAKELEVEL

log=$obj/build.log
image=$(make -s -C "$tree" "O=$obj" image_name | tail -n 1)
command=(make -C "$tree" "O=$obj" "-j$JOBS" "${image##*/}")

start=$SECONDS
if [ "${V:-0}" != 0 ]; then
	"${command[@]}" "V=$V" 2>&1 | tee "$log" >&2
else
	"${command[@]}" > "$log" 2>&1 &
	pid=$!
	on_exit kill "$pid"
	shown=0
	while kill -0 "$pid" 2> /dev/null; do
		sleep 1
		n=$(grep -cE '^  (CC|AS) ' "$log" || true)
		if [ $((SECONDS - start - shown)) -ge 15 ]; then
			shown=$((SECONDS - start))
			say "  $n objects compiled, $(elapsed "$start")"
		fi
	done
	wait "$pid" || {
		grep -m 5 -E 'error:|Error |No rule|undefined' "$log" >&2 || tail -n 5 "$log" >&2
		die "the kernel does not build; all of it is in $log"
	}
fi
say "  $(grep -cE '^  (CC|AS) ' "$log" || true) objects compiled, $(elapsed "$start")"

rm -rf "$out.new"
mkdir -p "$out.new"
on_exit rm -rf "$out.new"
cp "$obj/$image" "$out.new/image"
cp "$obj/vmlinux" "$obj/System.map" "$obj/.config" "$obj/boot-parameters" "$out.new"
# A kernel without modules exports nothing.
! grep -q '^CONFIG_MODULES=y' "$obj/.config" || cp "$obj/vmlinux.symvers" "$out.new/Module.symvers"
{
	printf '%q ' "${command[@]}"
	printf '\n# compiler: %s\n' "$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\(.*\)"/\1/p' "$obj/.config")"
} > "$out.new/command"
printf '%s\n' "base=$BASE" "arch=$ARCH" "tree=$tree" "image=${image##*/}" "$@" > "$out.new/facts"
rm -rf "$out"
mv "$out.new" "$out"
