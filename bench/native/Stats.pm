# SPDX-License-Identifier: GPL-2.0-only
#
# Stats: the few statistics that report.pl needs. None assumes a distribution.

package Stats;

use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw(median quartile_range lower_bound);

# quantile(P, VALUES): with linear interpolation between the neighbours.
sub quantile {
	my ($p, @v) = @_;
	@v = sort { $a <=> $b } @v;
	my $at = $p * $#v;
	my $i = int($at);
	return $i < $#v ? $v[$i] + ($at - $i) * ($v[$i + 1] - $v[$i]) : $v[-1];
}

# median(VALUES): dies when there is none.
sub median {
	@_ or die "the median of nothing\n";
	return quantile(0.5, @_);
}

# quartile_range(VALUES): third quartile less the first.
sub quartile_range { return quantile(0.75, @_) - quantile(0.25, @_) }

# lower_bound(VALUES): what the median is above with 95 % confidence: the k-th
# smallest, with the largest k for which P(B < k) <= 5 % where B is binomial
# (n, 1/2); the one-sided confidence interval of the sign test (Conover,
# Practical Nonparametric Statistics, 3.2). Below 5 values there is none, and
# the smallest is returned.
sub lower_bound {
	my @v = sort { $a <=> $b } @_;
	my $n = @v;
	my ($k, $sum, $term) = (0, 0, 0.5 ** $n);
	while (($sum += $term) <= 0.05) {
		$term *= ($n - $k) / ($k + 1);
		$k++;
	}
	return $v[$k > 0 ? $k - 1 : 0];
}

1;
