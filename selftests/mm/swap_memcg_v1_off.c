// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swapoff and cgroup v1.
 *
 * With cgroup v1 swapoff clears each record at the moment at which it reads
 * the page into the swap cache: from then on memory+swap is charged for the
 * memory, by the folio's own charge, and the slot that is still in use has no
 * record. Give up the charge at both, when the record is cleared and when the
 * slot is freed, and the counter of memory+swap falls below what the cgroup
 * has; at neither, and it pays for ever. Pages that are in the swap cache
 * before, without a record, and neighbouring slots of different cgroups are
 * part of what swapoff finds here, and processes that swap to two areas while
 * one of them goes away.
 */
#include <errno.h>
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512		/* of each worker */
#define HALF		(NR_PAGES / 2)
#define CACHED		64		/* pages read into the swap cache */
#define ROUNDS		3
#define ROUNDS_LOAD	6
#define MIN_SLOTS	2000		/* brought back at least */
#define MIN_LOAD	1000		/* the same, under load */
#define MIN_USED	200		/* in the area before it goes away */

FIXTURE(swapoff_v1)
{
	struct pair pair;
	struct worker worker[2];
};

FIXTURE_SETUP(swapoff_v1)
{
	const char *why;
	int i;

	why = pair_setup(&self->pair, 8 * NR_PAGES, 0);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(churn_init());
	/* no page is read in before somebody asks for it */
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, worker_start(&self->worker[i],
					  self->pair.cgroup[i], i));
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, NR_PAGES,
					 MADV_NOHUGEPAGE));
	}
}

FIXTURE_TEARDOWN(swapoff_v1)
{
	workers_kill(self->worker, 2);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

TEST_F_TIMEOUT(swapoff_v1, brings_all_back, TEST_SECONDS)
{
	long before[2], swapped[2], now, slots = 0, cached = 0;
	struct pair *p = &self->pair;
	struct worker *w = self->worker;
	int i, round;

	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, worker_call(&w[i], op_fill, round, 0));
		/* every other page of the first one is the second one's */
		ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 0, NR_PAGES));
		ASSERT_EQ(0, worker_call(&w[0], op_write_half, 0, round));
		ASSERT_EQ(0, pair_move(p, &w[0], 1, false));
		ASSERT_EQ(0, worker_call(&w[0], op_write_half, 1, round));
		ASSERT_EQ(0, pair_move(p, &w[0], 0, false));
		for (i = 0; i < 2; i++)
			ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
		EXPECT_EQ(HALF, pair_swap(p, 0));
		EXPECT_EQ(HALF + NR_PAGES, pair_swap(p, 1));
		EXPECT_STREQ("", memcg_check_slots(0) ?: "");
		slots += 2 * NR_PAGES;

		/* slots that are in use and have no record any more */
		ASSERT_EQ(0, worker_call(&w[1], op_willneed, 7, CACHED));
		now = HALF + NR_PAGES - pair_swap(p, 1);
		EXPECT_GE(CACHED, now);
		cached += now;
		EXPECT_STREQ("", memcg_check_slots(CACHED) ?: "");
		if (round == ROUNDS)
			ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 3, 99));

		lru_drain();
		for (i = 0; i < 2; i++) {
			before[i] = memcg_memory(p->cgroup[i]);
			swapped[i] = pair_swap(p, i);
		}
		ASSERT_EQ(0, swap_area_off(p->area));
		for (i = 0; i < 2; i++) {
			EXPECT_EQ(0, pair_swap(p, i));
			now = memcg_memory(p->cgroup[i]);
			EXPECT_LE(before[i] + swapped[i] - MEMORY_SLACK,
				  now) {
				TH_LOG("cgroup %d does not pay", i);
			}
			EXPECT_GE(before[i] + swapped[i] + MEMORY_SLACK,
				  now) {
				TH_LOG("cgroup %d pays for others", i);
			}
			EXPECT_EQ(0, worker_call(&w[i], op_swapped, 0,
						 NR_PAGES));
			EXPECT_EQ(0, worker_call(&w[i], op_verify, 0,
						 NR_PAGES));
		}
		/* the same device, with a fresh map */
		ASSERT_EQ(0, swap_area_on(p->area));
		EXPECT_EQ(0, swap_area_used(p->area));
	}
	worker_stop(&w[0]);
	worker_stop(&w[1]);
	ASSERT_STREQ("", pair_finish(p) ?: "");
	ksft_print_msg("slots brought back: %ld (at least %d)\n", slots,
		       MIN_SLOTS);
	ksft_print_msg("in the swap cache before: %ld (at least %d)\n", cached,
		       CACHED);
	ASSERT_GE(slots, MIN_SLOTS);
	ASSERT_GE(cached, CACHED);
}

TEST_F_TIMEOUT(swapoff_v1, while_others_swap, TEST_SECONDS)
{
	struct pair *p = &self->pair;
	struct worker *w = self->worker;
	long used, busy, slots = 0;
	int area[2], i, round;

	/* of the same priority: both are used, in turn */
	area[0] = p->area;
	area[1] = swap_area_add(8 * NR_PAGES, false);
	ASSERT_GE(area[1], 0);
	for (i = 0; i < 2; i++)
		worker_send(&w[i], op_range_churn, 17 * i, 0);
	for (round = 0; round < ROUNDS_LOAD; round++) {
		int off = area[round % 2];

		ASSERT_TRUE(wait_until((used = swap_area_used(off)) >=
				       MIN_USED));
		ASSERT_EQ(0, swap_area_off(off));
		slots += used;
		busy = __atomic_load_n(&churn->rounds, __ATOMIC_RELAXED);
		EXPECT_EQ(0, swap_area_used(off));
		ASSERT_EQ(0, swap_area_on(off));
		/* all is not over yet */
		ASSERT_TRUE(wait_until(__atomic_load_n(&churn->rounds,
						       __ATOMIC_RELAXED) >
				       busy + 1));
	}
	__atomic_store_n(&churn->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	/* a page that was read ahead while it was dropped still has its slot */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, swap_area_off(area[i]));
		ASSERT_EQ(0, swap_area_on(area[i]));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, pair_swap(p, i));
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, NR_PAGES));
		ASSERT_EQ(0, worker_call(&w[i], op_fill, 1000, 0));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(NR_PAGES, pair_swap(p, i));
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");

	ASSERT_EQ(0, swap_area_off(area[1]));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(worker_call(&w[i], op_swapped, 0, NR_PAGES),
			  pair_swap(p, i));
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, NR_PAGES));
		worker_stop(&w[i]);
	}
	ASSERT_STREQ("", pair_finish(p) ?: "");
	ksft_print_msg("slots in use when their area went away: %ld (at least %d)\n",
		       slots, MIN_LOAD);
	ksft_print_msg("rounds meanwhile: %ld\n", churn->rounds);
	ASSERT_GE(slots, MIN_LOAD);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
