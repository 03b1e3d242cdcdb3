/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap slots whose owner is removed, for both versions of cgroups: see
 * swap_memcg_offline.c, which includes this, as does swap_memcg_v1_offline.c.
 *
 * The record of a slot outlives the cgroup that it names: the cgroup is gone
 * from its directory, but its id, and with it all of the cgroup, is kept by
 * the records. What must hold is:
 *
 *  - The slots stay charged, to the removed cgroup and so to those above it,
 *    until they are freed; the last one lets the removed cgroup go.
 *  - Who reads such a page in is charged for it: the recorded cgroup cannot be
 *    any more. While it is there, it is, whoever reads.
 *  - Pages of a removed cgroup that are still in memory are swapped out later.
 *    When it has no slot left it has no id, and the charge goes to the nearest
 *    cgroup above that has one. The record must hold the id of that cgroup.
 *    The kernel once took the id of the page's owner, and the charge was never
 *    given back.
 *
 * Anonymous pages are here, pages of tmpfs in swap_memcg_offline_shm.h.
 */
#ifndef __SWAP_MEMCG_OFFLINE_H__
#define __SWAP_MEMCG_OFFLINE_H__

#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512
#define HALF		(NR_PAGES / 2)
#define QUARTER		(NR_PAGES / 4)
#define SLACK		16		/* other pages that a worker needs */
#define REMOVED		(-1)
#define RANGE_KB	64
#define MIN_RANGES	(NR_PAGES * (long)psize() / (RANGE_KB * 1024L) / 2)

#define STAT_ANON	(VERSION == 1 ? "\nrss " : "anon ")
#define STAT_SHMEM	"\nshmem "

FIXTURE(offline)
{
	char *parent, *child, *other;
	struct worker owner, reader;
	int area;
	long dying;			/* before the test */
	long slots;
};

FIXTURE_SETUP(offline)
{
	const char *why;

	why = memcg_setup(VERSION);
	if (why)
		SKIP(return, "%s", why);
	/* no page is read in before somebody asks for it */
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	ASSERT_TRUE(shm_init(NR_PAGES));
	self->area = swap_area_add(4 * NR_PAGES, false);
	ASSERT_GE(self->area, 0);
	self->dying = memcg_settle();

	self->parent = memcg_add("parent", 0);
	self->other = memcg_add("other", 0);
	ASSERT_NE(NULL, self->parent);
	ASSERT_NE(NULL, self->other);
	if (VERSION == 2) {
		ASSERT_EQ(0, cg_write(self->parent, "cgroup.subtree_control",
				      "+memory"));
	}
	self->child = cg_name(self->parent, "child");
	ASSERT_NE(NULL, self->child);
	ASSERT_EQ(0, cg_create(self->child));
	/* what the owner needs for itself is not to pin the child */
	ASSERT_EQ(0, worker_start(&self->owner, self->other, 0));
	ASSERT_EQ(0, worker_start(&self->reader, self->other, 1));
}

