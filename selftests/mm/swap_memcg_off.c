// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swapoff, and who pays for what it brings back.
 *
 * Swapoff reads every page of an area back and charges its memory to the
 * cgroup that the slot's record names, not to the one who calls swapoff; it
 * gives up each slot's charge, and frees the whole map of records in the end.
 * A record that is wrong charges memory to a stranger, who may be killed for
 * it; one that is left keeps the cgroup for ever, and nobody can find it any
 * more once the map is gone; one that is dropped too early leaves swap charges
 * behind. And the same device, swapped on again, must begin with no records.
 *
 * All processes of a busy system go on meanwhile: they swap in and exit on the
 * area that is on its way out, and swap out to another one. So does the last
 * test, over and over, until a least number of slots was moved like that. A
 * cgroup that was removed and lives on in records of slots only is another
 * owner that swapoff meets: its pages must come back at the expense of some
 * cgroup that is alive, and the removed one must be gone then.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR		4		/* cgroups */
#define MAX_PAGES	640		/* of a worker */
#define ROUNDS		3
#define ROUNDS_LOAD	6
#define MIN_SLOTS	3000		/* brought back at least */
#define MIN_LOAD	1000		/* the same, under load */
#define MIN_USED	200		/* in the area before it goes away */

/* Each has its own number of pages, so that a mix-up of two shows. */
static long nr_pages(int i)
{
	return MAX_PAGES - 64 * i;
}

FIXTURE(swapoff)
{
	char *cgroup[NR];
	struct worker worker[NR];
	int area;
};

FIXTURE_SETUP(swapoff)
{
	const char *why;
	int i;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(churn_init());

	/* twice what is needed: room for the slots in per-CPU caches */
	self->area = swap_area_add(2 * NR * MAX_PAGES, false);
	ASSERT_GE(self->area, 0);
	for (i = 0; i < NR; i++) {
		self->cgroup[i] = memcg_add("off", i);
		ASSERT_NE(NULL, self->cgroup[i]);
	}
}

FIXTURE_TEARDOWN(swapoff)
{
	workers_kill(self->worker, NR);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

static int start(struct worker *w, char *cgroup, int i)
{
	return worker_start(w, cgroup, i) ||
	       worker_call(w, op_map, nr_pages(i), MADV_NOHUGEPAGE);
}

/* Each cgroup pays for what it has swapped out: no more, no less. */
static long check_exact(struct __test_metadata *_metadata,
			struct _test_data_swapoff *self)
{
	EXPECT_STREQ("", memcg_check_workers(self->cgroup, self->worker,
					     NR) ?: "");
	return memcg_swap(memcg_parent());
}

/* After swapoff: all is in memory, unchanged, and paid for by its owner. */
static void check_back(struct __test_metadata *_metadata,
		       struct _test_data_swapoff *self, long *before,
		       long *swapped)
{
	long now;
	int i;

	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");
	for (i = 0; i < NR; i++) {
		now = memcg_memory(self->cgroup[i]);
		EXPECT_LE(before[i] + swapped[i] - MEMORY_SLACK, now) {
			TH_LOG("cgroup %d does not pay", i);
		}
		EXPECT_GE(before[i] + swapped[i] + MEMORY_SLACK, now) {
			TH_LOG("cgroup %d pays for others", i);
		}
		if (!self->worker[i].pid)
			continue;
		EXPECT_EQ(0, worker_call(&self->worker[i], op_swapped, 0,
					 nr_pages(i)));
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 nr_pages(i)));
	}
}

TEST_F_TIMEOUT(swapoff, brings_all_back, TEST_SECONDS)
{
	long before[NR], swapped[NR], slots = 0;
	struct worker *w = self->worker;
	int i, round;

	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, start(&w[i], self->cgroup[i], i));
	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < NR; i++)
			worker_send(&w[i], op_fill, round, 0);
		for (i = 0; i < NR; i++)
			ASSERT_EQ(0, worker_wait(&w[i]));
		for (i = 0; i < NR; i++)
			worker_send(&w[i], op_pageout, 0, nr_pages(i));
		for (i = 0; i < NR; i++)
			ASSERT_LT(0, worker_wait(&w[i]));
		for (i = 0; i < NR; i++)
			ASSERT_TRUE(worker_pageout(&w[i], nr_pages(i)));
		/* holes here and there, and then a cgroup with no process */
		ASSERT_EQ(0, worker_call(&w[1], op_dontneed, 33 * round, 77));
		if (round == ROUNDS)
			worker_kill(&w[0]);
		slots += check_exact(_metadata, self);

		/* what is left in memory is not what is looked for later */
		lru_drain();
		for (i = 0; i < NR; i++) {
			before[i] = memcg_memory(self->cgroup[i]);
			swapped[i] = memcg_swap(self->cgroup[i]);
		}
		ASSERT_EQ(0, swap_area_off(self->area));
		check_back(_metadata, self, before, swapped);
		/* the next round is on the same device, with a fresh map */
		ASSERT_EQ(0, swap_area_on(self->area));
		EXPECT_EQ(0, swap_area_used(self->area));
	}
	for (i = 0; i < NR; i++)
		worker_stop(&w[i]);
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR) ?: "");
	ksft_print_msg("slots brought back: %ld (at least %d)\n", slots,
		       MIN_SLOTS);
	ASSERT_GE(slots, MIN_SLOTS);
}

