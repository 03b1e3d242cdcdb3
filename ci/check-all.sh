#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-all.sh O WORK [ROW...]: what `make check` does, and what it leaves out because it
# takes longer, row by row.
#
# O    the build folder
# WORK the folder of the base in it; gets check-all/ROW.log and ROW.result
# ROW  just these (all that are printed by the call)
#
# The rows are the table below, and for each topic of BASE a run of its own, its
# mutants, and those of selftests/TOPIC/check-all: name, the minutes that it took on two
# CPUs without KVM, words for make. What has passed with the same files, kernel source,
# architecture and guest is not done again; what has failed is. After 100 minutes no row is
# begun: the next call goes on. Prints a line a row; exits 0 when all have passed.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: check-all.sh O WORK [ROW...]"
need BASE ARCH SMP MEM
! dry_run || exit 0
O=$1 work=$2 slice=100
shift 2

table()
{
	local topic topics
	topics=$(TOPIC='' "$top/ci/list.sh" topics)
	cat <<-TABLE
		check 30 check
		zswap-debug 8 boot VARIANT=debug TESTS=cgroup:test_zswap
		coverage 5 coverage
		bisect 40 bisect VARIANT=default
	TABLE
	for topic in $topics; do
		echo "run-$topic 12 run TOPIC=$topic"
		[ ! -d "$top/selftests/$topic/$BASE/mutants" ] || echo "mutants-$topic 60 mutants TOPIC=$topic"
		[ ! -e "$top/selftests/$topic/check-all" ] || rows "$top/selftests/$topic/check-all"
	done
}

cd "$top"
mkdir -p "$work/check-all"
"${MAKE:-make}" --no-print-directory fetch > "$work/check-all/fetch.log" 2>&1 ||
	die "no kernel source: $(tail -n 1 "$work/check-all/fetch.log")"
inside=./$(realpath -m --relative-to=. "$O")
key=$({ find . -path ./.git -prune -o -path "$inside" -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
	cat "$work/source"
	echo "$ARCH ${CROSS_COMPILE:-} $SMP $MEM ${ACCEL:-}"; } | sha256sum)
all=$(table)
for name; do
	grep -q "^$name " <<< "$all" || usage_die "there is no row '$name'; allowed: $(cut -d' ' -f1 <<< "$all" | paste -sd' ')"
done

failed=0 later=0
while read -r name minutes words; do
	[ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
	result=$work/check-all/$name.result
	if [ "$(sed -n 1p "$result" 2> /dev/null)" = "$key" ]; then
		say "$name: passed before"
	elif [ "$SECONDS" -gt 60 ] && [ $((SECONDS / 60 + minutes)) -gt "$slice" ]; then
		later=$((later + 1))
	else
		start=$SECONDS
		rm -f "$result"
		# shellcheck disable=SC2086 # words for make
		if "${MAKE:-make}" --no-print-directory $words < /dev/null > "$work/check-all/$name.log" 2>&1; then
			printf '%s\n' "$key" "$(elapsed "$start")" > "$result"
			say "$name: passed, $(elapsed "$start")"
		else
			failed=$((failed + 1))
			say "$name: FAILED, $(elapsed "$start"): $(tail -n 1 "$work/check-all/$name.log"); all of it is in $work/check-all/$name.log"
		fi
	fi
done <<< "$all"
[ "$later" = 0 ] || say "rows left: $later; the $slice minutes of this call are over, make check-all goes on"
[ $((failed + later)) = 0 ]
