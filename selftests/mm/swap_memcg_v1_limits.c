// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroup v1: memory.memsw.limit_in_bytes.
 *
 * Memory and swap are one counter here, and what passes from one to the other
 * must not change it: a page is charged once, in memory or in swap. A record
 * that is cleared twice lets a cgroup have more than its limit; one that is
 * left behind takes a page of the limit away for good, and in the end
 * processes are killed that have not used it up.
 *
 * A limit below what is in swap is refused, as nothing can make that less, and
 * accepted once enough has been freed. Then all pages pass between memory and
 * swap again and again, by request and because the limit of memory is low,
 * while the limit of both leaves room for few more: so a worker that lives
 * proves that little was lost, and the counters, that nothing was.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512L
#define HALF		(NR_PAGES / 2)
#define ROOM		128L		/* for what a worker needs besides */
#define ROUNDS		4

#define MEMORY		"memory.limit_in_bytes"
#define MEMSW		"memory.memsw.limit_in_bytes"

FIXTURE(v1_limits)
{
	struct worker worker;
	char *cgroup;
	int area;
	long dying;
};

FIXTURE_SETUP(v1_limits)
{
	const char *why;

	why = memcg_setup(1);
	if (why)
		SKIP(return, "%s", why);
	/* no page is read in before somebody asks for it */
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	self->area = swap_area_add(4 * NR_PAGES, false);
	ASSERT_GE(self->area, 0);
	self->dying = memcg_settle();
	self->cgroup = memcg_add("limited", 0);
	ASSERT_NE(NULL, self->cgroup);
	ASSERT_EQ(0, worker_start(&self->worker, self->cgroup, 0));
	ASSERT_EQ(0, worker_call(&self->worker, op_map, NR_PAGES,
				 MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(v1_limits)
{
	worker_kill(&self->worker);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* All that the cgroup pays for in swap, which is all that is in use there. */
static void expect_swap(struct __test_metadata *_metadata,
			struct _test_data_v1_limits *self, long pages)
{
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	EXPECT_EQ(pages, memcg_swap(self->cgroup));
	EXPECT_LE(cg_read_long(self->cgroup, "memory.memsw.usage_in_bytes"),
		  cg_read_long(self->cgroup, MEMSW));
}

static void swap_out(struct __test_metadata *_metadata, struct worker *w,
		     long first, long nr)
{
	ASSERT_TRUE(wait_until(worker_call(w, op_pageout, first, nr) == nr));
}

static void finish(struct __test_metadata *_metadata,
		   struct _test_data_v1_limits *self)
{
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_EQ(0, worker_call(&self->worker, op_verify, 0, NR_PAGES));
	worker_stop(&self->worker);
	EXPECT_EQ(0, memcg_swap(self->cgroup));
	EXPECT_EQ(0, cg_destroy(self->cgroup));
	EXPECT_TRUE(wait_until((memcg_drain(),
				memcg_dying() <= self->dying)));
	EXPECT_EQ(0, memcg_swap(memcg_parent()));
}

TEST_F_TIMEOUT(v1_limits, of_memory_and_swap, TEST_SECONDS)
{
	struct worker *w = &self->worker;
	char *cgroup = self->cgroup;
	long slots = NR_PAGES;
	int round;

	ASSERT_EQ(0, worker_call(w, op_fill, 1, 0));
	swap_out(_metadata, w, 0, NR_PAGES);
	expect_swap(_metadata, self, NR_PAGES);

	/* of memory first: it cannot be more than that of both */
	ASSERT_EQ(0, memcg_limit(cgroup, MEMORY, HALF));
	EXPECT_EQ(-EBUSY, memcg_limit(cgroup, MEMSW, NR_PAGES - 1));
	EXPECT_EQ(-EBUSY, memcg_limit(cgroup, MEMSW, HALF + ROOM));
	expect_swap(_metadata, self, NR_PAGES);
	ASSERT_EQ(0, worker_call(w, op_dontneed, HALF, HALF));
	expect_swap(_metadata, self, HALF);
	ASSERT_EQ(0, memcg_limit(cgroup, MEMSW, HALF + ROOM));
	ASSERT_EQ(0, memcg_limit(cgroup, MEMORY, HALF + ROOM));

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, worker_call(w, op_verify, 0, HALF / 3));
		expect_swap(_metadata, self, HALF - HALF / 3);
		ASSERT_EQ(0, worker_call(w, op_verify, 0, HALF));
		expect_swap(_metadata, self, 0);
		swap_out(_metadata, w, 0, HALF);
		expect_swap(_metadata, self, HALF);
		slots += HALF;
	}
	finish(_metadata, self);
	ksft_print_msg("slots exercised: %ld (at least %ld)\n", slots,
		       NR_PAGES + ROUNDS * HALF);
	ASSERT_GE(slots, NR_PAGES + ROUNDS * HALF);
}

TEST_F_TIMEOUT(v1_limits, of_memory, TEST_SECONDS)
{
	long slots = 0, n, least = ROUNDS * (NR_PAGES - HALF);
	struct worker *w = &self->worker;
	char *cgroup = self->cgroup;
	int round;

	ASSERT_EQ(0, memcg_limit(cgroup, MEMORY, HALF));
	ASSERT_EQ(0, memcg_limit(cgroup, MEMSW, NR_PAGES + ROOM));
	for (round = 0; round < ROUNDS; round++) {
		/* what does not fit into memory has to go to swap */
		ASSERT_EQ(0, worker_call(w, op_fill, round + 1, 0));
		n = worker_call(w, op_swapped, 0, NR_PAGES);
		EXPECT_LE(NR_PAGES - HALF, n);
		slots += n;
		/*
		 * A page in the swap cache is not paid for as swap, but what
		 * the worker has besides may be in swap too.
		 */
		EXPECT_GE(n + ROOM, memcg_swap(cgroup));
		EXPECT_STREQ("", memcg_check_slots(NR_PAGES) ?: "");
		ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	}
	/* room for all of it: whatever is in memory is not in swap */
	ASSERT_EQ(0, memcg_limit(cgroup, MEMORY, NR_PAGES + ROOM));
	ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	EXPECT_EQ(0, worker_call(w, op_swapped, 0, NR_PAGES));
	EXPECT_LE(0, memcg_swap(cgroup));
	EXPECT_GE(ROOM, memcg_swap(cgroup));
	EXPECT_STREQ("", memcg_check_slots(NR_PAGES) ?: "");
	finish(_metadata, self);
	ksft_print_msg("slots exercised: %ld (at least %ld)\n", slots, least);
	ASSERT_GE(slots, least);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
