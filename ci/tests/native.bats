#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What reports on the map's speed (bench/native): the statistics, limits that
# are missed and held, the sentence, the queueing model, the picture; and that
# the map's programs refuse what they cannot do. The map itself is tested by
# bench/native/micro-check.sh, which needs a kernel's source.

load common

native=$top/bench/native

setup()
{
	mkdir "$tmp/out"
	cd "$tmp" || return
}

# stats EXPRESSION: what it is, with the functions of Stats.pm
stats()
{
	run perl -I"$native" -MStats=median,quartile_range,lower_bound -e "printf '%.4f', $1"
}

# samples [IMPL NR THREADS NS]...: 21 rounds of a whole set of cells into
# out/raw.tsv; the machine's speed changes by a factor of 4 in them. What is
# named takes NS.
samples()
{
	awk -v special="$*" 'BEGIN {
		split("before before-irq after packed xchg16 store", impls)
		split("6 10 2 3 2.5 2", fixed)
		split("0.6 0.6 0.3 2.2 2.1 0.3", each)
		n = split(special, w, " ")
		for (k = 1; k < n; k += 4) given[w[k], w[k + 1], w[k + 2]] = w[k + 3]
		for (r = 0; r < 21; r++) for (t = 1; t <= 2; t++) {
			speed = 1 + 3 * r / 20
			for (l = 1; l <= 2; l++) for (s = 1; s <= 5; s++) for (i = 1; i <= 6; i++) {
				nr = s == 1 ? 1 : s == 2 ? 2 : s == 3 ? 16 : s == 4 ? 64 : 512
				ns = fixed[i] + each[i] * nr
				if (t == 2 && i <= 2) ns = 2 * (ns + 48)
				if ((impls[i], nr, t) in given) ns = given[impls[i], nr, t]
				put(impls[i], nr, t, l == 1 ? "distant" : "neighbouring", r, ns * speed)
			}
			for (i = 1; i <= 6; i++) put(impls[i], 1, t, "lookup", r, 1.5 * speed)
		}
	}
	function put(i, n, t, l, r, ns) { printf "%s\t%d\t%d\t%s\t%d\t%.4f\n", i, n, t, l, r, ns }' \
		> out/raw.tsv
}

@test "median and range between quartiles" {
	stats 'median(3, 1, 2)'
	is 2.0000 "$output"
	stats 'median(4, 1, 2, 3)'
	is 2.5000 "$output"
	stats 'quartile_range(1 .. 5)'
	is 2.0000 "$output"
	run perl -I"$native" -MStats=median -e 'median()'
	[ "$status" != 0 ]
	has "median of nothing"
}

@test "the lower bound is the sign test's: of 20 the 6th, of 21 the 7th" {
	# Binomial(20, 1/2): P(<= 5) = 0.0207, P(<= 6) = 0.0577;
	# Binomial(21, 1/2): P(<= 6) = 0.0392, P(<= 7) = 0.0946
	stats 'lower_bound(reverse 1 .. 20)'
	is 6.0000 "$output"
	stats 'lower_bound(1 .. 21)'
	is 7.0000 "$output"
	stats 'lower_bound(7, 8)'
	is 7.0000 "$output"
}

@test "all limits hold: said so, with figures" {
	samples
	run "$native/report.pl" out
	is 0 "$status"
	has "median of 21 rounds"
	has "All 56 limits hold."
	has "1.00 times a plain store"
	has_not "wanted"
}

@test "drift of the machine does not reach the ratios" {
	samples
	run "$native/report.pl" out
	# 2.3 ns: all rounds are 4 times apart, the ratio is not
	grep -qE '^ +1 .* 1\.000 > 1\.000' <<< "$output"
}

@test "a missed limit stands in the table and in the list" {
	samples after 64 1 30
	run "$native/report.pl" out
	is 0 "$status"
	has "! "
	has "of 56 limits are missed"
	has "64 entries, 1 thread, distant: after/store 1.42, at most 1.10 wanted"
	has "64 entries, 1 thread, neighbouring"
	has_not "All 56"
}

@test "slower than the lock, or too near to packed, is a miss" {
	samples after 1 1 9 store 1 1 9 packed 16 1 20
	run "$native/report.pl" out
	has "1 entry, 1 thread, distant: after/before 1.36, at most 1.00 wanted"
	has "16 entries, 1 thread, distant: packed/after 2.94, at least 3.00 wanted"
}

@test "the CSV: its header, and a line for each implementation and cell" {
	samples
	"$native/report.pl" out > /dev/null
	is "impl,nr,threads,layout,ns_per_call,ns_per_entry,spread" "$(head -n 1 out/micro.csv)"
	# 6 implementations, 2 thread counts, 5 sizes in 2 layouts and the lookup
	is 132 "$(tail -n +2 out/micro.csv | wc -l)"
	# the median round runs at 2.5 times the time
	grep -qx 'after,16,1,distant,17.000,1.0625,.*' out/micro.csv
}

@test "instruction counts stand in the report" {
	samples
	for i in before before-irq after packed xchg16 store; do
		printf '%s\t%s\t%s\n' $i 1 32.5 $i 16 92.5
	done > out/counts.tsv
	run "$native/report.pl" out
	grep -qE '^ +16( +92\.5){6}$' <<< "$output"
}

@test "a sample that is none, and no sample at all" {
	printf 'after\t1\t1\tdistant\t0\t0\n' > out/raw.tsv
	run "$native/report.pl" out
	[ "$status" != 0 ]
	has "not a sample"
	: > out/raw.tsv
	run "$native/report.pl" out
	[ "$status" != 0 ]
	has "no sample"
	run "$native/report.pl"
	is 2 "$status"
}

@test "the picture, for 2 and for 48 CPUs" {
	command -v gnuplot > /dev/null || skip "no gnuplot here"
	samples
	"$native/report.pl" out > /dev/null
	run gnuplot -e "csv='out/micro.csv'; out='out/micro'; cpus=2" "$native/plot.gp"
	is "" "$output"
	is 0 "$status"
	grep -q '</svg>' out/micro.svg
	run gnuplot -e "csv='out/micro.csv'; out='out/big'; cpus=48" "$native/plot.gp"
	is 0 "$status"
}

@test "scripts say what they need" {
	run "$top/bench/native/micro.sh" out
	is 2 "$status"
	has "no out/bin/time"
	run "$top/bench/native/micro-check.sh" out
	is 2 "$status"
	has "no out/after/mm/swap_cgroup.c"
	mkdir -p out/after/mm
	touch out/after/mm/swap_cgroup.c
	run "$top/bench/native/micro-check.sh" out many
	is 2 "$status"
	has "SECONDS=many"
	run "$top/bench/native/micro-snapshot.sh" out out/before
	is 2 "$status"
	has "no mm/swap_cgroup.c"
}

@test "a snapshot is byte for byte what the tree has" {
	mkdir -p tree/mm tree/include/linux
	echo 'int map;' > tree/mm/swap_cgroup.c
	echo 'extern int map;' > tree/include/linux/swap_cgroup.h
	"$top/bench/native/micro-snapshot.sh" tree out/after
	cmp tree/mm/swap_cgroup.c out/after/mm/swap_cgroup.c
	cmp tree/include/linux/swap_cgroup.h out/after/include/linux/swap_cgroup.h
}
