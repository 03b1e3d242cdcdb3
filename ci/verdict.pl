#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# verdict.pl RUN: turn what a boot left into a verdict.
#
# RUN holds: plan (the rows of the plan that this boot must show), facts
# (key=value of the boot: cpus, ...), end (how QEMU ended, see
# boot.sh), console.log and ktap.log.
#
# Writes RUN/verdict.json: facts, result (PASS or FAIL), reason (one line) and
# programs, each with its cases. Prints "PASS" or "FAIL: reason".
# Exits 0 on PASS, 1 on FAIL, 2 when RUN cannot be read.
#
# A verdict is FAIL until its last test turns it to PASS. Results are parsed
# by TAP::Parser; the exit code of a test program counts only against it.

use strict;
use warnings;
use FindBin;
use JSON::PP;
use TAP::Parser;

@ARGV == 1 && -d $ARGV[0] or bail("usage: verdict.pl RUN");
my $run = $ARGV[0];

sub bail { print STDERR "verdict.pl: @_\n"; exit 2 }

sub lines
{
	my ($name, $bytes) = @_;

	open(my $f, '<', "$run/$name") or bail("$run/$name: $!");
	my $text = do { local $/; <$f> } // "";
	# What a hung kernel said when it was asked is no reason of its own.
	$text = substr($text, 0, $bytes) if defined $bytes;
	# JSON is UTF-8; a broken kernel prints any byte.
	$text =~ s/[^\x00-\x7f]/?/g;
	return map { s/\r+$//r } split /\n/, $text;
}

my @expected;		# { program, least, plan, stock }, in order
for (lines("plan")) {
	my ($program, $boot, $least, @notes) = split;
	push @expected, { program => $program, least => $least,
			  plan => !grep({ $_ eq "no-plan" } @notes),
			  stock => scalar grep { $_ eq "stock" } @notes };
}
my %facts = map { /^(\w+)=(.*)/ ? ($1, $2) : () } lines("facts");
my ($end, $number, $bytes) = -e "$run/end" ? split ' ', ((lines("end"))[0] // '') : ();
my @console = lines("console.log", $bytes);
my @programs = programs(lines("ktap.log"));

my @problems = (console_problem(), end_problem(), cpu_problem(), ktap_problems());
my %verdict = (%facts, result => "FAIL", reason => $problems[0] // "",
	       programs => \@programs);
$verdict{result} = "PASS" unless @problems;

open(my $out, '>', "$run/verdict.json") or bail("$run/verdict.json: $!");
print $out JSON::PP->new->canonical->pretty->encode(\%verdict);
close($out) or bail("$run/verdict.json: $!");
print $verdict{result} eq "PASS" ? "PASS\n" : "FAIL: $verdict{reason}\n";
exit($verdict{result} ne "PASS");

# The first console line that the table knows, as "what it is: the line".
sub console_problem
{
	open(my $f, '<', "$FindBin::Bin/console-verdicts") or bail("console-verdicts: $!");
	my @table = map { chomp; [split /\t/, $_, 3] } grep { !/^#/ && /\t/ } <$f>;

	for my $line (@console) {
		for (@table) {
			my ($kind, $says, $expression) = @$_;

			return "$says: " . $line =~ s/^\[[ \d.]+\]\s*//r
				if $line =~ /$expression/;
		}
	}
	return;
}

# How the machine ended, unless the guest said its last line first.
sub end_problem
{
	return "no record of how the boot ended (interrupted?)" unless defined $end;
	return "silent console: nothing printed in $number s" if $end eq "silent";
	return "silent console: QEMU ended (status $number) with nothing printed" unless @console;
	return "hang: no output for $number s" if $end eq "hang";
	return "over its limit: still printing after $number s" if $end eq "limit";
	return "early exit: QEMU ended (status $number) before the guest was done"
		unless grep { /^guest: end/ } @console;
	return "QEMU ended with status $number" if $end eq "exit" && $number;
	return;
}

sub cpu_problem
{
	my ($seen) = map { /^guest: init cpus=(\d+)/ ? $1 : () } @console;

	return "no init: the guest never said how many CPUs it sees" unless defined $seen;
	return "the guest sees $seen CPUs, asked for $facts{cpus}" if $seen != $facts{cpus};
	return;
}

# Each expected program against what was reported.
sub ktap_problems
{
	my (%seen, @problems);		# seen: name => program

	my %planned = map { $_->{program} => $_ } @expected;
	for (@programs) {
		my $want = $planned{$_->{name}};

		push @problems, "$_->{name}: reported twice" if $seen{$_->{name}} && !$want->{stock};
		push @problems, "$_->{name}: reported, but not planned" unless $want;
		$_->{attempt} = ($seen{$_->{name}}{attempt} // 0) + 1;
		$seen{$_->{name}} = $_;		# of several attempts, the last counts
	}
	@programs = grep { $seen{$_->{name}} == $_ } @programs;

	return "no test was planned" unless @expected;
	return "empty KTAP: no test reported" unless @programs;
	for my $want (@expected) {
		my $name = $want->{program};
		my $got = $seen{$name};

		if (!$got) {
			push @problems, "missing test: $name did not report";
			next;
		}
		my @cases = @{$got->{cases}};
		my ($failed) = grep { $_->{result} eq "not ok" } @cases;
		my ($skipped) = grep { $_->{result} eq "skip" } @cases;
		push @problems, "$name: $_" for @{$got->{errors}};
		push @problems, "$name: unexpected skip: $got->{skip}" if defined $got->{skip};
		push @problems, "$name: not ok: $failed->{name}" if $failed;
		push @problems, "$name: timed out" if $got->{end} eq "timeout";
		push @problems, "$name: truncated KTAP, it never ended" if $got->{end} eq "none";
		push @problems, "$name: no plan" if $want->{plan} && !defined $got->{plan};
		push @problems, sprintf("%s: truncated KTAP, %d of %d planned results",
					$name, scalar @cases, $got->{plan})
			if defined $got->{plan} && $got->{plan} != @cases;
		push @problems, sprintf("%s: %d cases, the plan wants at least %d",
					$name, scalar @cases, $want->{least})
			if @cases < $want->{least};
		push @problems, "$name: unexpected skip: $skipped->{name}" if $skipped;
		push @problems, "$name: its exit code says failure" if $got->{end} eq "not ok" && !$failed;
	}
	return @problems;
}

# The runner's log becomes a list of programs:
# { name, end (ok, not ok, timeout, none), plan, skip, attempt, errors,
# cases => [{name, result}] }
# The runner indents what a program printed by "# ".
sub programs
{
	my (@programs, $now, @inner);

	for (@_) {
		if (/^# selftests: (\S+): (\S+)$/) {
			push @programs, $now = { name => "$1:$2", end => "none" };
			@inner = ();
		} elsif ($now && /^(not )?ok \d+ selftests: \S+ \S+(.*)/) {
			$now->{end} = ($1 && $2 =~ /TIMEOUT/) ? "timeout" : $1 ? "not ok" : "ok";
			cases($now, @inner);
			$now = undef;
		} elsif ($now && s/^# ?//) {
			push @inner, $_;
		}
	}
	cases($now, @inner) if $now;
	return @programs;
}

# What a program printed, parsed: its plan, its cases, errors of form.
sub cases
{
	my ($program, @tap) = @_;

	# One that prints no header is read as TAP 13 too.
	@tap = grep { /^(?:ok|not ok|1\.\.|Bail out!)/ } @tap;
	my $tap = TAP::Parser->new({ tap => join("\n", "TAP version 13", @tap) . "\n" });

	$program->{cases} = [];
	while (my $r = $tap->next) {
		if ($r->is_bailout) {
			push @{$program->{errors}}, "bailed out: " . $r->explanation;
		} elsif ($r->is_test) {
			my $name = $r->description =~ s/^-?\s*//r || $r->explanation || $r->number;
			my $result = $r->has_skip ? "skip" : $r->is_actual_ok ? "ok" : "not ok";

			push @{$program->{cases}}, { name => $name, result => $result };
		}
	}
	$program->{skip} = $tap->skip_all if $tap->skip_all;
	my $planned = $tap->plan;
	$program->{plan} = $tap->tests_planned if defined $planned;
	push @{$program->{errors}}, grep { !/^(?:No plan found|Bad plan)/ } $tap->parse_errors;
}
