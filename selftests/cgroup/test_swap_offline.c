// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap of a cgroup that is removed.
 *
 * A swap slot that is in use keeps the id of its cgroup, and with it the whole
 * cgroup, after the cgroup has been removed (it is offline then):
 *
 *  - The slots stay charged to it, and so to its ancestors, until they are
 *    freed. The last one lets it go.
 *  - Who reads a page in is charged for it, as an offline cgroup cannot be.
 *    While the cgroup is online, it is charged, whoever reads.
 *  - Pages in memory are swapped out later. If no slot holds the id any more,
 *    the nearest online ancestor is charged for the slot, so the slot must get
 *    its id. Code that took the id of the page's cgroup instead never gave the
 *    charge back (fixed in mainline by 73f839b6d2ed).
 *
 * With tmpfs, pages with even numbers are charged to the child, which is
 * removed, those with odd numbers to another cgroup: they are neighbours in
 * swap, so an id that is off by one slot is always a wrong one.
 */
#include <errno.h>

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
	struct worker owner, reader;
	int area;
	long dying;			/* cgroups before the test */
	bool removed;			/* the child */
};

FIXTURE_SETUP(offline)
{
	char **cgroup = self->cgroup;

	ASSERT_EQ(0, swap_test_begin());
	self->dying = memcg_dying();
	ASSERT_EQ(0, shm_init(NR_PAGES));
	self->area = swap_area_add(4 * NR_PAGES, false, 0);
	ASSERT_GE(self->area, 0);
	cgroup[PARENT] = memcg_add("parent", 0);
	cgroup[OTHER] = memcg_add("other", 0);
	ASSERT_NE(NULL, cgroup[PARENT]);
	ASSERT_NE(NULL, cgroup[OTHER]);
	if (memcg_version() == 2)
		ASSERT_EQ(0, cg_write(cgroup[PARENT], "cgroup.subtree_control", "+memory"));
	cgroup[CHILD] = cg_name(cgroup[PARENT], "child");
	ASSERT_EQ(0, cg_create(cgroup[CHILD]));
	/* not in the child, which no memory of their own must pin */
	ASSERT_EQ(0, worker_start(&self->owner, cgroup[OTHER], 0));
	ASSERT_EQ(0, worker_start(&self->reader, cgroup[OTHER], 1));
}

FIXTURE_TEARDOWN(offline)
{
	worker_kill(&self->owner);
	worker_kill(&self->reader);
	EXPECT_EQ(0, swap_test_undo());
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

	for (i = self->removed ? PARENT : CHILD; i < NR_CGROUPS; i++) {
		n = memcg_swap(self->cgroup[i]);
		if (n == expected[i])
			continue;
		ksft_print_msg("%s is charged for %ld swap slots, not %ld\n",
			       strrchr(self->cgroup[i], '/') + 1, n, expected[i]);
		ret = -1;
	}
	n = swap_slots_used();
	if (n == child + other)
		return ret;
	ksft_print_msg("%ld swap slots are in use, not %ld\n", n, child + other);
	return -1;
}

/* The removed child still exists, as swap slots hold its id, or it has gone. */
static int check_pinned(FIXTURE_DATA(offline) *self, bool pinned)
{
	long n;

	if (wait_until((memcg_drain(), n = memcg_dying() - self->dying) == pinned))
		return 0;
	ksft_print_msg("%ld removed cgroups exist, not %d\n", n, pinned);
	return -1;
}

static void remove_child(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	ASSERT_EQ(0, cg_enter(self->cgroup[OTHER], self->owner.pid));
	ASSERT_EQ(0, memcg_offline(self->cgroup[CHILD]));
	self->removed = true;
	ASSERT_EQ(0, check_pinned(self, true));
}

static void finish(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	EXPECT_EQ(0, check_charged(self, 0, 0));
	worker_stop(&self->owner);
	worker_stop(&self->reader);
	shm_exit();
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_EQ(0, check_gone(self->cgroup, NR_CGROUPS));
}

static void anonymous(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self, int advice)
{
	struct worker *w = &self->owner;
	long user;

	/* once in the other cgroup, so that the worker has all it needs */
	ASSERT_EQ(0, worker_call(w, op_map, NR_PAGES, advice));
	ASSERT_EQ(0, worker_call(w, op_fill, 1));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));

	ASSERT_EQ(0, cg_enter(self->cgroup[CHILD], w->pid));
	ASSERT_EQ(0, worker_call(w, op_fill, 2));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, NR_PAGES, 0));
	remove_child(_metadata, self);
	EXPECT_EQ(0, check_charged(self, NR_PAGES, 0));

	user = memcg_user(self->cgroup[OTHER]);
	ASSERT_EQ(0, worker_call(w, op_verify, 0, HALF));
	EXPECT_EQ(0, check_charged(self, HALF, 0));
	EXPECT_EQ(user + HALF, memcg_user(self->cgroup[OTHER]));
	/* a part of a range, if it is a large folio's */
	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF, QUARTER - 1));
	EXPECT_EQ(0, check_charged(self, QUARTER + 1, 0));
	ASSERT_EQ(0, check_pinned(self, true));
}

