#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl DIR: tables and a sentence from what the timing program measured.
#
# DIR/raw.tsv     impl, nr, threads, layout, round, ns per call (see time.c)
# DIR/counts.tsv  impl, nr, instructions per call; may be missing
# DIR/machine     free text, printed first
#
# Writes DIR/micro.csv (medians over the rounds; spread is the range between
# the quartiles, in ns per call), DIR/micro.txt (what it prints) and, if the
# queueing model predicts 2 threads well enough, DIR/projection.txt.
# Exits 0 whether limits hold or not (a miss is printed as one), 1 when there
# is nothing to report, 2 for a wrong call.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Stats qw(median quartile_range lower_bound);

@ARGV == 1 && -d $ARGV[0] or do { print STDERR "usage: report.pl DIR\n"; exit 2 };
my $dir = $ARGV[0];

my @impls = qw(before before-irq after packed xchg16 store);
my %at;		# layout, threads, nr, impl -> [ns of each round]
open(my $raw, '<', "$dir/raw.tsv") or die "$dir/raw.tsv: $!\n";
while (<$raw>) {
	chomp;
	my ($impl, $nr, $threads, $layout, $round, $ns) = split /\t/;
	defined $ns && $ns > 0 or die "$dir/raw.tsv:$.: not a sample: $_\n";
	$at{$layout}{$threads}{$nr}{$impl}[$round] = $ns;
}
$at{distant} or die "$dir/raw.tsv: no sample\n";

my %instructions;
if (open(my $f, '<', "$dir/counts.tsv")) {
	while (<$f>) {
		chomp;
		my ($impl, $nr, $n) = split /\t/;
		$instructions{$impl}{$nr} = $n;
	}
}

my $text = "";
sub out { $text .= sprintf(shift, @_) . "\n" }
sub numeric { return sort { $a <=> $b } @_ }

# ratios(CELL, A, B): A over B, round by round.
sub ratios {
	my ($cell, $x, $y) = @_;
	my @a = @{$cell->{$x}};
	return map { $a[$_] / $cell->{$y}[$_] } 0 .. $#a;
}

# What is asked of `after`: [against, nr from, nr to, limit, which side].
my @limits = (
	["store", 1, 512, 1.10, "most"],
	["before", 1, 512, 1.00, "most"],
	["packed", 16, 16, 3, "least"],
	["packed", 64, 512, 4, "least"],
);
my ($asked, @misses) = (0);
my %range;	# threads, against, nr -> ratios of the medians, for the sentence

sub plural { return $_[0] . " " . $_[$_[0] == 1 ? 1 : 2] }

# judge(CELL, NAME, NR, THREADS, LAYOUT): columns of a cell's ratios with their
# bounds. The sentence is about writing calls.
sub judge {
	my ($cell, $name, $nr, $threads, $layout) = @_;
	my @columns;
	for my $against (qw(store before packed)) {
		my @r = $against eq "packed" ? ratios($cell, $against, "after") :
					       ratios($cell, "after", $against);
		my ($median, $bound) = (median(@r), lower_bound(@r));
		my $mark = " ";
		push @{$range{$threads}{$against}{$nr}}, $median if $layout ne "lookup";
		for my $limit (@limits) {
			my ($of, $from, $to, $value, $side) = @$limit;
			next if $of ne $against || $nr < $from || $nr > $to;
			$asked++;
			next if $side eq "most" ? $bound <= $value : $bound >= $value;
			$mark = "!";
			push @misses, sprintf("%s: %s %.2f, at %s %.2f wanted", $name,
				$against eq "packed" ? "packed/after" : "after/$against",
				$bound, $side, $value);
		}
		push @columns, sprintf("%6.3f >%6.3f%s", $median, $bound, $mark);
	}
	return @columns;
}

if (open(my $f, '<', "$dir/machine")) {
	$text .= do { local $/; <$f> };
}
my $rounds = @{$at{distant}{1}{1}{after}};
out("Nanoseconds per call (record or clear; lower is better): median of %d rounds, in brackets", $rounds);
out("the range between quartiles in %% of it. Ratios are formed in each round; \">\" is the");
out("lower 95 %% bound of their median, which is held against the limit; \"!\" misses it.");
open(my $csv, '>', "$dir/micro.csv") or die "$dir/micro.csv: $!\n";
print $csv "impl,nr,threads,layout,ns_per_call,ns_per_entry,spread\n";
for my $layout (qw(distant neighbouring lookup)) {
	for my $threads (numeric keys %{$at{$layout}}) {
		my %cells = %{$at{$layout}{$threads}};
		out("");
		out("%s, %s", plural($threads, "thread", "threads"),
		    $layout eq "lookup" ? "lookup of one entry" : "$layout slots");
		out("  %4s" . " %13s" x 6 . "  %15s %15s %15s", "nr", @impls, "after/store",
		    "after/before", "packed/after");
		for my $nr (numeric keys %cells) {
			my $cell = $cells{$nr};
			my @values;
			for my $impl (@impls) {
				my ($m, $s) = (median(@{$cell->{$impl}}), quartile_range(@{$cell->{$impl}}));
				push @values, sprintf("%.2f (%.0f)", $m, 100 * $s / $m);
				printf $csv "%s,%d,%d,%s,%.3f,%.4f,%.3f\n", $impl, $nr, $threads,
					$layout, $m, $m / $nr, $s;
			}
			my $name = sprintf("%s, %s, %s", plural($nr, "entry", "entries"),
				plural($threads, "thread", "threads"), $layout);
			my @columns = judge($cell, $name, $nr, $threads, $layout);
			out("  %4d" . " %13s" x 6 . "  %15s %15s %15s", $nr, @values, @columns);
		}
	}
}
close($csv) or die "$dir/micro.csv: $!\n";

if (%instructions) {
	my @sizes = numeric keys %{$instructions{after}};
	out("");
	out("Instructions per call (callgrind, 1 thread; exact)");
	out("  %4s" . " %13s" x 6, "nr", @impls);
	out("  %4d" . " %13.1f" x 6, $_, do { my $nr = $_; map { $instructions{$_}{$nr} } @impls }) for @sizes;
}

# The sentence.
sub span {
	my @v = numeric @_;
	my ($low, $high) = map { sprintf("%.2f", $_) } @v[0, -1];
	return $low eq $high ? $low : "$low to $high";
}
sub all { my $h = shift; return map { @{$h->{$_}} } @_ ? @_ : keys %$h }
out("");
for my $threads (numeric keys %range) {
	my $r = $range{$threads};
	my $cells = $at{distant}{$threads};
	my ($first, $last) = (numeric keys %$cells)[0, -1];
	out("With %s a call of `after` takes %.1f ns for %d entry and %.0f ns for %d (distant slots):",
	    plural($threads, "thread", "threads"), median(@{$cells->{$first}{after}}), $first,
	    median(@{$cells->{$last}{after}}), $last);
	out("%s times a plain store, %s times the lock; over both layouts.",
	    span(all($r->{store})), span(all($r->{before})));
	out("Packed ids take %s times as long as `after` at 16 entries, %s from 64 up.",
	    span(all($r->{packed}, 16)), span(all($r->{packed}, 64, 512)));
}
if (@misses) {
	out("%d of %d limits are missed:", scalar @misses, $asked);
	out("  %s", $_) for @misses;
} else {
	out("All %d limits hold.", $asked);
}

open(my $f, '>', "$dir/micro.txt") or die "$dir/micro.txt: $!\n";
print $f $text;
close($f) or die "$dir/micro.txt: $!\n";
print $text;
