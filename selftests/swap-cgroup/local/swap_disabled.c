// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap on a kernel that was booted with cgroup_disable=memory.
 *
 * There a swap area has no array with the cgroup of each slot, and each
 * function that writes or reads it has to see by itself that memory cgroups
 * are disabled, or it follows a pointer that is not there. All their callers are
 * tested, with single pages and huge ones: swapout, swapin by a fault and by
 * readahead, unmap, exit, swapoff, and a swapon that fails.
 */
#include "../kselftest_harness.h"
#include "swap_util.h"

#define MAX_WORKERS	16
#define ROUNDS		2

FIXTURE(disabled)
{
	struct worker worker[MAX_WORKERS];
	int nr;
	long pages;			/* of each, a huge page */
	int area;
};

FIXTURE_VARIANT(disabled)
{
	int advice;
};

FIXTURE_VARIANT_ADD(disabled, small) { .advice = MADV_NOHUGEPAGE };
FIXTURE_VARIANT_ADD(disabled, huge) { .advice = MADV_HUGEPAGE };

FIXTURE_SETUP(disabled)
{
	char *cgroup;
	int i, kb;

	self->nr = cpus_between(4, MAX_WORKERS);
	self->pages = swap_cluster_slots();
	kb = variant->advice == MADV_HUGEPAGE ? self->pages * psize() / 1024 : 0;
	if (kb && !thp_swap_supported(kb))
		SKIP(return, "no huge pages");
	ASSERT_EQ(0, swap_test_begin());
	ASSERT_EQ(0, folio_only(kb));
	self->area = swap_area_add(4 * self->nr * self->pages, AREA_SSD);
	ASSERT_GE(self->area, 0);
	/* every other worker is in a cgroup, which makes no difference */
	cgroup = memcg_add("worker", 0);
	ASSERT_NE(NULL, cgroup);
	for (i = 0; i < self->nr; i++) {
		ASSERT_EQ(0, worker_start(&self->worker[i], i % 2 ? cgroup : NULL, i));
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, self->pages, variant->advice));
	}
}

FIXTURE_TEARDOWN(disabled)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_end());
}

/* Fill all pages and swap them out; huge ones as a range. */
static long op_out(struct worker *w, long gen, long advice)
{
	long n;

	/* a new folio, and no page table in its way */
	if (mmap(w->mem, w->nr * psize(), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	madvise(w->mem, w->nr * psize(), advice);
	op_fill(w, gen, 0);
	/* a page may be busy for a while */
	wait_until((n = op_pageout(w, 0, w->nr)) < 0 || n == w->nr);
	return n < w->nr ? -EBUSY : op_ranges(w, advice == MADV_HUGEPAGE ? w->nr : 1, 0);
}

static long op_in_and_out(struct worker *w, long a, long b)
{
	return op_willneed(w, w->nr / 4, w->nr / 4) ?: op_verify(w, 3, w->nr / 2) ?:
	       op_dontneed(w, 5, w->nr / 5) ?: op_verify(w, 0, w->nr) ?:
	       op_pageout(w, 0, w->nr);
}

TEST_F_TIMEOUT(disabled, all_ways, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long ranges = self->nr * (variant->advice == MADV_HUGEPAGE ? 1 : self->pages);
	int round, bad;

	for (round = 1; round <= ROUNDS; round++) {
		ASSERT_EQ(ranges, workers_call(w, self->nr, op_out, round, variant->advice));
		ASSERT_LE(self->nr * self->pages / 2, workers_call(w, self->nr, op_in_and_out));
		/* reads the rest */
		ASSERT_EQ(0, swap_area_off(self->area));
		ASSERT_EQ(0, workers_call(w, self->nr, op_verify, 0, self->pages));
		bad = swap_area_new(self->pages, AREA_BAD);
		ASSERT_GE(bad, 0);
		ASSERT_EQ(-EINVAL, swap_area_on(bad));
		ASSERT_EQ(0, swap_area_remove(bad));
		ASSERT_EQ(0, swap_area_on(self->area));
	}
	ASSERT_EQ(ranges, workers_call(w, self->nr, op_out, round, variant->advice));
	workers_kill(w, self->nr);
	ASSERT_EQ(0, swap_drain_slot_caches());
	ASSERT_EQ(0, swap_slots_used());
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_DISABLED);
	return test_harness_run(argc, argv);
}
