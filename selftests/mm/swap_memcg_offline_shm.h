/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of tmpfs that are charged to a cgroup which is removed while others
 * use them: the second part of swap_memcg_offline.h.
 *
 * Pages with even numbers are charged to the child, the others to the other
 * cgroup, and they are swapped out in this order: so the record before or
 * after the right one is always the wrong one.
 */
#ifndef __SWAP_MEMCG_OFFLINE_SHM_H__
#define __SWAP_MEMCG_OFFLINE_SHM_H__

#include <errno.h>

#include "swap_memcg_offline.h"

enum parity { EVEN, ODD };	/* of the child, of the other cgroup */

static void share(struct __test_metadata *_metadata,
		  struct _test_data_offline *self)
{
	struct worker *o = &self->owner, *r = &self->reader;

	ASSERT_EQ(0, worker_call(o, op_shm_attach, 0, 0));
	ASSERT_EQ(0, worker_call(r, op_shm_attach, 0, 0));
	ASSERT_EQ(0, cg_enter(self->child, o->pid));
	ASSERT_EQ(0, worker_call(o, op_write_half, EVEN, 1));
	ASSERT_EQ(0, worker_call(r, op_write_half, ODD, 2));
	ASSERT_EQ(0, worker_call(o, op_shm_detach, 0, 0));
	expect_stat(_metadata, self->child, STAT_SHMEM, HALF, HALF);
	expect_stat(_metadata, self->other, STAT_SHMEM, HALF, HALF);
}

/* The reader has the first @nr pages swapped out, whoever has to pay. */
static void swap_out(struct __test_metadata *_metadata,
		     struct _test_data_offline *self, long nr)
{
	struct worker *r = &self->reader;

	ASSERT_EQ(0, worker_call(r, op_verify, 0, nr));
	ASSERT_TRUE(wait_until(worker_call(r, op_shm_pageout, 0, nr) == nr));
	self->slots += nr;
}

/* Every other page of the first @nr: those of one cgroup. */
static long op_read_half(struct worker *w, long parity, long nr)
{
	long i;

	for (i = parity; i < nr; i += 2)
		if (!page_check(w, i))
			return -EIO;
	return 0;
}

static void read_in(struct __test_metadata *_metadata, struct worker *w,
		    long parity, long nr)
{
	long out = worker_call(w, op_shm_out, 0, nr);

	ASSERT_EQ(0, worker_call(w, op_read_half, parity, nr));
	ASSERT_EQ(out - nr / 2, worker_call(w, op_shm_out, 0, nr));
}

TEST_F_TIMEOUT(offline, shared_read_by_other, TEST_SECONDS)
{
	struct worker *o = &self->owner, *r = &self->reader;
	long even, odd;
	int round;

	share(_metadata, self);
	/* nobody is removed: each pays for its own, whoever reads */
	for (round = 0; round < 2; round++) {
		swap_out(_metadata, self, NR_PAGES);
		expect_paid(_metadata, self, "swapped out", HALF, HALF, HALF);
		expect_stat(_metadata, self->child, STAT_SHMEM, 0, 0);
		expect_stat(_metadata, self->other, STAT_SHMEM, 0, 0);
		even = round ? 0 : QUARTER;
		odd = QUARTER - even;
		read_in(_metadata, r, round ? ODD : EVEN, HALF);
		expect_paid(_metadata, self, "one of two read", HALF - even,
			    HALF - even, HALF - odd);
		expect_stat(_metadata, self->child, STAT_SHMEM, even, even);
		expect_stat(_metadata, self->other, STAT_SHMEM, odd, odd);
		read_in(_metadata, o, round ? EVEN : ODD, HALF);
		expect_paid(_metadata, self, "half of all read", QUARTER,
			    QUARTER, QUARTER);
		ASSERT_EQ(0, worker_call(o, op_shm_detach, 0, 0));
	}
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, HALF + QUARTER + 2, 0));
	expect_paid(_metadata, self, "a part of the rest truncated",
		    QUARTER / 2 + 1, QUARTER / 2 + 1, QUARTER / 2 + 1);
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0, 0));
	ASSERT_EQ(0, cg_enter(self->other, o->pid));
	finish(_metadata, self, 2 * NR_PAGES);
}

