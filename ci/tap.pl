#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# tap.pl FILE...: what files with TAP say, read by TAP::Parser. Prints each test that
# failed with what was printed of it, and last "N passed, N failed, N skipped".
#
# A file that is missing, empty, or has other results than its plan says, counts as
# one failure more. Exits 0 when nothing failed, 1 when something did, 2 for a wrong
# call.

use strict;
use warnings;
use TAP::Parser;

@ARGV or do { print STDERR "usage: tap.pl FILE...\n"; exit 2 };
my ($passed, $failed, $skipped) = (0, 0, 0);

for my $file (@ARGV) {
	my ($text, $show) = ("");

	if (open(my $f, '<', $file)) {
		local $/;
		$text = <$f> // "";
	}
	# An empty text would be taken for the name of a file.
	my $tap = TAP::Parser->new({ tap => "$text\n" });
	while (my $r = $tap->next) {
		if ($r->is_test) {
			$show = !$r->is_actual_ok;
			$r->has_skip ? $skipped++ : $show ? $failed++ : $passed++;
		}
		print $r->as_string, "\n" if $show;
	}
	next unless $tap->parse_errors || !($tap->tests_run || $tap->skip_all);
	$failed++;
	print "not ok - $file: ", join(", ", $tap->parse_errors) || "no result", "\n";
}
print "$passed passed, $failed failed, $skipped skipped\n";
exit($failed > 0);
