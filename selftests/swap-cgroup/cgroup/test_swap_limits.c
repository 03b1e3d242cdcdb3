// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap at a limit: memory.swap.max on cgroup v2, memory.memsw.limit_in_bytes
 * on cgroup v1.
 *
 * On v2 a page gets a swap slot first, then the slot is charged. If that is
 * refused, the slot is given back: a cgroup id that is left with it is
 * uncharged though it was never charged, and the counter drops below what is
 * in use. A large folio that is refused is split and tried page by page. So a
 * cgroup must get exactly as many slots as its limit says, and another cgroup
 * must be able to use all the others.
 *
 * On v1 one counter covers memory and swap. An entry that is uncharged twice
 * lets a cgroup exceed its limit, one that is not uncharged causes OOM kills in
 * the end. So pages go back and forth below a limit with little room.
 */
#include <errno.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PAGES	512L		/* of each worker */
#define MAX		101L		/* slots that are allowed */
#define FIRST		33L		/* of these, used before the limit is hit */
#define AREA		(3 * NR_PAGES)
#define FOLIO_KB	64
#define ROOM		128L		/* for a worker's other memory */
#define V1_MEMORY	"memory.limit_in_bytes"
#define V1_MEMSW	"memory.memsw.limit_in_bytes"

enum { LEAF, OTHER_LEAF, ABOVE, FREE, NR_CGROUPS };	/* to be removed in this order */

FIXTURE(limit)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker[2];	/* in the leaves */
	struct worker other;
	int area, advice;
};

FIXTURE_VARIANT(limit)
{
	int folio_kb, limited;
};

FIXTURE_VARIANT_ADD(limit, of_small_pages) { .limited = LEAF, };
FIXTURE_VARIANT_ADD(limit, of_large_folios) { .limited = LEAF, .folio_kb = FOLIO_KB, };
FIXTURE_VARIANT_ADD(limit, of_an_ancestor) { .limited = ABOVE, };

/* On one CPU, so that all get slots from the same slot cache. */
static int start(FIXTURE_DATA(limit) *self, struct worker *w, int cgroup, long nr)
{
	return worker_start(w, self->cgroup[cgroup], 0) ?:
	       worker_call(w, op_map, nr, self->advice) ?: worker_call(w, op_fill, 1);
}

FIXTURE_SETUP(limit)
{
	int i;

	if (variant->folio_kb && !thp_swap_supported(FOLIO_KB))
		SKIP(return, "no folios of %d kB", FOLIO_KB);
	ASSERT_EQ(0, swap_test_begin());
	ASSERT_EQ(0, folio_only(variant->folio_kb));
	self->advice = variant->folio_kb ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
	self->area = swap_area_add(AREA + 1, AREA_SSD);
	ASSERT_GE(self->area, 0);
	for (i = ABOVE; i <= FREE; i++) {
		self->cgroup[i] = memcg_add("limit", i);
		ASSERT_NE(NULL, self->cgroup[i]);
	}
	if (memcg_version() == 2)
		ASSERT_EQ(0, cg_write(self->cgroup[ABOVE], "cgroup.subtree_control", "+memory"));
	for (i = LEAF; i <= OTHER_LEAF; i++) {
		self->cgroup[i] = cg_name_indexed(self->cgroup[ABOVE], "leaf", i);
		ASSERT_EQ(0, cg_create(self->cgroup[i]));
		ASSERT_EQ(0, start(self, &self->worker[i], i, NR_PAGES));
	}
}

FIXTURE_TEARDOWN(limit)
{
	workers_kill(self->worker, 2);
	worker_kill(&self->other);
	EXPECT_EQ(0, swap_test_end());
}

static long event(const char *cgroup, const char *key)
{
	return cg_read_key_long(cgroup, "memory.swap.events", key);
}

/*
 * Swap out the first @nr pages of a worker, whose cgroup may have @more of them
 * in swap than now. It gets these, all others are refused and counted.
 */
static void swap_out(struct __test_metadata *_metadata, FIXTURE_DATA(limit) *self, int i,
		     long nr, long more)
{
	long had = memcg_swap(self->cgroup[i]), max = event(self->cgroup[i], "max ");
	long out = worker_call(&self->worker[i], op_swapped, 0, nr), now;
	long refused = event(self->cgroup[i], "fail ");
	struct worker *w = &self->worker[i];

	/* several times if a page is busy */
	wait_until((lru_drain(), now = worker_call(w, op_pageout, 0, nr)) >= out + more);
	EXPECT_EQ(out + more, now);
	EXPECT_EQ(0, check_swap(self->cgroup[i], had + more));
	max = event(self->cgroup[i], "max ") - max;
	EXPECT_LE(nr - out - more, max);
	EXPECT_LE(max, event(self->cgroup[i], "fail ") - refused);
}

