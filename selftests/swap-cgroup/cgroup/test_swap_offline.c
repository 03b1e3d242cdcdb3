// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap of a cgroup that is removed.
 *
 * A swap slot that is in use keeps the id of its cgroup, and with it the whole
 * cgroup, after the cgroup has been removed (it is offline then):
 *
 *  - The slots stay charged to it, and so to its ancestors, until they are
 *    freed. The last one lets it go.
 *  - Whoever faults a page in is charged for it, as an offline cgroup cannot be.
 *    While the cgroup is online, it is charged, whoever reads.
 *  - Pages in memory are swapped out later. If no slot holds the id any more,
 *    the nearest online ancestor is charged for the slot, so the slot must get
 *    its id. Code that took the id of the page's cgroup instead never gave the
 *    charge back (fixed in mainline by 73f839b6d2ed).
 *
 * In most tests, pages with even numbers are charged to the child, which is
 * removed, those with odd numbers to another cgroup: they are neighbours in
 * swap, so an id that is off by one slot is always a wrong one.
 */
#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PAGES	512
#define HALF		(NR_PAGES / 2)
#define QUARTER		(NR_PAGES / 4)
#define FOLIO_KB	64

/* in the order in which they can be removed */
enum { CHILD, PARENT, OTHER, NR_CGROUPS };

FIXTURE(offline)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker;		/* in OTHER, except while it writes the child's pages */
	int area;
	long dying;			/* cgroups before the test */
	bool removed;			/* the child */
};

FIXTURE_SETUP(offline)
{
	char **cgroup = self->cgroup;

	ASSERT_EQ(0, swap_test_begin());
	self->dying = memcg_dying();
	self->area = swap_area_add(4 * NR_PAGES, AREA_SSD);
	ASSERT_GE(self->area, 0);
	cgroup[PARENT] = memcg_add("parent", 0);
	cgroup[OTHER] = memcg_add("other", 0);
	ASSERT_NE(NULL, cgroup[PARENT]);
	ASSERT_NE(NULL, cgroup[OTHER]);
	if (memcg_version() == 2)
		ASSERT_EQ(0, cg_write(cgroup[PARENT], "cgroup.subtree_control", "+memory"));
	cgroup[CHILD] = cg_name(cgroup[PARENT], "child");
	ASSERT_EQ(0, cg_create(cgroup[CHILD]));
	ASSERT_EQ(0, worker_start(&self->worker, cgroup[OTHER], 0));
}

FIXTURE_TEARDOWN(offline)
{
	worker_kill(&self->worker);
	EXPECT_EQ(0, swap_test_end());
}

/*
 * Swap slots charged to each cgroup, and no others are in use: those of the
 * child are charged to the parent too, before and after the child is removed.
 */
static int check_charged(FIXTURE_DATA(offline) *self, long child, long other)
{
	const long expected[] = { child, child, other };
	int i, ret = check_slots(0);
	long n;

	for (i = self->removed ? PARENT : CHILD; i < NR_CGROUPS; i++)
		ret = check_charge(self->cgroup[i], memcg_swap(self->cgroup[i]),
				   expected[i]) ?: ret;
	n = swap_slots_used();
	return n == child + other ? ret :
	       fail("%ld swap slots are in use, not %ld\n", n, child + other);
}

/* The removed child still exists, as swap slots hold its id, or it has gone. */
static int check_pinned(FIXTURE_DATA(offline) *self, bool pinned)
{
	long n;

	wait_until((lru_drain(), n = memcg_dying() - self->dying) == pinned);
	/* not just one that is still on its way out: a later one is gone */
	if (pinned && n == pinned && !memcg_offline(memcg_add("later", 0)))
		wait_until((n = memcg_dying() - self->dying) <= pinned);
	return n == pinned ? 0 :
	       fail("%ld removed cgroups exist, not %d\n", n, pinned);
}

/* Map memory; the child must not be charged for what the worker needs besides. */
static void map(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self, int advice)
{
	struct worker *w = &self->worker;

	ASSERT_EQ(0, worker_call(w, op_map, NR_PAGES, advice));
	ASSERT_EQ(0, worker_call(w, op_fill, 1));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));
}

static void remove_child(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	ASSERT_EQ(0, memcg_offline(self->cgroup[CHILD]));
	self->removed = true;
	ASSERT_EQ(0, check_pinned(self, true));
}

static void finish(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	EXPECT_EQ(0, check_charged(self, 0, 0));
	ASSERT_EQ(0, check_pinned(self, false));
	worker_stop(&self->worker);
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_EQ(0, check_released(self->cgroup, NR_CGROUPS));
}

