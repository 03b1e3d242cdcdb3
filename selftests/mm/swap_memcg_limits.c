// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap that a cgroup is refused: memory.swap.max and memory.swap.high.
 *
 * A slot is taken first, then charged, and recorded when the charge has
 * succeeded. When it has not, the slot is given back without a record. Code
 * that leaves one there makes the next user of the slot charge, and read, on
 * behalf of a stranger; code that uncharges a slot which was never charged
 * makes a counter fall below what is used, and puts a reference to an id that
 * nobody has. A large folio that is refused is split and tried page by page,
 * so that a limit can be reached to the page, with ranges that were refused
 * lying between slots that are in use.
 *
 * Each test is exact: a cgroup gets as many pages as it may have in swap, no
 * more and no less, and what the cgroup at the limit could not have, another
 * one uses right after it.
 */
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512L		/* of each worker */
#define MAX		101L		/* and what it may have in swap */
#define RANGE_KB	64
#define AREA		(3 * NR_PAGES)	/* for ranges: whole free clusters */
#define SETTING_MAX	"memory.swap.max"

/* in the order in which they can be removed */
enum { LEAF, OTHER_LEAF, ABOVE, FREE, NR_CGROUPS };

FIXTURE(limits)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker[2];
	struct worker other;
	int area;
	long refused;
};

FIXTURE_SETUP(limits)
{
	const char *why;
	int i;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	self->area = swap_area_add(AREA, false);
	ASSERT_GE(self->area, 0);
	self->cgroup[ABOVE] = memcg_add("above", 0);
	self->cgroup[FREE] = memcg_add("free", 0);
	ASSERT_NE(NULL, self->cgroup[ABOVE]);
	ASSERT_NE(NULL, self->cgroup[FREE]);
	ASSERT_EQ(0, cg_write(self->cgroup[ABOVE], "cgroup.subtree_control",
			      "+memory"));
	for (i = LEAF; i <= OTHER_LEAF; i++) {
		self->cgroup[i] = cg_name_indexed(self->cgroup[ABOVE], "leaf",
						  i);
		ASSERT_NE(NULL, self->cgroup[i]);
		ASSERT_EQ(0, cg_create(self->cgroup[i]));
	}
}

FIXTURE_TEARDOWN(limits)
{
	workers_kill(self->worker, 2);
	worker_kill(&self->other);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

static long event(const char *cgroup, const char *key)
{
	return cg_read_key_long(cgroup, "memory.swap.events", key);
}

static void start(struct __test_metadata *_metadata, struct worker *w,
		  const char *cgroup, long nr, long advice)
{
	/* on one CPU, so that they get slots from the same cache */
	ASSERT_EQ(0, worker_start(w, cgroup, 0));
	ASSERT_EQ(0, worker_call(w, op_map, nr, advice));
	ASSERT_EQ(0, worker_call(w, op_fill, 1, 0));
}

/* Pages in swap of a cgroup, by its counter; all of it is accounted for. */
static long swap_of(struct __test_metadata *_metadata, const char *cgroup)
{
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	return memcg_swap(cgroup);
}

/*
 * Swap out @nr pages of a worker whose cgroup may have @more of them in swap:
 * it gets these, and each of the others counts as refused. Neither a slot nor
 * a charge is left of a try that failed.
 */
static void refuse(struct __test_metadata *_metadata,
		   struct _test_data_limits *self, struct worker *w,
		   const char *cgroup, long first, long nr, long more)
{
	long have, out, now, max = event(cgroup, "max ");
	long fail = event(cgroup, "fail ");

	have = swap_of(_metadata, cgroup);
	out = worker_call(w, op_swapped, first, nr);
	/* again if a page was busy: what is refused, is so each time */
	wait_until((now = worker_call(w, op_pageout, first, nr)) >= out + more);
	EXPECT_EQ(out + more, now);
	EXPECT_EQ(have + more, swap_of(_metadata, cgroup));
	max = event(cgroup, "max ") - max;
	fail = event(cgroup, "fail ") - fail;
	EXPECT_LE(nr - out - more, max);
	EXPECT_LE(max, fail);
	self->refused += max;
}

/* Another cgroup uses all the slots that are free, and reads its pages. */
static void use_rest(struct __test_metadata *_metadata,
		     struct _test_data_limits *self, long advice)
{
	long used = swap_slots_used(), out;

	start(_metadata, &self->other, self->cgroup[FREE], AREA, advice);
	out = worker_call(&self->other, op_pageout, 0, AREA);
	EXPECT_LE((AREA - used) * 3 / 4, out);
	EXPECT_EQ(out, swap_of(_metadata, self->cgroup[FREE]));
	EXPECT_EQ(used + out, swap_slots_used());
	EXPECT_EQ(0, worker_call(&self->other, op_verify, 0, AREA));
	worker_stop(&self->other);
	EXPECT_EQ(0, swap_of(_metadata, self->cgroup[FREE]));
	EXPECT_EQ(used, swap_slots_used());
}

static void finish(struct __test_metadata *_metadata,
		   struct _test_data_limits *self, long least)
{
	int i;

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR_CGROUPS) ?: "");
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	for (i = 0; i < 2; i++) {
		if (!self->worker[i].pid)
			continue;
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 NR_PAGES));
		worker_stop(&self->worker[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR_CGROUPS) ?: "");
	ksft_print_msg("refused: %ld (at least %ld)\n", self->refused, least);
	ASSERT_GE(self->refused, least);
}