FIXTURE_TEARDOWN(offline)
{
	worker_kill(&self->owner);
	worker_kill(&self->reader);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* Pages of swap that are paid for; nobody else has any. */
static void expect_paid(struct __test_metadata *_metadata,
			struct _test_data_offline *self, const char *when,
			long child, long parent, long other)
{
	/* first, as this empties the slot caches */
	EXPECT_STREQ("", memcg_check_slots(0) ?: "") {
		TH_LOG("%s", when);
	}
	if (child != REMOVED) {
		EXPECT_EQ(child, memcg_swap(self->child)) {
			TH_LOG("child, %s", when);
		}
	}
	EXPECT_EQ(parent, memcg_swap(self->parent)) {
		TH_LOG("parent, %s", when);
	}
	EXPECT_EQ(other, memcg_swap(self->other)) {
		TH_LOG("other, %s", when);
	}
	EXPECT_EQ(parent + other, swap_slots_used()) {
		TH_LOG("slots, %s", when);
	}
}

/* memory.stat lags: it gets there, and not beyond. */
static void expect_stat(struct __test_metadata *_metadata,
			const char *cgroup, const char *key, long least,
			long most)
{
	long n = -1;

	wait_until((n = memcg_stat(cgroup, key), n >= least && n <= most));
	EXPECT_LE(least, n) {
		TH_LOG("%s of %s", key, cgroup);
	}
	EXPECT_GE(most, n) {
		TH_LOG("%s of %s", key, cgroup);
	}
}

/* The child is removed: is it still there, with records as all that pins it? */
static void expect_dying(struct __test_metadata *_metadata,
			 struct _test_data_offline *self, bool dying)
{
	memcg_drain();
	if (!dying)
		wait_until((memcg_drain(), memcg_dying() == self->dying));
	EXPECT_EQ(self->dying + dying, memcg_dying());
}

static void remove_child(struct __test_metadata *_metadata,
			 struct _test_data_offline *self)
{
	ASSERT_EQ(0, cg_enter(self->other, self->owner.pid));
	ASSERT_STREQ("", memcg_offline(self->child) ?: "");
	expect_dying(_metadata, self, true);
}

/* Nothing is in use any more: nothing is paid for, nothing pins anything. */
static void finish(struct __test_metadata *_metadata,
		   struct _test_data_offline *self, long least)
{
	expect_paid(_metadata, self, "at the end", REMOVED, 0, 0);
	if (self->area >= 0)
		ASSERT_EQ(0, swap_area_off(self->area));
	worker_stop(&self->owner);
	worker_stop(&self->reader);
	shm_exit();
	EXPECT_EQ(0, cg_destroy(self->child));
	EXPECT_EQ(0, cg_destroy(self->parent));
	EXPECT_EQ(0, cg_destroy(self->other));
	EXPECT_TRUE(wait_until((memcg_drain(),
				memcg_dying() <= self->dying)));
	EXPECT_EQ(0, memcg_swap(memcg_parent()));
	ksft_print_msg("slots exercised: %ld (at least %ld)\n", self->slots,
		       least);
	ASSERT_GE(self->slots, least);
}

/* anonymous pages */

enum end { UNMAP, EXIT, SWAPOFF };

static void anonymous(struct __test_metadata *_metadata,
		      struct _test_data_offline *self, int advice,
		      enum end end)
{
	struct worker *w = &self->owner;
	long before;

	/* once as a rehearsal, so that all the worker needs is there */
	ASSERT_EQ(0, worker_call(w, op_map, NR_PAGES, advice));
	ASSERT_EQ(0, worker_call(w, op_fill, 1, 0));
	ASSERT_LT(0, worker_call(w, op_pageout, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_dontneed, 0, NR_PAGES));

	ASSERT_EQ(0, cg_enter(self->child, w->pid));
	ASSERT_EQ(0, worker_call(w, op_fill, 2, 0));
	ASSERT_TRUE(wait_until(worker_call(w, op_pageout, 0, NR_PAGES) ==
			       NR_PAGES));
	self->slots += NR_PAGES;
	expect_paid(_metadata, self, "swapped out", NR_PAGES, NR_PAGES, 0);

	remove_child(_metadata, self);
	expect_paid(_metadata, self, "removed", REMOVED, NR_PAGES, 0);
	expect_dying(_metadata, self, true);

	before = memcg_stat(self->other, STAT_ANON);
	ASSERT_EQ(0, worker_call(w, op_verify, 0, HALF));
	expect_paid(_metadata, self, "half of it read", REMOVED, HALF, 0);
	expect_stat(_metadata, self->other, STAT_ANON, before + HALF - SLACK,
		    before + HALF + SLACK);
	expect_stat(_metadata, self->parent, STAT_ANON, 0, 0);
	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF, QUARTER - 1));
	expect_paid(_metadata, self, "a quarter unmapped", REMOVED,
		    QUARTER + 1, 0);
	expect_dying(_metadata, self, true);

	switch (end) {
	case UNMAP:
		EXPECT_EQ(0, worker_call(w, op_dontneed, HALF, HALF));
		break;
	case EXIT:
		worker_kill(w);
		break;
	case SWAPOFF:
		EXPECT_EQ(0, worker_call(w, op_swapoff, self->area, 0));
		self->area = -1;
		break;
	}
	expect_paid(_metadata, self, "all freed", REMOVED, 0, 0);
	expect_dying(_metadata, self, false);
	if (end != EXIT)
		EXPECT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	finish(_metadata, self, NR_PAGES);
}

TEST_F_TIMEOUT(offline, anonymous_unmapped, TEST_SECONDS)
{
	anonymous(_metadata, self, MADV_NOHUGEPAGE, UNMAP);
}

TEST_F_TIMEOUT(offline, anonymous_exit, TEST_SECONDS)
{
	anonymous(_metadata, self, MADV_NOHUGEPAGE, EXIT);
}

TEST_F_TIMEOUT(offline, anonymous_swapoff, TEST_SECONDS)
{
	anonymous(_metadata, self, MADV_NOHUGEPAGE, SWAPOFF);
}

/* A range holds a reference for each slot, and is freed in parts here. */
TEST_F_TIMEOUT(offline, anonymous_ranges, TEST_SECONDS)
{
	long whole = folio_swpout(RANGE_KB);

	if (whole < 0)
		SKIP(return, "no folios of %d kB", RANGE_KB);
	folio_only(RANGE_KB);
	anonymous(_metadata, self, MADV_HUGEPAGE, UNMAP);
	whole = folio_swpout(RANGE_KB) - whole;
	ksft_print_msg("ranges exercised: %ld (at least %ld)\n", whole,
		       MIN_RANGES);
	ASSERT_GE(whole, MIN_RANGES);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}

#endif