/* All pages are the child's: the worker reads some and unmaps some. */
static void all_of_child(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self,
			 int advice)
{
	struct worker *w = &self->worker;
	long user, folios;

	map(_metadata, self, advice);
	folios = folio_stat(FOLIO_KB, "swpout");
	ASSERT_EQ(0, cg_enter(self->cgroup[CHILD], w->pid));
	ASSERT_EQ(0, worker_call(w, op_fill, 2));
	ASSERT_EQ(0, cg_enter(self->cgroup[OTHER], w->pid));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	folios = folio_stat(FOLIO_KB, "swpout") - folios;
	if (advice == MADV_HUGEPAGE)
		EXPECT_LE(NR_PAGES * psize() / (FOLIO_KB * 1024) / 2, folios);
	EXPECT_EQ(0, check_charged(self, NR_PAGES, 0));
	remove_child(_metadata, self);
	EXPECT_EQ(0, check_charged(self, NR_PAGES, 0));

	user = memcg_anon(self->cgroup[OTHER]);
	ASSERT_EQ(0, worker_call(w, op_verify, 0, HALF));
	EXPECT_EQ(0, check_charged(self, HALF, 0));
	EXPECT_EQ(user + HALF, memcg_anon(self->cgroup[OTHER]));
	/* a part of a range, if it is a large folio's */
	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF, QUARTER - 1));
	EXPECT_EQ(0, check_charged(self, QUARTER + 1, 0));
	ASSERT_EQ(0, check_pinned(self, true));
}

TEST_F_TIMEOUT(offline, small_pages_until_exit, TEST_SECONDS)
{
	all_of_child(_metadata, self, MADV_NOHUGEPAGE);
	worker_kill(&self->worker);
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, large_folios_until_unmapped, TEST_SECONDS)
{
	if (!thp_swap_supported(FOLIO_KB))
		SKIP(return, "no folios of %d kB", FOLIO_KB);
	ASSERT_EQ(0, folio_only(FOLIO_KB));
	all_of_child(_metadata, self, MADV_HUGEPAGE);
	ASSERT_EQ(0, worker_call(&self->worker, op_dontneed, HALF, HALF));
	finish(_metadata, self);
}

enum parity { EVEN, ODD };	/* of the child, of the other cgroup */

static void write_halves(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	struct worker *w = &self->worker;

	map(_metadata, self, MADV_NOHUGEPAGE);
	ASSERT_EQ(0, worker_call(w, op_write_half, ODD, 2));
	ASSERT_EQ(0, cg_enter(self->cgroup[CHILD], w->pid));
	ASSERT_EQ(0, worker_call(w, op_write_half, EVEN, 3));
	ASSERT_EQ(0, cg_enter(self->cgroup[OTHER], w->pid));
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

/* Read a half of the first half; which cgroup's memory grows by that? */
static void read_half(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self,
		      enum parity parity, int charged)
{
	long user[NR_CGROUPS];
	int i;

	for (i = PARENT; i < NR_CGROUPS; i++)
		user[i] = memcg_anon(self->cgroup[i]) + (i == charged ? QUARTER : 0);
	ASSERT_EQ(0, worker_call(&self->worker, op_read_half, parity, HALF));
	for (i = PARENT; i < NR_CGROUPS; i++)
		EXPECT_EQ(user[i], memcg_anon(self->cgroup[i]));
}

TEST_F_TIMEOUT(offline, online_is_charged_for_reads_of_others, TEST_SECONDS)
{
	struct worker *w = &self->worker;

	write_halves(_metadata, self);
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	/* each reads what is charged to the other; the child is the parent's too */
	read_half(_metadata, self, EVEN, PARENT);
	EXPECT_EQ(QUARTER, memcg_anon(self->cgroup[CHILD]));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, cg_enter(self->cgroup[CHILD], w->pid));
	read_half(_metadata, self, ODD, OTHER);
	ASSERT_EQ(0, cg_enter(self->cgroup[OTHER], w->pid));
	EXPECT_EQ(0, check_charged(self, QUARTER, QUARTER));
	remove_child(_metadata, self);

	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF + 2, HALF - 2));
	EXPECT_EQ(0, check_charged(self, 1, 1));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, ancestor_is_charged_for_later_swap_out, TEST_SECONDS)
{
	struct worker *w = &self->worker;

	write_halves(_metadata, self);
	remove_child(_metadata, self);
	/* it has no slot, so no id: nothing of it is left after swap-out */
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	if (memcg_version() == 1)
		ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "swap", HALF));
	ASSERT_EQ(0, check_pinned(self, false));

	/* the slots have the parent's id: it gets the pages, whoever reads */
	read_half(_metadata, self, EVEN, PARENT);
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, slots_keep_the_id_for_later_swap_out, TEST_SECONDS)
{
	struct worker *w = &self->worker;

	write_halves(_metadata, self);
	ASSERT_EQ(0, worker_pageout(w, HALF));
	remove_child(_metadata, self);

	/* it still has slots, so it is charged for more of them */
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	if (memcg_version() == 1)
		ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "swap", 0));
	/* these hold it when the first ones are freed; the last is read */
	read_half(_metadata, self, EVEN, OTHER);
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF + 1, HALF - 1));
	EXPECT_EQ(0, check_charged(self, 1, QUARTER));
	ASSERT_EQ(0, check_pinned(self, true));
	ASSERT_EQ(0, worker_call(w, op_verify, HALF, 1));
	EXPECT_EQ(0, check_charged(self, 0, QUARTER));
	ASSERT_EQ(0, check_pinned(self, false));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));
	finish(_metadata, self);
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	return test_harness_run(argc, argv);
}
