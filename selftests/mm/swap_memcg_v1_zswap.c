// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zswap writeback and cgroup v1.
 *
 * With cgroup v1 the record of a slot is cleared whenever its page is read
 * into the swap cache, and made again when the page leaves it. Writeback from
 * zswap does that behind the back of the owner, and from a kernel thread,
 * which is in no cgroup of the test: the memory must be charged to the one
 * whose record it was, and once the page is out of the swap cache the slot
 * must be paid for again by the same cgroup. Otherwise the counter of
 * memory+swap drifts, by each page that is written back, with nobody having
 * touched it.
 *
 * There is no limit for a cgroup's zswap with cgroup v1, so the limit of all
 * zswap is set to nothing: each page that is swapped out then is refused, and
 * has the thread write back some of what is there.
 *
 * Once zswap was on, no large folio is read back from swap as one until the
 * next boot: tests of that come before.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	256		/* of each worker */
/* all are, so that the thread is at rest before they are read */
#define MIN_BACK	(2 * NR_PAGES)

FIXTURE(zswap_v1)
{
	struct pair pair;
	struct worker worker[2];
};

FIXTURE_SETUP(zswap_v1)
{
	const char *why;
	int i;

	why = pair_setup(&self->pair, 8 * NR_PAGES, 0);
	if (why)
		SKIP(return, "%s", why);
	why = zswap_enable();
	if (why)
		SKIP(return, "%s", why);
	/* no page is read in before somebody asks for it */
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, worker_start(&self->worker[i],
					  self->pair.cgroup[i], i));
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, NR_PAGES,
					 MADV_NOHUGEPAGE));
	}
}

FIXTURE_TEARDOWN(zswap_v1)
{
	workers_kill(self->worker, 2);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* Swap out a page for which there is no room in zswap. */
static int refused(struct pair *p)
{
	struct worker *w = &p->resident[0];
	long ret = worker_call(w, op_pageout, 0, 1);

	/* read again: it is written once more the next time */
	return ret < 0 ? ret : worker_call(w, op_fill, 2, 0);
}

TEST_F_TIMEOUT(zswap_v1, written_back, TEST_SECONDS)
{
	long stored, back, memory[2], now;
	struct pair *p = &self->pair;
	struct worker *w = self->worker;
	int i;

	stored = vm_event("zswpout");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, worker_call(&w[i], op_fill, i + 1, 0));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
		EXPECT_EQ(NR_PAGES, pair_swap(p, i));
	}
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	ASSERT_LE(2 * NR_PAGES, vm_event("zswpout") - stored);
	for (i = 0; i < 2; i++)
		memory[i] = memcg_memory(p->cgroup[i]);

	back = vm_event("zswpwb");
	ASSERT_EQ(0, setting_write(ZSWAP "max_pool_percent", "0", NULL));
	ASSERT_TRUE(wait_until(refused(p) ||
			       vm_event("zswpwb") - back >= MIN_BACK));
	/* the resident worker's page keeps no slot */
	ASSERT_EQ(0, worker_call(&p->resident[0], op_dontneed, 0, 1));

	/* what is in the swap cache now is memory of the same cgroup */
	lru_drain();
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(NR_PAGES, worker_call(&w[i], op_swapped, 0,
						NR_PAGES));
		now = memcg_memory(p->cgroup[i]) - memory[i];
		EXPECT_LE(NR_PAGES - pair_swap(p, i), now + MEMORY_SLACK);
		EXPECT_GE(NR_PAGES - pair_swap(p, i), now - MEMORY_SLACK);
		EXPECT_GE(NR_PAGES, pair_swap(p, i));
	}
	EXPECT_STREQ("", memcg_check_slots(2 * NR_PAGES) ?: "");

	/* and swap of the same again once it is out of the cache */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, NR_PAGES));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
	}
	back = vm_event("zswpwb") - back;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(NR_PAGES, pair_swap(p, i));
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	EXPECT_EQ(0, worker_call(&w[0], op_verify, 0, NR_PAGES));
	worker_stop(&w[0]);
	worker_kill(&w[1]);
	ASSERT_STREQ("", pair_finish(p) ?: "");
	ksft_print_msg("pages written back: %ld (at least %d)\n", back,
		       MIN_BACK);
	ASSERT_GE(back, MIN_BACK);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