/* Another cgroup uses all slots that are free, those that were given back too. */
static void use_rest(struct __test_metadata *_metadata, FIXTURE_DATA(limit) *self)
{
	long used = swap_slots_used();

	ASSERT_EQ(0, start(self, &self->other, FREE, AREA));
	EXPECT_TRUE(wait_until(worker_call(&self->other, op_pageout, 0, AREA) == AREA - used));
	EXPECT_EQ(0, check_swap(self->cgroup[FREE], AREA - used));
	EXPECT_EQ(0, worker_call(&self->other, op_verify, 0, AREA));
	worker_stop(&self->other);
	EXPECT_EQ(0, check_swap(self->cgroup[FREE], 0));
	EXPECT_EQ(used, swap_slots_used());
}

static long swap_max(struct __test_metadata *_metadata, FIXTURE_DATA(limit) *self, int limited)
{
	int last = limited == ABOVE ? OTHER_LEAF : LEAF;
	long folios = folio_stat(FOLIO_KB, "swpout");
	char **cgroup = self->cgroup;

	ASSERT_EQ(0, memcg_limit(cgroup[limited], "memory.swap.max", MAX));
	swap_out(_metadata, self, LEAF, FIRST, FIRST);
	swap_out(_metadata, self, last, NR_PAGES, MAX - FIRST);
	swap_out(_metadata, self, LEAF, NR_PAGES, 0);
	folios = folio_stat(FOLIO_KB, "swpout") - folios;
	EXPECT_EQ(event(cgroup[LEAF], "max ") + event(cgroup[OTHER_LEAF], "max "),
		  event(cgroup[ABOVE], "max "));
	use_rest(_metadata, self);

	/* what one gives up can be had again */
	ASSERT_EQ(0, worker_call(&self->worker[LEAF], op_verify, 0, NR_PAGES));
	swap_out(_metadata, self, last, NR_PAGES, limited == ABOVE ? FIRST : MAX);
	EXPECT_EQ(MAX, memcg_swap(cgroup[limited]));
	use_rest(_metadata, self);
	return folios;
}

static long memsw(struct __test_metadata *_metadata, FIXTURE_DATA(limit) *self, int limited)
{
	struct worker *w = self->worker;
	char *cgroup = self->cgroup[limited];
	int i, n, nr = limited == ABOVE ? 2 : 1;
	const long half = NR_PAGES / 2;
	long folios = folio_stat(FOLIO_KB, "swpout");

	ASSERT_EQ(0, workers_pageout(w, nr, NR_PAGES));
	folios = folio_stat(FOLIO_KB, "swpout") - folios;
	ASSERT_EQ(0, memcg_limit(cgroup, V1_MEMORY, nr * half));
	EXPECT_EQ(-EBUSY, memcg_limit(cgroup, V1_MEMSW, nr * NR_PAGES - 1));
	EXPECT_EQ(0, check_swap(cgroup, nr * NR_PAGES));
	ASSERT_EQ(0, workers_call(w, nr, op_dontneed, half, half));
	EXPECT_EQ(0, check_swap(cgroup, nr * half));
	ASSERT_EQ(0, memcg_limit(cgroup, V1_MEMSW, nr * half + ROOM));
	ASSERT_EQ(0, memcg_limit(cgroup, V1_MEMORY, nr * half + ROOM));

	for (i = 0; i < 4 * nr; i++) {
		n = i / nr % 2 ? half / 2 : half;
		ASSERT_EQ(0, worker_call(&w[i % nr], op_verify, 0, n));
		EXPECT_EQ(0, check_swap(cgroup, nr * half - n));
		ASSERT_EQ(0, worker_pageout(&w[i % nr], half));
		EXPECT_EQ(0, check_swap(cgroup, nr * half));
	}
	return folios;
}

TEST_F_TIMEOUT(limit, charges_are_exact, TEST_SECONDS)
{
	long folios = (memcg_version() == 2 ? swap_max : memsw)(_metadata, self, variant->limited);

	if (variant->folio_kb)	/* of those that fit, one is split after FIRST pages */
		EXPECT_LE(MAX * psize() / (FOLIO_KB * 1024) - 1, folios);
	EXPECT_EQ(0, check_end(self->area, self->cgroup, NR_CGROUPS, self->worker, 2));
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	return test_harness_run(argc, argv);
}
