// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap ranges of large folios, and which cgroup pays for them.
 *
 * A large folio that is swapped out whole gets a range of slots, and its owner
 * is recorded for all of them at once; one that has to be split gets slots here
 * and there, and may be swapped out in part only. What happens to the range afterwards
 * need not be whole: a part of it is unmapped, at odd borders; some pages are
 * read back one by one; the rest is read back at once, or freed at exit, in
 * one batch with its neighbours. Code that clears one record too few leaves a
 * page charged for ever; one too many makes the neighbour's cgroup swap for
 * free, and its counter go below zero later.
 *
 * Two cgroups do this side by side for each size that the kernel offers. The
 * per-CPU slot caches are emptied before counting, so that both have to pay
 * for what they have in swap exactly.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_CGROUPS	2
#define NR_PAGES	((long)(8UL << 20) / psize())	/* of each */

#define SPLIT		8		/* one folio of so many is */

/* Swap out a part of some folios, which splits them, and unmap a page. */
static long op_part(struct worker *w, long n, long unused)
{
	long i, ret, tries, parts = 0;

	for (i = n; i < w->nr; i += SPLIT * n) {
		/* it may be busy, and is not split then */
		for (tries = 0; tries < 50; tries++) {
			ret = op_pageout(w, i + 1, n / 2);
			if (ret < 0)
				return ret;
			if (ret == n / 2)
				break;
			usleep(1000);
		}
		parts += ret == n / 2 && !op_swapped(w, i, 1);
		ret = op_dontneed(w, i, 1);
		if (ret)
			return ret;
	}
	return parts;
}

/* Unmap a part of every other folio, and what lies across a border. */
static long op_holes(struct worker *w, long n, long unused)
{
	long i;

	for (i = n; i < w->nr; i += 2 * n)
		if (op_dontneed(w, i + 1, (n / 2) | 1))
			return -errno;
	return op_dontneed(w, w->nr / 2 - 1, 3);
}

/* Read what is left of those folios, page by page. */
static long op_one_by_one(struct worker *w, long n, long unused)
{
	long i;

	for (i = n; i < w->nr; i += 2 * n)
		if (op_verify(w, i, n))
			return -EIO;
	return 0;
}

/* Read one page of each of the others; how many have come as a whole. */
static long op_whole(struct worker *w, long n, long unused)
{
	long i, whole = 0;

	for (i = 0; i < w->nr; i += 2 * n) {
		if (op_swapped(w, i, n) != n)
			continue;
		if (op_verify(w, i + n / 2, 1))
			return -EIO;
		whole += !op_swapped(w, i, n);
	}
	return whole;
}

FIXTURE(ranges)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker[NR_CGROUPS];
	int area;
};

FIXTURE_VARIANT(ranges)
{
	unsigned int kb;
};

FIXTURE_VARIANT_ADD(ranges, 16kB) { .kb = 16 };
FIXTURE_VARIANT_ADD(ranges, 32kB) { .kb = 32 };
FIXTURE_VARIANT_ADD(ranges, 64kB) { .kb = 64 };
FIXTURE_VARIANT_ADD(ranges, 128kB) { .kb = 128 };
FIXTURE_VARIANT_ADD(ranges, 256kB) { .kb = 256 };
FIXTURE_VARIANT_ADD(ranges, 512kB) { .kb = 512 };
FIXTURE_VARIANT_ADD(ranges, 1024kB) { .kb = 1024 };
FIXTURE_VARIANT_ADD(ranges, 2048kB) { .kb = 2048 };

FIXTURE_SETUP(ranges)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (folio_swpout(variant->kb) < 0)
		SKIP(return, "no folios of %u kB", variant->kb);
	folio_only(variant->kb);
	self->area = swap_area_add(NR_CGROUPS * 4 * NR_PAGES, false);
	ASSERT_GE(self->area, 0);
	why = workers_setup(self->worker, self->cgroup, NR_CGROUPS, NR_PAGES,
			    MADV_HUGEPAGE);
	ASSERT_STREQ("", why ?: "");
}

FIXTURE_TEARDOWN(ranges)
{
	workers_kill(self->worker, NR_CGROUPS);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* All at the same time; the sum of what they return. */
static long all(struct __test_metadata *_metadata, struct _test_data_ranges *self,
		worker_fn fn, long a, long b)
{
	long sum = workers_call(self->worker, NR_CGROUPS, fn, a, b);

	ASSERT_GE(sum, 0);
	return sum;
}

static void check_exact(struct __test_metadata *_metadata,
			struct _test_data_ranges *self, const char *when)
{
	EXPECT_STREQ("", memcg_check_workers(self->cgroup, self->worker,
					     NR_CGROUPS) ?: "") {
		TH_LOG("%s", when);
	}
}

TEST_F_TIMEOUT(ranges, of_two_cgroups, TEST_SECONDS)
{
	long n = variant->kb * 1024L / psize();
	long most = NR_CGROUPS * NR_PAGES / n, least = most / 2;
	/* not all folios need be of that size */
	long least_split = ((NR_PAGES / n - 2) / SPLIT + 1) * NR_CGROUPS / 2;
	long stat = folio_swpout(variant->kb), out, in;
	long split = folio_split(variant->kb), parts;

	all(_metadata, self, op_fill, 1, 0);
	parts = all(_metadata, self, op_part, n, 0);
	split = folio_split(variant->kb) - split;
	check_exact(_metadata, self, "some split, and swapped out in part");

	all(_metadata, self, op_pageout, 0, NR_PAGES);
	stat = folio_swpout(variant->kb) - stat;
	out = all(_metadata, self, op_ranges, n, 0);
	check_exact(_metadata, self, "swapped out whole");

	all(_metadata, self, op_holes, n, 0);
	check_exact(_metadata, self, "partly unmapped");

	ASSERT_EQ(0, folio_size(variant->kb, "never"));
	all(_metadata, self, op_one_by_one, n, 0);
	check_exact(_metadata, self, "half of it read page by page");

	ASSERT_EQ(0, folio_size(variant->kb, "madvise"));
	in = all(_metadata, self, op_whole, n, 0);
	check_exact(_metadata, self, "the other half read whole");

	/* all of it again, in smaller pieces now; one exits, one unmaps */
	all(_metadata, self, op_pageout, 0, NR_PAGES);
	check_exact(_metadata, self, "swapped out again");
	worker_kill(&self->worker[0]);
	check_exact(_metadata, self, "one has exited");
	EXPECT_EQ(0, worker_call(&self->worker[1], op_verify, 3, NR_PAGES / 2));
	EXPECT_EQ(0, worker_call(&self->worker[1], op_dontneed, 1,
				 NR_PAGES - 6));
	check_exact(_metadata, self, "the other one has unmapped most");

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR_CGROUPS) ?: "");
	EXPECT_EQ(0, worker_call(&self->worker[1], op_verify, 0, NR_PAGES));
	worker_stop(&self->worker[1]);
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR_CGROUPS) ?: "");

	ksft_print_msg("ranges of %ld slots: %ld, %ld by pagemap (at least %ld)\n",
		       n, stat, out, least);
	ksft_print_msg("ranges read back whole: %ld\n", in);
	ksft_print_msg("folios split: %ld, swapped out in part: %ld (at least %ld)\n",
		       split, parts, least_split);
	ASSERT_GE(split, least_split);
	ASSERT_GE(parts, least_split);
	ASSERT_GE(stat, least);
	ASSERT_GE(out, least);
	/* nothing is read whole from zswap, nor by the size of a page table */
	if (!zswap_is_on() && variant->kb * 1024UL < read_pmd_pagesize())
		ASSERT_GE(in, least / 4);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