TEST_F_TIMEOUT(offline, shared_owner_removed, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	swap_out(_metadata, self, NR_PAGES);
	remove_child(_metadata, self);
	expect_paid(_metadata, self, "removed", REMOVED, HALF, HALF);
	expect_dying(_metadata, self, true);

	/* the reader gets those of the removed cgroup, and its own */
	read_in(_metadata, r, EVEN, HALF);
	expect_paid(_metadata, self, "the child's read", REMOVED, QUARTER,
		    HALF);
	expect_stat(_metadata, self->other, STAT_SHMEM, QUARTER, QUARTER);
	read_in(_metadata, r, ODD, HALF);
	expect_paid(_metadata, self, "half of all read", REMOVED, QUARTER,
		    QUARTER);
	expect_stat(_metadata, self->other, STAT_SHMEM, HALF, HALF);
	expect_stat(_metadata, self->parent, STAT_SHMEM, 0, 0);

	/* and pays for all of them when they are swapped out again */
	swap_out(_metadata, self, HALF);
	expect_paid(_metadata, self, "swapped out again", REMOVED, QUARTER,
		    QUARTER + HALF);
	expect_dying(_metadata, self, true);

	ASSERT_EQ(0, worker_call(r, op_shm_truncate, HALF + 2, 0));
	expect_paid(_metadata, self, "truncated", REMOVED, 1, HALF + 1);
	expect_dying(_metadata, self, true);
	/* the last page, by a read */
	ASSERT_EQ(0, worker_call(r, op_verify, 0, HALF + 1));
	expect_paid(_metadata, self, "the last one read", REMOVED, 0, 1);
	expect_dying(_metadata, self, false);
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0, 0));
	finish(_metadata, self, NR_PAGES + HALF);
}

TEST_F_TIMEOUT(offline, removed_then_swapped_out, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	remove_child(_metadata, self);
	/* in memory all the time: nobody is charged anew */
	ASSERT_EQ(0, worker_call(r, op_verify, 0, NR_PAGES));
	expect_stat(_metadata, self->other, STAT_SHMEM, HALF, HALF);

	/* it has no id: the parent pays, and nothing is left of the child */
	swap_out(_metadata, self, NR_PAGES);
	expect_paid(_metadata, self, "swapped out", REMOVED, HALF, HALF);
	if (VERSION == 1)
		expect_stat(_metadata, self->parent, "\nswap ", HALF, HALF);
	expect_dying(_metadata, self, false);

	/* it is the parent that is recorded: it gets the pages */
	read_in(_metadata, r, EVEN, HALF);
	expect_paid(_metadata, self, "the child's read", REMOVED, QUARTER,
		    HALF);
	expect_stat(_metadata, self->parent, STAT_SHMEM, QUARTER, QUARTER);
	expect_stat(_metadata, self->other, STAT_SHMEM, 0, 0);
	swap_out(_metadata, self, HALF);
	expect_paid(_metadata, self, "swapped out again", REMOVED, HALF, HALF);

	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 1, 0));
	expect_paid(_metadata, self, "truncated", REMOVED, 1, 0);
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0, 0));
	finish(_metadata, self, NR_PAGES + HALF);
}

TEST_F_TIMEOUT(offline, removed_with_swap_then_swapped_out, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	swap_out(_metadata, self, HALF);
	remove_child(_metadata, self);

	/* its other slots keep its id: the removed cgroup pays */
	ASSERT_EQ(0, worker_call(r, op_shm_detach, 0, 0));
	ASSERT_EQ(HALF, worker_call(r, op_shm_out, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(r, op_verify, HALF, HALF));
	ASSERT_TRUE(wait_until(worker_call(r, op_shm_pageout, HALF, HALF) ==
			       HALF));
	self->slots += HALF;
	expect_paid(_metadata, self, "all swapped out", REMOVED, HALF, HALF);
	if (VERSION == 1)
		expect_stat(_metadata, self->parent, "\nswap ", 0, 0);
	/* those from before are freed: it stays for the others */
	read_in(_metadata, r, EVEN, HALF);
	expect_paid(_metadata, self, "the first of them read", REMOVED,
		    QUARTER, HALF);
	expect_dying(_metadata, self, true);

	/* it is recorded, not the parent: the reader gets these pages too */
	ASSERT_EQ(0, worker_call(r, op_verify, HALF, HALF));
	expect_paid(_metadata, self, "the last of them read", REMOVED, 0,
		    QUARTER);
	expect_stat(_metadata, self->other, STAT_SHMEM, HALF + QUARTER,
		    HALF + QUARTER);
	expect_stat(_metadata, self->parent, STAT_SHMEM, 0, 0);
	expect_dying(_metadata, self, false);
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0, 0));
	finish(_metadata, self, NR_PAGES);
}

#endif
