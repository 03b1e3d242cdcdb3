# SPDX-License-Identifier: GPL-2.0-only
#
# plot.gp: ns per entry over the size of a range, and over threads, from
# micro.csv (header impl,nr,threads,layout,ns_per_call,ns_per_entry,spread).
#
#   gnuplot -e "csv='FILE'; out='FILE without suffix'; cpus=N" plot.gp
#
# Slots are distant, so that what is seen is the cost of the map and not of
# caches. Writes out.svg.

set datafile separator ","
set datafile missing NaN
impls  = "before packed xchg16 after store"
titles = "'lock (before)' 'packed, cmpxchg' '16-bit xchg' 'series (after)' 'plain store (limit)'"
colors = "#b0413e #d98e32 #8d7bb5 #1f77b4 #8c8c8c"
# The limit is drawn last and thin, so that `after` under it stays visible.
width(i) = word(impls, i) eq "after" ? 3.5 : word(impls, i) eq "store" ? 1.5 : 2
dash(i)  = word(impls, i) eq "store" ? 2 : 1
mark(i)  = word(impls, i) eq "store" ? 0 : word(impls, i) eq "after" ? 7 : 5

# value of the column where implementation, threads, layout (and size) fit
pick(impl, threads) = (strcol(1) eq impl && $3 == threads && strcol(4) eq "distant") ? $6 : NaN
bar(impl, size) = (strcol(1) eq impl && $2 == size && strcol(4) eq "distant") ? $6 : NaN

set style fill solid 0.9 noborder
set border 3 lc rgb "#555555"
set tics nomirror out textcolor rgb "#333333"
set grid ytics lc rgb "#dddddd" lw 1 lt 1
set logscale y 10
set format y "%g"
set key noenhanced

set terminal svg size 1080,430 dynamic font "DejaVu Sans,12" background "#ffffff"
set output out.".svg"
set multiplot layout 1,3

set title "1 thread, by size of the range" noenhanced
set xlabel "swap entries per call"
set ylabel "ns per entry (lower is better)"
set logscale x 2
set xtics (1, 2, 16, 64, 512)
set xrange [0.8:640]
set yrange [0.2:100]
set key top right samplen 2 spacing 1.15
plot for [i=1:words(impls)] csv using 2:(pick(word(impls, i), 1)) every ::1 \
	with linespoints lw width(i) dt dash(i) pt mark(i) ps 0.7 lc rgb (i == words(impls) ? "#000000" : word(colors, i)) title word(titles, i)

unset logscale x
unset key
set xlabel "threads, each on a CPU of its own"
set boxwidth 0.15
# threads are powers of two: the k-th group stands at k
group(threads) = log(threads) / log(2)
set xrange [-0.5:group(cpus) + 0.5]
set xtics () ; set for [k=0:int(ceil(group(cpus)))] xtics add (sprintf("%d", 2**k) k)
if (2**int(group(cpus)) != cpus) { set xtics add (sprintf("%d", cpus) group(cpus)) }
do for [size in "1 16"] {
	set title size.(size eq "1" ? " entry" : " entries")." per call, by threads" noenhanced
	set ylabel ""
	plot for [i=1:words(impls)] csv using (group($3) + 0.17 * (i - 3)):(bar(word(impls, i), int(size))) every ::1 \
		with boxes lc rgb word(colors, i) notitle, \
	     for [i=1:words(impls)] csv using (group($3) + 0.17 * (i - 3)):(v = bar(word(impls, i), int(size)), v * 1.14): \
		(cpus > 4 ? "" : v < 1 ? sprintf("%.2f", v) : v < 10 ? sprintf("%.1f", v) : sprintf("%.0f", v)) every ::1 \
		with labels font ",8.5" tc rgb "#333333" notitle
}
unset multiplot
unset output
