#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# What must hold of the topics swap-cgroup-fixes and swap-cgroup, and of the kernels
# built with them. Needs what `make check` built; WORK and TREE name it.

# shellcheck disable=SC2086 # the lists are one word a file

setup()
{
	cd "$BATS_TEST_DIRNAME/../.." || exit
	: "${WORK:?}" "${TREE:?}" "${BASE:?}"
	patches=$(TOPIC=swap-cgroup ci/list.sh patches after | sed 's|^|patches/|')
}

@test "each fix applies alone" {
	touched=$(sed -n 's|^--- a/||p' $patches | sort -u)
	ci/apply.sh "$TREE" before
	(cd "$TREE" && for f in $touched; do [ ! -e "$f" ] || cp --parents "$f" "$BATS_TEST_TMPDIR"; done)
	fixes=$(grep -- '-fixes/' <<< "$patches")
	[ "$(wc -l <<< "$fixes")" -gt 1 ]
	for fix in $fixes; do
		echo "$fix"
		patch -d "$BATS_TEST_TMPDIR" -p1 -F0 -s --dry-run < "$fix"
	done
}

map_functions="swap_cgroup_record swap_cgroup_clear lookup_swap_cgroup_id __lookup_swap_cgroup"

@test "record, clear and lookup take no lock and no atomic" {
	run ci/lockless.sh "$WORK/default/after/vmlinux" $map_functions
	echo "$output"
	[ "$status" = 0 ]
}

@test "that check sees the lock of the stock kernel" {
	run ci/lockless.sh "$WORK/default/before/vmlinux" swap_cgroup_record
	echo "$output"
	[ "$status" = 1 ]
}

@test "the series adds no lock and no atomic but the charge mover's cluster lock" {
	touched=$(sed -n 's|^+++ b/\(mm/.*\)|\1|p; s|^+++ b/\(include/.*\)|\1|p' $patches | sort -u)
	ci/apply.sh "$TREE" before
	(cd "$TREE" && cp --parents $touched "$BATS_TEST_TMPDIR")
	ci/apply.sh "$TREE" after
	added=$(cd "$TREE" && for f in $touched; do
		diff -w "$BATS_TEST_TMPDIR/$f" "$f" | sed -n "s|^> |$f: |p"
	done)
	[ "$(wc -l <<< "$added")" -gt 50 ]
	# Comments and assertions do not lock.
	locks=$(grep -E 'lock_|_lock|LOCK|mutex|atomic|xchg|smp_|rcu_|_rcu|refcount_' <<< "$added" |
		grep -vE ': [[:space:]]*(\*|/\*)|lockdep_assert|unlock_cluster')
	echo "$locks"
	# charge moving's, RCU in lookup, swapon and swapoff, and swapon's mutex,
	# which is taken later than before
	grep -q 'swapfile.c: .*ci = lock_cluster_or_swap_info(si, offset);' <<< "$locks"
	[ "$(grep -vcE 'swap_cgroup.c: .*(rcu|mutex_lock\(&swap_cgroup_mutex\)|lockdep_is_held)' <<< "$locks")" = 1 ]
}

@test "swap_cgroup_cmpxchg is nowhere in the patched tree" {
	ci/apply.sh "$TREE" after
	run grep -rn swap_cgroup_cmpxchg "$TREE" --include='*.[chS]' --include='*.rst'
	echo "$output"
	[ "$status" = 1 ]
}

@test "exported symbols are the same before and after" {
	cmp "$WORK/default/before/Module.symvers" "$WORK/default/after/Module.symvers"
	[ -s "$WORK/default/before/Module.symvers" ]
}
