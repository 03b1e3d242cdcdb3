// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moving the charge of a swap entry to a cgroup that has no other swap.
 *
 * Each record of a swap slot holds a reference to the id of its cgroup, which
 * pins the cgroup. When a charge was moved, the record named the new cgroup
 * before the reference for it was taken. A process that shared the entry and
 * read it in between the two put a reference that nobody had: it was the one
 * that the living cgroup has of its own, if it had no other page in swap. The
 * kernel says "refcount_t: addition on 0; use-after-free", and from then on
 * the swap of that cgroup is charged to its parent, or to nobody
 * (8d22a9351035 was an earlier such case). Here the cgroup that is moved to
 * has no swap but the few entries on their way, which children keep reading in
 * and swapping out; at the end, each cgroup still has to pay for what it swaps
 * out, and to go away when it is removed.
 */
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_ENTRIES	4
#define ROUNDS		14
#define MIN_MOVED	ROUNDS

FIXTURE(swap_memcg_v1_id)
{
	struct pair pair;
	struct worker worker;
};

FIXTURE_SETUP(swap_memcg_v1_id)
{
	const char *why;

	why = pair_setup(&self->pair, 2048, 0);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	ASSERT_EQ(0, worker_start(&self->worker, self->pair.cgroup[0], 0));
}

FIXTURE_TEARDOWN(swap_memcg_v1_id)
{
	worker_kill(&self->worker);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

TEST_F_TIMEOUT(swap_memcg_v1_id, move_to_cgroup_without_swap, TEST_SECONDS)
{
	struct moves m = {};

	if (!pair_can_move_charges(&self->pair))
		SKIP(return, "this kernel does not move charges");

	ASSERT_STREQ("", move_under_fire(&self->pair, &self->worker,
					 NR_ENTRIES, ROUNDS, MIN_MOVED,
					 &m) ?: "");
	ASSERT_STREQ("", pair_finish(&self->pair) ?: "");
	ksft_print_msg("moves under fire: %ld, entries moved: %ld (at least %d)\n",
		       m.moves, m.moved, MIN_MOVED);
	ksft_print_msg("faults meanwhile: %ld (at least %ld)\n", m.during,
		       m.moves);
	ASSERT_GE(m.moves, 2 * ROUNDS);
	ASSERT_GE(m.moved, MIN_MOVED);
	ASSERT_GE(m.during, m.moves);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
