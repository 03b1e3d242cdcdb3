# SPDX-License-Identifier: GPL-2.0-only
#
# The swap load of a boot (bench/load/swap_counts), as the guest left it in
# load.log, and the table of two boots side by side.
package Load;

use strict;
use warnings;
use List::Util qw(sum0);

# read(FOLDER, LOCK...): { FOLIO_KB => { tasks => N, locks => whether lock_stat was
# there, waited => { LOCK => { FUNCTION => times } }, phase => { NAME => [ { pages, ns,
# lock => { LOCK => { acquired, contended } } }, ... ] } } }, a hash a phase that was
# run, or undef where there is no load.log. A LOCK is named as lock_stat does; one that
# it does not name is not there.
sub read
{
	my ($folder, @locks) = @_;
	my (%load, $size, $now, $lock, $list);
	local $_;

	open(my $f, '<', "$folder/load.log") or return;
	while (<$f>) {
		if (/^load (\d+) (\d+)$/) {
			$size = $load{$1} = { tasks => $2, phase => {} };
		} elsif ($size && /^phase \d+ (\w+) pages (\d+) ns (\d+)$/) {
			$now = { pages => $2, ns => $3 };
			push @{$size->{phase}{$1}}, $now;
		} elsif (/^end$/) {
			undef $now;
		} elsif ($now && /^lock_stat version/) {
			$size->{locks} = 1;
		} elsif ($now && /^\s*(\S.*?):\s+(\d+)\s+\d+(?:\s+[\d.]+){4}\s+\d+\s+(\d+)\s/) {
			# name: con-bounces contentions 4 x wait-time acq-bounces acquisitions ...
			# Contentions are only those whose wait the clock has seen, and where
			# the TSC cannot be calibrated that is a clock of 4 ms. con-bounces
			# counts each wait for another CPU.
			($lock) = grep { $_ eq $1 } @locks;
			$list = 0;
			$now->{lock}{$lock} = { contended => $2, acquired => $3 } if defined $lock;
		} elsif ($now && /^\s*-+$/) {
			$list++;	# first who waited, then who held it
		} elsif (defined $lock && $list == 1 && /\s(\d+)\s+\[<\w+>\] (\w+)/) {
			$size->{waited}{$lock}{$2} += $1;
		}
	}
	return %load ? \%load : undef;
}

# compare(BEFORE, AFTER, CLOCK, LOCK...): the lines of the table, none where one is
# missing; CLOCK is what the guest's clock counts: instructions or ns.
sub compare
{
	my ($before, $after, $clock, @locks) = @_;
	my @lines;

	return unless $before && $after;
	for my $kb (sort { $a <=> $b } keys %$before) {
		my ($b, $a) = ($before->{$kb}, $after->{$kb} // next);
		my $title = sprintf("  %s, %d task%s", $kb ? "folios of $kb kB" : "single pages",
				    $b->{tasks}, $b->{tasks} == 1 ? "" : "s");
		my @columns = $b->{locks} ?
			(map { my $lock = $_; map { my $what = $_;
				["$lock $what per 1,000 pages", sub { per_1000($_[0], $lock, $what) }]
			} qw(acquired contended) } @locks) :
			(["$clock per page", sub { $_[0]{ns} / $_[0]{pages} }]);

		for my $column (@columns) {
			my ($what, $value) = @$column;

			push @lines, "", sprintf("%-66s %16s %16s", "$title: $what", "before", "after");
			for my $phase (grep { $b->{phase}{$_} } qw(out in move free)) {
				my @times = @{$b->{phase}{$phase}};
				my $name = sprintf("%s, %d times %d pages", $phase, scalar @times,
						   sum0(map { $_->{pages} } @times) / @times);

				push @lines, sprintf("    %-62s %17s %17s", $name,
						     map { mean($value, $_->{phase}{$phase}) } $b, $a);
			}
			push @lines, waited($b, "before"), waited($a, "after") if $what =~ /contended/;
		}
	}
	unshift @lines, "", "  swap load: mean ± standard deviation" if @lines;
	return @lines;
}

# waited(SIZE, STATE): where tasks waited for a lock, if any did
sub waited
{
	my ($size, $state) = @_;

	return map { my $in = $size->{waited}{$_};
		"    $state, waited for $_ in: " . join(", ", map { "$_ $in->{$_} times" } sort keys %$in)
	} sort keys %{$size->{waited}};
}

sub per_1000
{
	my ($phase, $lock, $what) = @_;

	return undef unless $phase->{lock}{$lock};
	return 1000 * $phase->{lock}{$lock}{$what} / $phase->{pages};
}

# mean(VALUE, PHASES): "mean ± standard deviation" of VALUE over them, "none" if
# it is not there
sub mean
{
	my ($value, $phases) = @_;
	my @x = grep { defined } map { $value->($_) } @{$phases // []};

	return "none" unless @x;
	my $mean = sum0(@x) / @x;
	my $deviation = @x > 1 ? sqrt(sum0(map { ($_ - $mean) ** 2 } @x) / (@x - 1)) : 0;
	return sprintf("%.1f ± %.1f", $mean, $deviation);
}

1;
