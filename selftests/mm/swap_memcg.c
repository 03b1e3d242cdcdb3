// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and memory cgroups: who pays for a swap slot.
 *
 * The kernel keeps the owning cgroup's id for every swap slot, written when
 * the slot is filled and cleared when it is freed, on any CPU and for any
 * cgroup at the same time. A record that is lost, written twice or left behind
 * shows only much later: memory.swap.current of a cgroup never returns to 0,
 * memory.swap.max refuses swap that nobody uses, and the cgroup, once removed,
 * stays as a dying descendant because the record pins it. A record that comes
 * back from another slot's life charges the swapped-in page to a stranger.
 *
 * One worker for each CPU, each in a cgroup of its own, swaps out and in at
 * the same time, on a swap area of the test's own; every page is verified on
 * each read. Freed slots may wait in per-CPU caches, still charged, until
 * swapoff: from then on every cgroup must be at 0, and it must be possible to
 * remove it without a trace.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define MIN_CGROUPS	4
#define MAX_CGROUPS	64
#define NR_PAGES	1024		/* of each worker */
#define ROUNDS		3
#define MIN_SLOTS	8192		/* of all workers, exercised at least */

/* Fill, swap out, read back and verify, @rounds times; the slots used. */
static long op_churn(struct worker *w, long rounds, long gen)
{
	long i, n, step, slots = 0;

	for (; rounds; rounds--, gen++) {
		op_fill(w, gen, 0);
		for (i = 0; i < w->nr; i += step) {
			/* ranges of many lengths, odd starts and ends */
			step = 1 + (i + gen) % 61;
			if (step > w->nr - i)
				step = w->nr - i;
			n = op_pageout(w, i, step);
			if (n < 0)
				return n;
			slots += n;
		}
		/* slots become free here and there, by one or by a range */
		for (i = 0; i < w->nr; i++) {
			if (i % 8 == 7)
				continue;
			if (op_verify(w, i, 1))
				return -EIO;
		}
		for (i = 7; i < w->nr; i += 64)
			if (op_dontneed(w, i - 7, 8))
				return -errno;
		for (i = 7; i < w->nr; i += 64)
			for (n = i - 7; n <= i; n++)
				page_write(w, n, gen);
		if (op_verify(w, 0, w->nr))
			return -EIO;
	}
	n = op_pageout(w, 0, w->nr);
	return n < 0 ? n : slots + n;
}

FIXTURE(swap_memcg)
{
	char *cgroup[MAX_CGROUPS];
	struct worker worker[MAX_CGROUPS];
	int nr;
	int area;
};

FIXTURE_SETUP(swap_memcg)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);

	self->nr = cpus_between(MIN_CGROUPS, MAX_CGROUPS);

	/* twice what is needed: room for the slots in per-CPU caches */
	self->area = swap_area_add(2 * self->nr * NR_PAGES, false);
	ASSERT_GE(self->area, 0);

	why = workers_setup(self->worker, self->cgroup, self->nr, NR_PAGES,
			    MADV_NOHUGEPAGE);
	ASSERT_STREQ("", why ?: "");
}

FIXTURE_TEARDOWN(swap_memcg)
{
	workers_kill(self->worker, self->nr);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* After swapoff nothing is charged, and nothing keeps a removed cgroup. */
static void check_nothing_left(struct __test_metadata *_metadata,
			       struct _test_data_swap_memcg *self)
{
	int i;

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, self->nr) ?: "");
	/* what survived the swapoff is still what was written */
	for (i = 0; i < self->nr; i++) {
		if (!self->worker[i].pid)
			continue;
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 NR_PAGES));
		worker_stop(&self->worker[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, self->nr) ?: "");
}

TEST_F_TIMEOUT(swap_memcg, all_cgroups_at_once, TEST_SECONDS)
{
	long n, used, own, slots = 0, sum = 0;
	int i;

	for (i = 0; i < self->nr; i++)
		worker_send(&self->worker[i], op_churn, ROUNDS, i + 1);
	for (i = 0; i < self->nr; i++) {
		n = worker_wait(&self->worker[i]);
		ASSERT_GE(n, 0);
		slots += n;
	}

	/* each pays for its own, and all together for the caches at most */
	for (i = 0; i < self->nr; i++) {
		own = worker_call(&self->worker[i], op_swapped, 0, NR_PAGES);
		ASSERT_GE(own, 0);
		used = cg_read_long(self->cgroup[i], "memory.swap.current");
		EXPECT_LE(own, used / psize());
		/* a page that is in memory again may keep its slot */
		EXPECT_LE(used / psize(), NR_PAGES + SLOT_CACHE * online_cpus());
		sum += used / psize();
	}
	EXPECT_LE(sum, self->nr * NR_PAGES + SLOT_CACHE * online_cpus());

	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	check_nothing_left(_metadata, self);
	ksft_print_msg("slots exercised: %ld (at least %d)\n", slots,
		       MIN_SLOTS);
	ASSERT_GE(slots, MIN_SLOTS);
}

TEST_F_TIMEOUT(swap_memcg, killed_while_others_swap, TEST_SECONDS)
{
	long n, slots = 0;
	int i;

	/* every other worker has its pages swapped out, and is killed then */
	for (i = 0; i < self->nr; i++) {
		worker_send(&self->worker[i], op_churn, i % 2 ? ROUNDS : 1,
			    i + 1);
	}
	for (i = 0; i < self->nr; i += 2) {
		n = worker_wait(&self->worker[i]);
		ASSERT_GE(n, 0);
		slots += n;
		worker_kill(&self->worker[i]);
	}
	for (i = 1; i < self->nr; i += 2) {
		n = worker_wait(&self->worker[i]);
		ASSERT_GE(n, 0);
		slots += n;
	}

	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	check_nothing_left(_metadata, self);
	ksft_print_msg("slots exercised: %ld (at least %d)\n", slots,
		       MIN_SLOTS);
	ASSERT_GE(slots, MIN_SLOTS);
}

TEST_F_TIMEOUT(swap_memcg, read_ahead, TEST_SECONDS)
{
	long slots = 0, paid;
	int i;

	/* into the swap cache: the slots stay in use, and are paid for */
	for (i = 0; i < self->nr; i++) {
		ASSERT_EQ(0, worker_call(&self->worker[i], op_fill, 1, 0));
		slots += worker_call(&self->worker[i], op_pageout, 0, NR_PAGES);
	}
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	for (i = 0; i < self->nr; i++)
		ASSERT_EQ(0, worker_call(&self->worker[i], op_willneed, 0,
					 NR_PAGES / 2));
	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	for (i = 0; i < self->nr; i++) {
		paid = cg_read_long(self->cgroup[i], "memory.swap.current");
		EXPECT_EQ(worker_call(&self->worker[i], op_swapped, 0,
				      NR_PAGES), paid / psize());
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 NR_PAGES));
	}

	check_nothing_left(_metadata, self);
	ksft_print_msg("slots exercised: %ld (at least %d)\n", slots,
		       MIN_CGROUPS * NR_PAGES / 2);
	ASSERT_GE(slots, MIN_CGROUPS * NR_PAGES / 2);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
