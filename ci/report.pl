#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# report.pl SESSION: the table of a run, on stdout and in SESSION/report.txt,
# and the same as SESSION/report.json.
#
# Reads SESSION/steps.tsv (wall time of each step, see steps.sh) and each
# SESSION/*/verdict.json. Where a kernel booted before and after the series,
# each case must have the same result in both, and the counts of the swap load are
# shown side by side. LEFT in the environment: programs that it says were not run.
# Exits 0 when every step went well and every boot is PASS, else 1.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Load;

@ARGV == 1 or do { print STDERR "usage: report.pl SESSION\n"; exit 2 };
-d $ARGV[0] or do { print STDERR "report.pl: no run in $ARGV[0]: make run first, or name one with SESSION=\n"; exit 2 };
my $session = $ARGV[0];

my @steps;
if (open(my $f, '<', "$session/steps.tsv")) {
	@steps = map { chomp; my @s = split /\t/;
		       { step => $s[0], seconds => $s[1] + 0, status => $s[2] + 0 } } <$f>;
}

my @boots;
for my $file (glob("$session/*/verdict.json")) {
	open(my $f, '<', $file) or die "$file: $!\n";
	local $/;
	my $boot = decode_json(<$f>);
	($boot->{folder}) = $file =~ m{([^/]+)/verdict\.json$};
	push @boots, $boot;
}
@boots = sort { $b->{state} cmp $a->{state} || $a->{folder} cmp $b->{folder} } @boots;

# { folder without the state => { state => boot } }: what can be set side by side
my %pair;
$pair{$_->{folder} =~ s/-(?:before|after)-/ /r}{$_->{state}} = $_ for @boots;

my ($text, @problems) = ("");
sub out { $text .= sprintf(shift, @_) . "\n" }

# Each case, before and after.
my %count = (passed => 0, failed => 0, skipped => 0);
my %counts_as = (ok => "passed", "not ok" => "failed", skip => "skipped");
for my $key (sort keys %pair) {
	my ($before, $after) = @{$pair{$key}}{qw(before after)};
	my (%result, @order);

	for my $boot (grep { defined } $before, $after) {
		for my $p (@{$boot->{programs}}) {
			for my $c (@{$p->{cases}}) {
				my $name = "$p->{name} $c->{name}";

				push @order, $name unless $result{$name};
				$result{$name}{$boot->{state}} = $c->{result};
				$result{$name}{program} = $p->{name};
				$result{$name}{attempt} = $p->{attempt} if ($p->{attempt} // 1) > 1;
				$count{$counts_as{$c->{result}}}++;
			}
		}
	}
	out("");
	out("%-72s %8s %8s", $key, "before", "after");
	for my $name (@order) {
		my ($b, $a) = map { $_ // "-" } @{$result{$name}}{qw(before after)};
		# A program that is known to fail before runs after only, as a
		# whole: its boot's verdict has seen to that.
		my $both = $before && $after &&
			2 == grep { ran($_, $result{$name}{program}) } $before, $after;
		my $differs = $both && $b ne $a;

		push @problems, "$key: $name: $b before, $a after" if $differs;
		out("  %-70s %8s %8s%s%s", $name, $b, $a, $differs ? "  DIFFERS" : "",
		    $result{$name}{attempt} ? "  (attempt $result{$name}{attempt})" : "");
	}
	next unless $before && $after;
	my @locks = split ' ', $before->{locks} // "";
	out($_) for Load::compare((map { scalar Load::read("$session/$_->{folder}", @locks) } $before, $after),
				  $before->{accel} eq "icount" ? "instructions" : "ns", @locks);
}

out("");
out("%-26s %-7s %-6s %5s %4s %6s  %s", qw(boot result kernel accel CPUs time), "");
for my $b (@boots) {
	out("%-26s %-7s %-6s %5s %4s %4d s  %s", $b->{folder}, $b->{result}, $b->{kernel} // "?",
	    @$b{qw(accel cpus seconds reason)});
	push @problems, "$b->{folder}: $b->{reason}" if $b->{result} ne "PASS";
}
out("(times under TCG are smoke only)") if grep { $_->{accel} eq "tcg" } @boots;

out("");
my $total = 0;
for my $s (@steps) {
	out("%-40s %5d s", $s->{step}, $s->{seconds});
	$total += $s->{seconds};
	push @problems, "step failed: $s->{step}" if $s->{status};
}
out("%-40s %5d s", "all steps", $total);

for my $folder (map { m{([^/]+)/facts$} } glob("$session/*/facts")) {
	push @problems, "$folder left no verdict" unless -e "$session/$folder/verdict.json";
}
push @problems, "no test was run" unless grep { grep { $_->{name} !~ /^load:/ } @{$_->{programs}} } @boots;

my $result = @problems ? "FAIL" : "PASS";
out("");
out("not run here, but by make check: $ENV{LEFT}") if $ENV{LEFT};
out("kernel tests: %d passed, %d failed, %d skipped", @count{qw(passed failed skipped)});
out("%s%s", $result, @problems ? ": " . join("; ", @problems) : "");

print $text;
write_file("report.txt", $text);
write_file("report.json", JSON::PP->new->canonical->pretty->encode({
	result => $result, problems => \@problems, count => \%count,
	steps => \@steps, seconds => $total, boots => \@boots }));
exit($result ne "PASS");

# ran(BOOT, PROGRAM): did it report there?
sub ran
{
	my ($boot, $program) = @_;

	return grep { $_->{name} eq $program } @{$boot->{programs}};
}

sub write_file
{
	my ($name, $content) = @_;

	open(my $f, '>', "$session/$name") or die "$session/$name: $!\n";
	print $f $content;
	close($f) or die "$session/$name: $!\n";
}
