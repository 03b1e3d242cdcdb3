# SPDX-License-Identifier: GPL-2.0-only
#
# Lock statistics of a boot, per page swapped: /proc/lock_stat and /proc/vmstat
# as the guest left them over the mm tests.
package LockStat;

use strict;
use warnings;

# The map's lock as lock_stat names it: in the base, and once the series has
# put the map in one object.
our @map_lock = ('&ctrl->lock', '&map->lock');

# read(FOLDER): { pages => N, class => { NAME => { contended, acquired } } }, or
# undef where the kernel has no lock_stat. pages: swapped out and in, both.
sub read
{
	my ($folder) = @_;
	my %stat = (pages => 0, class => {});

	open(my $f, '<', "$folder/lock_stat.log") or return;
	while (<$f>) {
		# name: con-bounces contentions 4 x wait-time acq-bounces acquisitions ...
		my ($name, $contended, $acquired) =
			/^\s*(\S.*?):\s+\d+\s+(\d+)(?:\s+[\d.]+){4}\s+\d+\s+(\d+)\s/ or next;
		# A lock that is taken for reading and writing has a line of each.
		$name =~ s/-[RW]$//;
		$stat{class}{$name}{contended} += $contended;
		$stat{class}{$name}{acquired} += $acquired;
	}
	return unless %{$stat{class}};
	open($f, '<', "$folder/vmstat.log") or return;
	while (<$f>) {
		$stat{pages} += $1 if /^pswp(?:in|out) (\d+)/;
	}
	return \%stat;
}

# compare(BEFORE, AFTER): the lines of the table, none where one is missing.
sub compare
{
	my ($before, $after) = @_;
	my @lines;

	return unless $before && $after;
	return ("  INVALID: a boot did not swap") unless $before->{pages} && $after->{pages};
	push @lines, "", sprintf("  pages swapped out and in: %d before, %d after",
				 $before->{pages}, $after->{pages});
	push @lines, sprintf("  %-38s %15s %15s", "the map's lock, $map_lock[0]", "before", "after");
	for my $what (qw(acquired contended)) {
		push @lines, sprintf("    %-36s %15s %15s", "$what per 1,000 pages",
				     map { per_1000($_, $what) } $before, $after);
	}
	for my $side ([before => $before], [after => $after]) {
		my ($name, $stat) = @$side;
		my $class = $stat->{class};
		my @top = sort { $class->{$b}{contended} <=> $class->{$a}{contended} || $a cmp $b }
			grep { $class->{$_}{contended} } keys %$class;

		push @lines, sprintf("  most contended, %-22s %15s %15s", $name,
				     "contended", "acquired/page");
		for (grep { defined } @top[0 .. 9]) {
			push @lines, sprintf("    %-36s %15d %15.2f", $_, $class->{$_}{contended},
					     $class->{$_}{acquired} / $stat->{pages});
		}
		my $all = 0;
		$all += $_->{acquired} for values %$class;
		push @lines, sprintf("    %-36s %15s %15.2f", "all locks", "", $all / $stat->{pages});
	}
	return @lines;
}

# per_1000(STAT, WHAT): a count of the map's lock per 1,000 pages, "none" where
# there is no such lock
sub per_1000
{
	my ($stat, $what) = @_;
	my @class = map { $stat->{class}{$_} // () } @map_lock or return "none";
	my $n = 0;

	$n += $_->{$what} for @class;
	return sprintf("%.1f", 1000 * $n / $stat->{pages});
}

1;
