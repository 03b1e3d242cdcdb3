#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftests.sh TREE HEADERS OUT JOBS: build the kselftests that selftests/plan
# names, from TREE with the series applied, and lay them out in OUT as
# kselftest's own install does, so that its own runner runs them.
#
# HEADERS  folder for the exported kernel headers
# OUT      gets run_kselftest.sh, kselftest/, kselftest-list.txt, a folder a
#          collection, and log
#
# Two collections are this project's own: `guest`, scripts that make the guest
# fail on purpose, to prove that the verdict sees it; and `stress`, programs of
# selftests/stress that are not for the tree but use its helpers. Fails, too, when
# a program of the plan is not in the list that kselftest's install makes.
. "$(dirname "$0")/lib.sh"

[ $# = 4 ] || usage_die "usage: selftests.sh TREE HEADERS OUT JOBS"
tree=$(realpath "$1") headers=$2 out=$3 jobs=$4
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

plan=$(awk '$1 ~ /:/ { print $1 }' "$top/selftests/plan" | sort -u)
for collection in $(printf '%s\n' "$plan" | cut -d: -f1 | sort -u); do
	mkdir "$new/$collection"
	if [ "$collection" = guest ]; then
		cp "$top"/selftests/guest/programs/* "$new/$collection"
		continue
	fi
	if [ "$collection" = stress ]; then
		for program in $(printf '%s\n' "$plan" | sed -n 's/^stress://p'); do
			cc -O2 -Wall -Werror -pthread -I "$src/cgroup" -isystem "$headers/usr/include" -o "$new/stress/$program" \
				"$top/selftests/stress/$program.c" "$src/cgroup/swap_util.c" "$src/cgroup/cgroup_util.c" >> "$log" 2>&1 || {
				tail -n 5 "$log" >&2
				die "selftests/stress/$program.c does not build"
			}
		done
		continue
	fi
	listed=$(make -s -C "$src/$collection" COLLECTION="$collection" OUTPUT="$new/$collection" emit_tests 2>> "$log")
	for program in $(printf '%s\n' "$plan" | grep "^$collection:"); do
		grep -qx "$program" <<< "$listed" || die "kselftest's install does not list $program, which is in selftests/plan"
	done
	targets=$(printf '%s\n' "$plan" | sed -n "s|^$collection:|$new/$collection/|p")
	# shellcheck disable=SC2086 # one word a program
	make -C "$src/$collection" "-j$jobs" OUTPUT="$new/$collection" \
		KHDR_INCLUDES="-isystem $headers/usr/include" $targets >> "$log" 2>&1 || {
		cp "$log" "$out.log"
		grep -m 5 -E 'error:|Error |No rule' "$log" >&2 || true
		die "the kselftests of $collection do not build; all of it is in $out.log"
	}
done

cp "$src/run_kselftest.sh" "$new"
cp "$src/kselftest/runner.sh" "$new/kselftest"
printf '%s\n' "$plan" > "$new/kselftest-list.txt"
rm -rf "$out"
mv "$new" "$out"
