#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftests.sh TREE HEADERS OUT: build the kselftests that the plan of BASE (and
# TOPIC) names, from TREE with the series applied, and lay them out in OUT as
# kselftest's own install does, so that its own runner runs them.
#
# HEADERS  folder for the exported kernel headers
# OUT      gets run_kselftest.sh, kselftest/, kselftest-list.txt, a folder a
#          collection, and log
#
# Three collections are this project's own: `guest`, scripts that make the guest
# fail on purpose, to prove that the verdict sees it; `local`, a topic's programs
# that are not for the tree but use its helpers (selftests/TOPIC/local); and `load`,
# the swap load of bench/load. Fails, too, when a program of the plan is not in the
# list that kselftest's install makes.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: selftests.sh TREE HEADERS OUT"
tree=$(realpath "$1") headers=$2 out=$3
need JOBS BASE
src=$tree/tools/testing/selftests

unset MAKEFLAGS MFLAGS MAKELEVEL
rm -rf "$out.new"
mkdir -p "$headers" "$out.new/kselftest"
headers=$(realpath "$headers")
new=$(realpath "$out.new")
log=$new/log
on_exit rm -rf "$new"

make -s -C "$tree" "O=$headers" headers > "$log" 2>&1 ||
	{ tail -n 5 "$log" >&2; die "the kernel headers do not install"; }

plan=$("$top/ci/list.sh" plan | awk '{ print $1 }' | sort -u)
for collection in $(printf '%s\n' "$plan" | cut -d: -f1 | sort -u); do
	mkdir "$new/$collection"
	if [ "$collection" = guest ]; then
		cp "$top"/selftests/guest/programs/* "$new/$collection"
		continue
	fi
	if [ "$collection" = load ]; then
		cp "$top/bench/load/swapload.sh" "$top/bench/load/swap_counts" "$new/load"
		cc -O2 -Wall -Wextra -Werror -o "$new/load/swapload" "$top/bench/load/swapload.c" >> "$log" 2>&1 ||
			{ tail -n 5 "$log" >&2; die "bench/load/swapload.c does not build"; }
		continue
	fi
	if [ "$collection" = local ]; then
		for program in $(printf '%s\n' "$plan" | sed -n 's/^local://p'); do
			source=$(find "$top"/selftests/*/local -name "$program.c")
			helpers=$(find "${source%/local/*}/cgroup" -name '*_util.c' -printf "$src/cgroup/%f\n")
			# shellcheck disable=SC2086 # a word a file, or none
			cc -O2 -Wall -Werror -pthread -I "$src/cgroup" -isystem "$headers/usr/include" -o "$new/local/$program" \
				"$source" $helpers "$src/cgroup/cgroup_util.c" >> "$log" 2>&1 || {
				tail -n 5 "$log" >&2
				die "${source#"$top"/} does not build"
			}
		done
		continue
	fi
	listed=$(make -s -C "$src/$collection" COLLECTION="$collection" OUTPUT="$new/$collection" emit_tests 2>> "$log")
	for program in $(printf '%s\n' "$plan" | grep "^$collection:"); do
		grep -qx "$program" <<< "$listed" || die "kselftest's install does not list $program, which is in the plan"
	done
	targets=$(printf '%s\n' "$plan" | sed -n "s|^$collection:|$new/$collection/|p")
	# shellcheck disable=SC2086 # one word a program
	make -C "$src/$collection" "-j$JOBS" OUTPUT="$new/$collection" \
		KHDR_INCLUDES="-isystem $headers/usr/include" $targets >> "$log" 2>&1 || {
		cp "$log" "$out.log"
		grep -m 5 -E 'error:|Error |No rule' "$log" >&2 || true
		die "the kselftests of $collection do not build; all of it is in $out.log"
	}
done

cp "$src/run_kselftest.sh" "$new"
cp "$src/kselftest/runner.sh" "$new/kselftest"
printf '%s\n' "$plan" > "$new/kselftest-list.txt"
# For guest:killed.
"$top/ci/list.sh" own-plan | awk '!/devmem/ { sub(":", "/", $1); print $1, $2 }' > "$new/own-programs"
rm -rf "$out"
mv "$new" "$out"