TEST_F_TIMEOUT(offline, small_pages_until_exit, TEST_SECONDS)
{
	anonymous(_metadata, self, MADV_NOHUGEPAGE);
	worker_kill(&self->owner);
	EXPECT_EQ(0, check_charged(self, 0, 0));
	ASSERT_EQ(0, check_pinned(self, false));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, large_folios_until_unmapped, TEST_SECONDS)
{
	long folios = folio_stat(FOLIO_KB, "swpout");

	if (folios < 0)
		SKIP(return, "no folios of %d kB", FOLIO_KB);
	ASSERT_EQ(0, folio_only(FOLIO_KB));
	anonymous(_metadata, self, MADV_HUGEPAGE);
	/* most of both times that all was swapped out */
	EXPECT_LE(NR_PAGES * psize() / (FOLIO_KB * 1024), folio_stat(FOLIO_KB, "swpout") - folios);
	ASSERT_EQ(0, worker_call(&self->owner, op_dontneed, HALF, HALF));
	EXPECT_EQ(0, check_charged(self, 0, 0));
	ASSERT_EQ(0, check_pinned(self, false));
	EXPECT_EQ(0, worker_call(&self->owner, op_verify, 0, NR_PAGES));
	finish(_metadata, self);
}

/* tmpfs */

enum parity { EVEN, ODD };	/* of the child, of the other cgroup */

static void share(struct __test_metadata *_metadata, FIXTURE_DATA(offline) *self)
{
	struct worker *o = &self->owner, *r = &self->reader;

	ASSERT_EQ(0, worker_call(o, op_shm_attach));
	ASSERT_EQ(0, worker_call(r, op_shm_attach));
	ASSERT_EQ(0, cg_enter(self->cgroup[CHILD], o->pid));
	ASSERT_EQ(0, worker_call(o, op_write_half, EVEN, 1));
	ASSERT_EQ(0, worker_call(r, op_write_half, ODD, 2));
	ASSERT_EQ(0, worker_call(o, op_shm_detach));
	ASSERT_EQ(0, check_stat(self->cgroup[CHILD], "shmem", HALF));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", HALF));
}

/* Until all of the range is in swap. */
static int swap_out(FIXTURE_DATA(offline) *self, long first, long nr)
{
	struct worker *r = &self->reader;

	if (worker_call(r, op_verify, first, nr))
		return -EIO;
	return wait_until(worker_call(r, op_shm_pageout, first, nr) == nr) ? 0 : -EBUSY;
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

TEST_F_TIMEOUT(offline, online_is_charged_for_reads_of_others, TEST_SECONDS)
{
	struct worker *o = &self->owner, *r = &self->reader;

	share(_metadata, self);
	ASSERT_EQ(0, swap_out(self, 0, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	/* each reads what is charged to the other */
	ASSERT_EQ(0, worker_call(r, op_read_half, EVEN, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, check_stat(self->cgroup[CHILD], "shmem", QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", 0));
	ASSERT_EQ(0, worker_call(o, op_read_half, ODD, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[CHILD], "shmem", QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", QUARTER));

	ASSERT_EQ(0, worker_call(r, op_shm_truncate, HALF + 2));
	EXPECT_EQ(0, check_charged(self, 1, 1));
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, reader_is_charged, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	ASSERT_EQ(0, swap_out(self, 0, NR_PAGES));
	remove_child(_metadata, self);
	EXPECT_EQ(0, check_charged(self, HALF, HALF));

	ASSERT_EQ(0, worker_call(r, op_read_half, EVEN, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "shmem", 0));
	/* all that is in memory is the reader's from now on */
	ASSERT_EQ(0, swap_out(self, 0, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF + QUARTER));

	ASSERT_EQ(0, worker_call(r, op_shm_truncate, HALF + 2));
	EXPECT_EQ(0, check_charged(self, 1, HALF + 1));
	ASSERT_EQ(0, check_pinned(self, true));
	/* the last slot, by a read */
	ASSERT_EQ(0, worker_call(r, op_verify, HALF, 1));
	EXPECT_EQ(0, check_charged(self, 0, HALF + 1));
	ASSERT_EQ(0, check_pinned(self, false));
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, ancestor_is_charged_for_later_swap_out, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	remove_child(_metadata, self);
	/* it has no slot, so no id: nothing of it is left after swap-out */
	ASSERT_EQ(0, swap_out(self, 0, NR_PAGES));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	if (memcg_version() == 1)
		ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "swap", HALF));
	ASSERT_EQ(0, check_pinned(self, false));

	/* the slots have the parent's id: it gets the pages, whoever reads */
	ASSERT_EQ(0, worker_call(r, op_read_half, EVEN, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "shmem", QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", 0));
	ASSERT_EQ(0, swap_out(self, 0, HALF));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0));
	finish(_metadata, self);
}

TEST_F_TIMEOUT(offline, slots_keep_the_id_for_later_swap_out, TEST_SECONDS)
{
	struct worker *r = &self->reader;

	share(_metadata, self);
	ASSERT_EQ(0, swap_out(self, 0, HALF));
	remove_child(_metadata, self);

	/* it still has slots, so it is charged for more of them */
	ASSERT_EQ(0, swap_out(self, HALF, HALF));
	EXPECT_EQ(0, check_charged(self, HALF, HALF));
	if (memcg_version() == 1)
		ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "swap", 0));
	/* these hold it when the first ones are freed */
	ASSERT_EQ(0, worker_call(r, op_read_half, EVEN, HALF));
	EXPECT_EQ(0, check_charged(self, QUARTER, HALF));
	ASSERT_EQ(0, check_pinned(self, true));
	ASSERT_EQ(0, worker_call(r, op_verify, HALF, HALF));
	EXPECT_EQ(0, check_charged(self, 0, QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[OTHER], "shmem", HALF + QUARTER));
	ASSERT_EQ(0, check_stat(self->cgroup[PARENT], "shmem", 0));
	ASSERT_EQ(0, check_pinned(self, false));
	ASSERT_EQ(0, worker_call(r, op_shm_truncate, 0));
	finish(_metadata, self);
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	return test_harness_run(argc, argv);
}