TEST_F_TIMEOUT(limits, max_of_a_leaf, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	char *leaf = self->cgroup[LEAF];

	start(_metadata, w, leaf, NR_PAGES, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, MAX));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, MAX);
	/* once more, each in vain */
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 0);
	EXPECT_EQ(event(leaf, "max "), event(self->cgroup[ABOVE], "max "));
	use_rest(_metadata, self, MADV_NOHUGEPAGE);

	/* what is free again can be had again */
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	refuse(_metadata, self, w, leaf, 3, NR_PAGES - 3, MAX);
	worker_kill(w);
	EXPECT_EQ(0, swap_of(_metadata, leaf));
	use_rest(_metadata, self, MADV_NOHUGEPAGE);
	finish(_metadata, self, 3 * (NR_PAGES - MAX) - 3);
}

TEST_F_TIMEOUT(limits, max_of_an_ancestor, TEST_SECONDS)
{
	struct worker *w = self->worker;
	char *leaf = self->cgroup[LEAF], *other = self->cgroup[OTHER_LEAF];
	char *above = self->cgroup[ABOVE];
	const long first = 33;

	start(_metadata, &w[0], leaf, NR_PAGES, MADV_NOHUGEPAGE);
	start(_metadata, &w[1], other, NR_PAGES, MADV_NOHUGEPAGE);
	/* the leaf has been charged when the limit above it is hit */
	ASSERT_EQ(0, memcg_limit(above, SETTING_MAX, MAX));
	refuse(_metadata, self, &w[0], leaf, 0, first, first);
	refuse(_metadata, self, &w[1], other, 0, NR_PAGES, MAX - first);
	refuse(_metadata, self, &w[0], leaf, 0, NR_PAGES, 0);
	EXPECT_EQ(MAX, swap_of(_metadata, above));
	/* counted where the page belongs, and above */
	EXPECT_EQ(event(leaf, "max ") + event(other, "max "),
		  event(above, "max "));
	use_rest(_metadata, self, MADV_NOHUGEPAGE);

	/* what one gives up, the other may have */
	ASSERT_EQ(0, worker_call(&w[0], op_verify, 0, NR_PAGES));
	refuse(_metadata, self, &w[1], other, 0, NR_PAGES, first);
	worker_kill(&w[1]);
	EXPECT_EQ(0, swap_of(_metadata, above));
	refuse(_metadata, self, &w[0], leaf, 0, NR_PAGES, MAX);
	finish(_metadata, self, 4 * (NR_PAGES - MAX));
}

