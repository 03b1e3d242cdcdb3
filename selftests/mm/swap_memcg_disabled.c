// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap on a kernel whose memory cgroups are disabled at boot.
 *
 * With cgroup_disable=memory a swap area has no map of owners, and nobody may
 * look for one: each way to write, clear or read a record has to see by itself
 * that memory cgroups are off, or it follows a pointer that is not there. The
 * ways are many (swap-out, swap-in by a fault, by readahead, whole or page by
 * page, the last free, an exit, a zap, a failing swapon, swapoff) and hardly
 * anybody boots like this, so that one which is forgotten goes unnoticed until
 * it takes a machine down.
 *
 * All of them are taken here, on all CPUs at once, with every page verified.
 * There is nobody to pay for a slot, but when all processes are gone no slot
 * may be in use.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/swap.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define MIN_WORKERS	4
#define MAX_WORKERS	16
#define NR_PAGES	512		/* of each worker: one huge page */
#define ROUNDS		2
#define FAIL_SLOTS	4096
#define FAIL_ROUNDS	8
#define FOLIO		"/sys/kernel/mm/transparent_hugepage/hugepages-%dkB/enabled"

FIXTURE(swap_memcg_disabled)
{
	char *cgroup;
	struct worker worker[MAX_WORKERS];
	int nr;
	int area;
};

FIXTURE_SETUP(swap_memcg_disabled)
{
	const char *why;
	char path[128];
	int i, kb;

	why = memcg_setup(0);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(churn_init());
	for (kb = 64; kb <= 2048; kb *= 32) {
		snprintf(path, sizeof(path), FOLIO, kb);
		if (!access(path, W_OK))
			ASSERT_EQ(0, setting_write(path, "madvise", NULL));
	}

	self->nr = cpus_between(MIN_WORKERS, MAX_WORKERS);
	self->cgroup = memcg_add("worker", 0);
	ASSERT_NE(NULL, self->cgroup);
	/* each worker, and what its children write */
	self->area = swap_area_add(4 * self->nr * NR_PAGES, false);
	ASSERT_GE(self->area, 0);
	/* a cgroup makes no difference: every other worker is in one */
	for (i = 0; i < self->nr; i++) {
		ASSERT_EQ(0, worker_start(&self->worker[i],
					  i % 2 ? self->cgroup : NULL, i));
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, NR_PAGES,
					 i % 4 < 2 ? MADV_HUGEPAGE :
						     MADV_NOHUGEPAGE));
	}
}

FIXTURE_TEARDOWN(swap_memcg_disabled)
{
	workers_kill(self->worker, self->nr);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* All at the same time; the sum of what they return. */
static long all(struct __test_metadata *_metadata,
		struct _test_data_swap_memcg_disabled *self, worker_fn fn,
		long a, long b)
{
	long sum = workers_call(self->worker, self->nr, fn, a, b);

	ASSERT_GE(sum, 0);
	return sum;
}

static void all_stop(struct _test_data_swap_memcg_disabled *self)
{
	int i;

	for (i = 0; i < self->nr; i++)
		worker_stop(&self->worker[i]);
}

/* Swapped out, in pages; each is verified, and then swapped out once more. */
static long out_in_out(struct __test_metadata *_metadata,
		       struct _test_data_swap_memcg_disabled *self, int round)
{
	long out;

	all(_metadata, self, op_fill, round, 0);
	out = all(_metadata, self, op_pageout, 0, NR_PAGES);
	all(_metadata, self, op_willneed, NR_PAGES / 4, NR_PAGES / 4);
	all(_metadata, self, op_verify, 3, NR_PAGES / 2);
	all(_metadata, self, op_dontneed, 5, NR_PAGES / 5);
	all(_metadata, self, op_verify, 0, NR_PAGES);
	return out + all(_metadata, self, op_pageout, 0, NR_PAGES);
}

TEST_F_TIMEOUT(swap_memcg_disabled, out_and_in, TEST_SECONDS)
{
	long least = self->nr * ROUNDS * NR_PAGES, slots = 0;
	int round;

	for (round = 1; round <= ROUNDS; round++)
		slots += out_in_out(_metadata, self, round);
	/* swap-out is the same for everybody, and counted nowhere */
	EXPECT_LT(cg_read_long(self->cgroup, "memory.swap.current"), 0);
	EXPECT_LT(cg_read_long(self->cgroup, "memory.current"), 0);
	ASSERT_EQ(0, swap_drain_slot_caches());
	EXPECT_GE(swap_slots_used(), all(_metadata, self, op_swapped, 0,
					 NR_PAGES));

	all_stop(self);
	ASSERT_EQ(0, swap_drain_slot_caches());
	EXPECT_EQ(0, swap_slots_used());
	EXPECT_EQ(0, swap_area_off(self->area));
	ksft_print_msg("slots exercised: %ld (at least %ld)\n", slots, least);
	ASSERT_GE(slots, least);
}

TEST_F_TIMEOUT(swap_memcg_disabled, fork_and_exit, TEST_SECONDS)
{
	long ended = self->nr * ROUNDS * CHURN_CHILDREN;
	long slots = self->nr * ROUNDS * NR_PAGES / 2;
	int i;

	for (i = 0; i < self->nr; i++)
		worker_send(&self->worker[i], op_fork_churn, ROUNDS, i);
	for (i = 0; i < self->nr; i++)
		ASSERT_EQ(0, worker_wait(&self->worker[i]));
	all(_metadata, self, op_verify, 0, NR_PAGES);

	all_stop(self);
	ASSERT_EQ(0, swap_drain_slot_caches());
	EXPECT_EQ(0, swap_slots_used());
	EXPECT_EQ(0, swap_area_off(self->area));
	ksft_print_msg("children: %lu (at least %ld), %lu of them killed\n",
		       churn->ended, ended, churn->killed);
	ksft_print_msg("slots exercised: %lu (at least %ld)\n", churn->slots,
		       slots);
	ASSERT_GE(churn->ended, ended);
	ASSERT_GE(churn->killed, ended / 2);
	ASSERT_GE(churn->slots, slots);
}

TEST_F_TIMEOUT(swap_memcg_disabled, swapoff_and_on, TEST_SECONDS)
{
	long read = 0, least = self->nr * ROUNDS * NR_PAGES / 2;
	char dev[64];
	int round, i, file;

	for (round = 1; round <= ROUNDS; round++) {
		out_in_out(_metadata, self, round);
		read += all(_metadata, self, op_swapped, 0, NR_PAGES);
		/* by swapoff, which reads all of it back */
		ASSERT_EQ(0, swap_area_off(self->area));
		EXPECT_EQ(0, all(_metadata, self, op_swapped, 0, NR_PAGES));
		all(_metadata, self, op_verify, 0, NR_PAGES);
		ASSERT_EQ(0, swap_areas_remove());
		/* a swapon that fails has no map to give back either */
		file = swap_sparse_open(FAIL_SLOTS, 1, dev, sizeof(dev));
		ASSERT_GE(file, 0);
		for (i = 0; i < FAIL_ROUNDS; i++)
			EXPECT_TRUE(swapon(dev, 0) && errno == EINVAL);
		close(file);
		self->area = swap_area_add(4 * self->nr * NR_PAGES, false);
		ASSERT_GE(self->area, 0);
	}
	ksft_print_msg("slots read back by swapoff: %ld (at least %ld)\n",
		       read, least);
	ASSERT_GE(read, least);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
