#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.pl RUNS TREE SOURCE...: the coverage of the functions that were changed.
#
# RUNS    holds before/SOURCE, and BOOT/NAME.gcda with BOOT/NAME.gcno for each
#         SOURCE mm/NAME.c and each boot v2, v1, off, whose counts are summed
# TREE    has the sources that the kernel was built from
#
# Prints a line a function (lines executed of all, branches taken of all), then
# each line that was not executed or has a branch that was not taken. A function
# counts if a line that is not the same in before/SOURCE is in it.

use strict;
use warnings;
use JSON::PP;

@ARGV >= 3 or do { print STDERR "usage: coverage.pl RUNS TREE SOURCE...\n"; exit 2 };
my ($runs, $tree, @sources) = @ARGV;
my (@table, @missed);

for my $source (@sources) {
	my ($name) = $source =~ m{([^/]+)\.c$};
	my (%line, %function);		# line => { count, branch => [counts] }; name => [first, last]

	for my $boot (qw(v2 v1 off)) {
		my $json = `cd '$runs/$boot' && gcov --json-format --stdout --branch-probabilities $name.gcda 2> /dev/null`;
		$? == 0 or die "gcov cannot read $runs/$boot/$name.gcda\n";
		for my $file (@{decode_json($json)->{files}}) {
			next unless $file->{file} =~ m{(^|/)\Q$source\E$};
			$function{$_->{name}} = [@$_{qw(start_line end_line)}] for @{$file->{functions}};
			for my $l (@{$file->{lines}}) {
				my $sum = $line{$l->{line_number}} //= { count => 0, branch => [] };

				$sum->{count} += $l->{count};
				$sum->{branch}[$_] += $l->{branches}[$_]{count} for 0 .. $#{$l->{branches}};
			}
		}
	}
	open(my $f, '<', "$tree/$source") or die "$tree/$source: $!\n";
	my @text = ("", <$f>);
	my @changed = grep { $_ } map { /^(\d+)$/ ? $1 : () }
		`diff --unchanged-line-format= --old-line-format= --new-line-format='%dn\n' '$runs/before/$source' '$tree/$source'`;
	for my $name (sort { $function{$a}[0] <=> $function{$b}[0] } keys %function) {
		my ($first, $last) = @{$function{$name}};
		next unless grep { $first <= $_ && $_ <= $last } @changed;
		my ($lines, $run, $branches, $taken) = (0) x 4;

		for my $n (grep { $line{$_} } $first .. $last) {
			my @branch = @{$line{$n}{branch}};
			my $not = grep { !$_ } @branch;

			$lines++;
			$run++ if $line{$n}{count};
			$branches += @branch;
			$taken += @branch - $not;
			push @missed, sprintf("%s:%d: %s: %s", $source, $n,
					      $line{$n}{count} ? "$not of " . @branch . " branches not taken" :
					      "not executed", $text[$n] =~ s/^\s+|\s+$//gr)
				if !$line{$n}{count} || $not;
		}
		push @table, sprintf("%-22s %-34s %8s %10s", $source, $name, "$run/$lines", "$taken/$branches");
	}
}
@table or die "no changed function was found\n";
printf("%-22s %-34s %8s %10s\n", "file", "function", "lines", "branches");
print "$_\n" for @table, "", @missed;