TEST_F_TIMEOUT(limits, ranges, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	char *leaf = self->cgroup[LEAF];
	long whole = folio_swpout(RANGE_KB), least;

	if (whole < 0)
		SKIP(return, "no folios of %d kB", RANGE_KB);
	folio_only(RANGE_KB);
	start(_metadata, w, leaf, NR_PAGES, MADV_HUGEPAGE);

	/* whole folios, then the rest of what it may have one by one */
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, MAX));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, MAX);
	whole = folio_swpout(RANGE_KB) - whole;
	least = MAX * (long)psize() / (RANGE_KB * 1024);
	use_rest(_metadata, self, MADV_HUGEPAGE);

	/* new folios: all are refused, split, and refused again */
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_fill, 2, 0));
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, 0));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 0);
	EXPECT_EQ(0, swap_slots_used());
	use_rest(_metadata, self, MADV_HUGEPAGE);
	ksft_print_msg("ranges that were not refused: %ld (at least %ld)\n",
		       whole, least);
	ASSERT_GE(whole, least);
	finish(_metadata, self, 2 * NR_PAGES - MAX + NR_PAGES / 16);
}

TEST_F_TIMEOUT(limits, max_is_lowered, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	char *leaf = self->cgroup[LEAF];

	start(_metadata, w, leaf, NR_PAGES, MADV_NOHUGEPAGE);
	/* nothing at all, then some, then less than it has */
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, 0));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 0);
	EXPECT_EQ(0, swap_slots_used());
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, 2 * MAX));
	refuse(_metadata, self, w, leaf, 0, 2 * MAX, 2 * MAX);
	ASSERT_EQ(0, memcg_limit(leaf, SETTING_MAX, MAX));
	EXPECT_EQ(2 * MAX, swap_of(_metadata, leaf));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 0);
	/* still more than it may have, then less */
	ASSERT_EQ(0, worker_call(w, op_verify, 0, MAX - 1));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 0);
	EXPECT_EQ(MAX + 1, swap_of(_metadata, leaf));
	ASSERT_EQ(0, worker_call(w, op_verify, 0, MAX + 8));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, 8);
	/* and no limit any more */
	ASSERT_EQ(0, cg_write(leaf, SETTING_MAX, "max"));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, NR_PAGES - MAX);
	finish(_metadata, self, 4 * (NR_PAGES - 2 * MAX));
}

TEST_F_TIMEOUT(limits, high, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	char *leaf = self->cgroup[LEAF];
	const long high = NR_PAGES - 8;

	start(_metadata, w, leaf, NR_PAGES, MADV_NOHUGEPAGE);
	start(_metadata, &self->worker[1], leaf, NR_PAGES, MADV_NOHUGEPAGE);
	/*
	 * Of the one above, and exceeded by a little: the more it is, the
	 * longer sleeps who allocates.
	 */
	ASSERT_EQ(0, memcg_limit(self->cgroup[ABOVE], "memory.swap.high", high));
	refuse(_metadata, self, w, leaf, 0, NR_PAGES, NR_PAGES);
	EXPECT_EQ(0, event(leaf, "fail "));
	ASSERT_EQ(0, event(self->cgroup[ABOVE], "high "));

	ASSERT_EQ(0, worker_call(&self->worker[1], op_dontneed, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(&self->worker[1], op_fill, 2, 0));
	EXPECT_EQ(NR_PAGES, swap_of(_metadata, leaf));
	EXPECT_LE(1, event(self->cgroup[ABOVE], "high "));
	EXPECT_EQ(0, event(leaf, "max "));
	/* read by who is held up because of it */
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	EXPECT_EQ(0, swap_of(_metadata, leaf));
	ksft_print_msg("over high: %ld (at least 1)\n",
		       event(self->cgroup[ABOVE], "high "));
	finish(_metadata, self, 0);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
