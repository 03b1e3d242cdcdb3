// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroup v1: memory+swap accounting, and moving charges of swap.
 *
 * With cgroup v1 the owner of a swap slot changes while the slot is in use:
 * the record is written when a page leaves the swap cache, and cleared when it
 * is read back; and a task that moves to another cgroup may take its charges
 * along (memory.move_charge_at_immigrate). This is done from a walk over the
 * page table of one process. It excludes nobody who shares the entry through
 * another page table: a child may be reading it in, or writing it out again,
 * at this very moment. If the two are not told apart by something, the record
 * that one has just cleared is written again by the other: one cgroup is
 * charged for ever, and the other one's counter falls below what it uses.
 *
 * memsw - memory is the swap of a cgroup, without the lag of memory.stat. A
 * move while nobody interferes must leave exactly 0 behind. Both cgroups have
 * other pages in swap all the time: see swap_memcg_v1_id for what happens to a
 * cgroup that has none.
 */
#include <errno.h>
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512
#define SWAPPED		32		/* that keep the id of each cgroup */

FIXTURE(swap_memcg_v1)
{
	struct pair pair;
	struct worker worker[2];
};

FIXTURE_SETUP(swap_memcg_v1)
{
	const char *why;
	int i;

	why = pair_setup(&self->pair, 8 * NR_PAGES, SWAPPED);
	if (why)
		SKIP(return, "%s", why);
	/* no page is read in before somebody asks for it */
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, worker_start(&self->worker[i],
					  self->pair.cgroup[i], i));
}

FIXTURE_TEARDOWN(swap_memcg_v1)
{
	workers_kill(self->worker, 2);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* The swap of both, in pages, is what the workers have swapped out. */
static long expect_own(struct __test_metadata *_metadata,
		       struct _test_data_swap_memcg_v1 *self)
{
	long n, sum = 0;
	int i;

	for (i = 0; i < 2; i++) {
		n = self->worker[i].pid ?
		    worker_call(&self->worker[i], op_swapped, 0, NR_PAGES) : 0;
		EXPECT_EQ(n, pair_swap(&self->pair, i));
		sum += n;
	}
	/* pages that are in memory again may still have their slots */
	EXPECT_STREQ("", memcg_check_slots(2 * NR_PAGES) ?: "");
	return sum;
}

TEST_F_TIMEOUT(swap_memcg_v1, swap_out_and_in, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long slots = 0;
	int i, round;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, worker_call(&w[i], op_map, NR_PAGES,
					 MADV_NOHUGEPAGE));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 2; i++)
			worker_send(&w[i], op_fill, round + 1, 0);
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, worker_wait(&w[i]));
		for (i = 0; i < 2; i++)
			worker_send(&w[i], op_pageout, 0, NR_PAGES);
		for (i = 0; i < 2; i++)
			ASSERT_GT(worker_wait(&w[i]), NR_PAGES / 2);
		slots += expect_own(_metadata, self);
		for (i = 0; i < 2; i++)
			worker_send(&w[i], op_verify, 100 * i + 33, 221);
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, worker_wait(&w[i]));
		expect_own(_metadata, self);
	}
	/* freed without being read: an odd range, then all of one cgroup */
	ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 255, 111));
	ASSERT_EQ(0, swap_drain_slot_caches());
	expect_own(_metadata, self);
	worker_kill(&w[0]);
	ASSERT_EQ(0, swap_drain_slot_caches());
	expect_own(_metadata, self);
	ASSERT_EQ(0, worker_call(&w[1], op_verify, 0, NR_PAGES));
	expect_own(_metadata, self);
	worker_stop(&w[1]);

	ASSERT_STREQ("", pair_finish(&self->pair) ?: "");
	ksft_print_msg("slots exercised: %ld (at least %d)\n", slots,
		       5 * NR_PAGES);
	ASSERT_GE(slots, 5 * NR_PAGES);
}

static void move_and_check(struct __test_metadata *_metadata,
			   struct _test_data_swap_memcg_v1 *self, long nr,
			   int rounds, long min_moved)
{
	struct moves m = {};

	if (!pair_can_move_charges(&self->pair))
		SKIP(return, "this kernel does not move charges");
	worker_stop(&self->worker[1]);

	ASSERT_STREQ("", move_under_fire(&self->pair, &self->worker[0], nr,
					 rounds, min_moved, &m) ?: "");
	ASSERT_STREQ("", pair_finish(&self->pair) ?: "");
	ksft_print_msg("moves under fire: %ld, entries moved: %ld (at least %ld)\n",
		       m.moves, m.moved, min_moved);
	ksft_print_msg("faults meanwhile: %ld (at least %ld)\n", m.during,
		       m.moves);
	ASSERT_GE(m.moves, 2 * rounds);
	ASSERT_GE(m.moved, min_moved);
	ASSERT_GE(m.during, m.moves);
}

TEST_F_TIMEOUT(swap_memcg_v1, move_many_entries, TEST_SECONDS)
{
	move_and_check(_metadata, self, NR_PAGES, 4, 1000);
}

TEST_F_TIMEOUT(swap_memcg_v1, move_few_entries, TEST_SECONDS)
{
	move_and_check(_metadata, self, 4, 8, 8);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
