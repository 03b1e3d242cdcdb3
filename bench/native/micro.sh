#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# micro.sh DIR: time the map's implementations and report.
#
# DIR  has bin/time (see bench/native/Makefile), gets raw.tsv, counts.tsv,
#      machine, micro.csv, micro.txt and micro.svg. Takes up to 2 minutes on 2 CPUs.
#
# Prints the report. Fails when a program fails, not when a limit is missed.
. "$(dirname "$0")/../../ci/lib.sh"

[ $# = 1 ] || usage_die "usage: micro.sh DIR"
dir=$1 native=$top/bench/native
[ -x "$dir/bin/time" ] || usage_die "no $dir/bin/time; make -C bench/native builds it"
for program in valgrind:valgrind gnuplot:gnuplot-nox; do
	command -v "${program%:*}" > /dev/null || die "${program%:*} is missing; install the package ${program#*:}"
done

cat > "$dir/machine" <<TEXT
$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs, Linux $(uname -r), $(sed -n 1p "$dir/bin/compiler")
load $(cut -d' ' -f1 /proc/loadavg) at the start; tree $(sed -n 's/^version=//p' "$dir/../source" 2> /dev/null || true)

TEXT

say "timing"
"$dir/bin/time" > "$dir/raw.tsv"

# A dump follows each cell; it counts only what runs inside the map's functions.
say "counting instructions"
counts=$(mktemp -d)
on_exit rm -rf "$counts"
if ! valgrind --tool=callgrind --callgrind-out-file="$counts/dump" --toggle-collect='*swap_cgroup_record' \
		--toggle-collect='*swap_cgroup_clear' --dump-after=count_cell \
		"$dir/bin/time" -c > "$counts/cells" 2> "$counts/log"; then
	tail -n 5 "$counts/log" >&2
	die "valgrind failed"
fi
n=0
while IFS=$'\t' read -r impl nr calls; do
	n=$((n + 1))
	total=$(sed -n 's/^totals: //p' "$counts/dump.$n")
	[ -n "$total" ] || die "callgrind counted nothing in cell $n ($impl, $nr entries)"
	awk -v i="$impl" -v n="$nr" -v t="$total" -v c="$calls" 'BEGIN { printf "%s\t%s\t%.2f\n", i, n, t / c }'
done < "$counts/cells" > "$dir/counts.tsv"

"$native/report.pl" "$dir"
gnuplot -e "csv='$dir/micro.csv'; out='$dir/micro'; cpus=$(awk -F, 'NR > 1 && $3 > n { n = $3 } END { print n }' "$dir/micro.csv")" \
	"$native/plot.gp"
say "raw values: $dir/raw.tsv; table: $dir/micro.csv; picture: $dir/micro.svg"
