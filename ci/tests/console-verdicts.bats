#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# The table in ci/console-verdicts: what the kernel really prints, one sample
# for each thing that a row is to catch, and what it prints on a good day.

load common

# Which row is the first to match each sample, as verdict.pl would find it:
# "ROW<tab>SAYS<tab>SAMPLE", ROW counted from 1, 0 for none.
first_rows()
{
	perl -e '
		open(my $f, "<", shift) or die;
		my @table = map { chomp; [split /\t/, $_, 3] } grep { !/^#/ && /\t/ } <$f>;
		while (<STDIN>) {
			chomp;
			my $line = $_;
			my ($row) = grep { my $re = $table[$_ - 1][2]; $line =~ /$re/ } 1 .. @table;
			$row //= 0;
			print "$row\t", $row ? $table[$row - 1][1] : "", "\t$line\n";
		}' "$top/ci/console-verdicts"
}

@test "each row has three columns and an expression that Perl takes" {
	run perl -ne 'next if /^#/ || /^$/; chomp; my @c = split /\t/, $_, -1;
		print "$_\n" if @c != 3 || grep { $_ eq "" } @c or !eval { qr/$c[2]/ }' "$top/ci/console-verdicts"
	is "" "$output"
	is 0 "$status"
}

@test "each sample of fixtures/console-samples is called by its name" {
	run diff <(grep -v '^#' "$fixtures/console-samples") \
		<(grep -v '^#' "$fixtures/console-samples" | cut -f2 | first_rows | cut -f2,3)
	is "" "$output"
}

@test "each row is the first for at least one sample" {
	local rows
	rows=$(grep -v '^#' "$top/ci/console-verdicts" | grep -c "$(printf '\t')")
	run diff <(seq "$rows") \
		<(grep -v '^#' "$fixtures/console-samples" | cut -f2 | first_rows | cut -f1 | grep -v '^0$' | sort -nu)
	is "" "$output"
}

@test "harmless lines match no row" {
	is "" "$(first_rows < "$fixtures/console-harmless" | grep -v '^0')"
}

@test "a good boot with all harmless lines is PASS" {
	cp -r "$fixtures/boot" "$tmp/run"
	cat "$fixtures/console-harmless" "$fixtures/boot/console.log" > "$tmp/run/console.log"
	run "$top/ci/verdict.pl" "$tmp/run"
	is PASS "$output"
}

@test "a sample makes a good boot FAIL, with or without a time stamp or CR" {
	local line end
	line='BUG: Bad page state in process swap_memcg  pfn:03a4e'
	for end in "$line" "[   12.310000] $line" "[   12.310000] $line"$'\r'; do
		rm -rf "$tmp/run"
		cp -r "$fixtures/boot" "$tmp/run"
		printf '%s\n' "$end" >> "$tmp/run/console.log"
		run "$top/ci/verdict.pl" "$tmp/run"
		is "FAIL: bad page: $line" "$output"
		is 1 "$status"
	done
}
