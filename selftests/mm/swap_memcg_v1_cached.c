// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap ranges of two cgroups that are freed while they leave the swap cache,
 * cgroup v1.
 *
 * A process has moved between touching its even and its odd pages. They are
 * swapped out and read into the swap cache, where no slot has an id. A batch
 * that unmaps them compares ids and finds all of them alike; reclaim takes the
 * pages out of the cache, and records both cgroups, before the batch looks at
 * the counts. Then one cgroup got back what the other one had paid, and kernels
 * with CONFIG_DEBUG_VM said "kernel BUG at mm/swap_cgroup.c". Here the pages
 * are unmapped by ranges while both cgroups are reclaimed; at the end, each of
 * them must have got back its own.
 */
#include <errno.h>
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512
#define ZAP_ROUNDS	4
#define ZAP_RANGE	64		/* pages */
#define MIN_CACHED	(ZAP_ROUNDS * NR_PAGES / 2)

static long op_zap(struct worker *w, long unused_a, long unused_b)
{
	long i;

	for (i = 0; i < w->nr; i += ZAP_RANGE)
		op_dontneed(w, i, ZAP_RANGE);
	return 0;
}

/*
 * Reclaim all that can be: the limit is too low, and is refused in the end.
 * memory.force_empty may wait for the other CPU, and so for the batch.
 */
static long op_squeeze(struct worker *w, long cgroup, long unused)
{
	return memcg_limit((char *)cgroup, "memory.limit_in_bytes", 1);
}

FIXTURE(swap_memcg_v1_cached)
{
	struct pair pair;
	struct worker worker;
};

FIXTURE_SETUP(swap_memcg_v1_cached)
{
	const char *why;
	int i;

	why = pair_setup(&self->pair, 8 * NR_PAGES, 0);
	if (why)
		SKIP(return, "%s", why);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, worker_call(&self->pair.resident[i], op_lock, 0, 0));
	ASSERT_EQ(0, worker_start(&self->worker, self->pair.cgroup[0], 1));
	ASSERT_EQ(0, worker_call(&self->worker, op_map, NR_PAGES,
				 MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(swap_memcg_v1_cached)
{
	worker_kill(&self->worker);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/*
 * What is read back is active at once, and reclaim takes of it only what the
 * statistics tell. They lag by up to 2 s, but not for who reads them.
 */
static void stats_flush(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++)
		cg_read_key_long(p->cgroup[i], "memory.stat", "\nswap ");
}

/* Even pages in one cgroup and odd ones in the other, all in swap. */
static void swap_out_halves(struct __test_metadata *_metadata, struct pair *p,
			    struct worker *w, int gen)
{
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pair_move(p, w, i, false));
		ASSERT_EQ(0, worker_call(w, op_write_half, i, gen));
	}
	ASSERT_TRUE(wait_until(worker_call(w, op_pageout, 0, NR_PAGES) ==
			       NR_PAGES));
}

TEST_F_TIMEOUT(swap_memcg_v1_cached, unmapped_while_reclaimed, TEST_SECONDS)
{
	struct pair *p = &self->pair;
	long swapped, cached = 0;
	int i, gen;

	for (gen = 1; gen <= ZAP_ROUNDS; gen++) {
		swap_out_halves(_metadata, p, &self->worker, gen);
		swapped = pair_swap(p, 0) + pair_swap(p, 1);
		ASSERT_EQ(0, worker_call(&self->worker, op_willneed, 0,
					 NR_PAGES));
		cached += swapped - pair_swap(p, 0) - pair_swap(p, 1);
		stats_flush(p);

		worker_send(&self->worker, op_zap, 0, 0);
		/* once before the first batch is known, then after */
		usleep(1000 * (gen - 1));
		for (i = 0; i < 2; i++)
			worker_send(&p->resident[i], op_squeeze,
				    (long)p->cgroup[i], 0);
		ASSERT_EQ(0, worker_wait(&self->worker));
		for (i = 0; i < 2; i++)
			EXPECT_EQ(-EBUSY, worker_wait(&p->resident[i]));
	}
	worker_kill(&self->worker);

	ASSERT_STREQ("", pair_finish(p) ?: "");
	ksft_print_msg("pages unmapped in the swap cache: %ld (at least %d)\n",
		       cached, MIN_CACHED);
	ASSERT_GE(cached, MIN_CACHED);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