TEST_F_TIMEOUT(swapoff, of_a_removed_cgroup, TEST_SECONDS)
{
	struct worker *w = self->worker;
	char *top = (char *)memcg_parent();
	long n = nr_pages(0), before;

	ASSERT_EQ(0, start(&w[0], self->cgroup[0], 0));
	ASSERT_EQ(0, worker_call(&w[0], op_fill, 1, 0));
	ASSERT_TRUE(worker_pageout(&w[0], n));
	check_exact(_metadata, self);

	/* the process leaves, its swap does not */
	ASSERT_EQ(0, cg_enter(self->cgroup[1], w[0].pid));
	ASSERT_EQ(0, cg_destroy(self->cgroup[0]));
	EXPECT_EQ(0, memcg_swap(self->cgroup[1]));
	EXPECT_EQ(n, memcg_swap(top));
	EXPECT_EQ(1, cg_read_key_long(top, "cgroup.stat",
				      "nr_dying_descendants "));
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	/* some of the records go one by one before */
	ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 0, 64));
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	EXPECT_EQ(n - 64, memcg_swap(top));

	/* by a process in the tree: it may be the one who pays from now on */
	ASSERT_EQ(0, worker_start(&w[2], self->cgroup[2], 2));
	before = memcg_memory(top);
	ASSERT_EQ(0, worker_call(&w[2], op_swapoff, self->area, 0));
	EXPECT_EQ(0, memcg_swap(top));
	EXPECT_LE(before + n - 64 - MEMORY_SLACK, memcg_memory(top));
	EXPECT_EQ(0, worker_call(&w[0], op_swapped, 0, n));
	EXPECT_EQ(0, worker_call(&w[0], op_verify, 0, n));
	worker_stop(&w[0]);
	worker_stop(&w[2]);
	EXPECT_STREQ("", memcg_check_gone(self->cgroup + 1, NR - 1) ?: "");
}

TEST_F_TIMEOUT(swapoff, while_others_swap, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long used, busy, slots = 0;
	int area[2], i, round;

	/* of the same priority: both are used, in turn */
	area[0] = self->area;
	area[1] = swap_area_add(2 * NR * MAX_PAGES, false);
	ASSERT_GE(area[1], 0);
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, start(&w[i], self->cgroup[i], i));
		worker_send(&w[i], op_range_churn, 17 * i, 0);
	}
	for (round = 0; round < ROUNDS_LOAD; round++) {
		int off = area[round % 2];

		ASSERT_TRUE(wait_until((used = swap_area_used(off)) >=
				       MIN_USED));
		/* with a process that dies, pages in swap, while it is at it */
		i = round % NR;
		if (round % 3 == 2)
			kill(w[i].pid, SIGKILL);
		ASSERT_EQ(0, swap_area_off(off));
		slots += used;
		if (round % 3 == 2) {
			worker_kill(&w[i]);
			ASSERT_EQ(0, start(&w[i], self->cgroup[i], i));
			worker_send(&w[i], op_range_churn, 17 * i, 0);
		}
		busy = __atomic_load_n(&churn->rounds, __ATOMIC_RELAXED);
		EXPECT_EQ(0, swap_area_used(off));
		ASSERT_EQ(0, swap_area_on(off));
		/* all is not over yet */
		ASSERT_TRUE(wait_until(__atomic_load_n(&churn->rounds,
						       __ATOMIC_RELAXED) >
				       busy + 1));
	}
	__atomic_store_n(&churn->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));

	/* a page that was read ahead while it was dropped still has its slot */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, swap_area_off(area[i]));
		ASSERT_EQ(0, swap_area_on(area[i]));
	}
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");

	/* each has all of its pages in swap: in two areas, then in one */
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, nr_pages(i)));
		ASSERT_EQ(0, worker_call(&w[i], op_fill, 1000, 0));
		ASSERT_TRUE(worker_pageout(&w[i], nr_pages(i)));
	}
	check_exact(_metadata, self);
	ASSERT_EQ(0, swap_area_off(area[0]));
	check_exact(_metadata, self);
	ASSERT_EQ(0, swap_area_off(area[1]));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, nr_pages(i)));
		worker_stop(&w[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR) ?: "");
	ksft_print_msg("slots in use when their area went away: %ld (at least %d)\n",
		       slots, MIN_LOAD);
	ksft_print_msg("rounds meanwhile: %ld, children: %ld\n", churn->rounds,
		       churn->ended);
	ASSERT_GE(slots, MIN_LOAD);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
