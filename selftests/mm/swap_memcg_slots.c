// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap slots that are neighbours, of different cgroups.
 *
 * The owners of swap slots are kept in an array of small ids. Two CPUs that
 * write neighbouring ids at the same time, for different cgroups, must not
 * lose one of them: a machine that cannot store 16 bits without touching what
 * is beside them would, and so would code that writes two ids as one word or
 * whose range is one too long. It would go unnoticed on most systems, because
 * a CPU takes a batch of neighbouring slots and fills them for one cgroup. So
 * here slots are handed out one by one: on an area without clusters (a
 * rotational device), small enough that the per-CPU slot caches stay off. That
 * the slots do interleave is read from pagemap, and the test fails if they do
 * not. As no slot is held back, each memory.swap.current must be exact.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define MIN_CGROUPS	4
#define MAX_CGROUPS	64
#define MAX_PAGES	512		/* of each worker */
#define ROUNDS		6
#define MIN_SLOTS	1000		/* exercised at least */
#define MIN_MIXED	30		/* per cent of the neighbours */
#define LEAD		2		/* pages that a worker may be ahead */
/* per CPU: slot caches go off when it is full, and do not come back */
#define AREA		(SLOT_CACHE_ON - 2)

static struct shared {
	unsigned long done[MAX_CGROUPS];
	int workers;
} *shared;

/* Read, change and swap out every other page, at the pace of the slowest. */
static long op_neighbours(struct worker *w, long me, long round)
{
	unsigned long *done = &shared->done[me];
	long i, n, slots = 0;

	for (i = 0; i < w->nr; i++) {
		for (n = 0; n < shared->workers; n++)
			while (__atomic_load_n(&shared->done[n],
					       __ATOMIC_RELAXED) + LEAD <=
			       *done)
				sched_yield();
		if (round == 1 || (i + round) % 2) {
			if (!page_check(w, i))
				return -EIO;
			page_write(w, i, round);
			n = op_pageout(w, i, 1);
			if (n < 0)
				return n;
			slots += n;
		}
		__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
	}
	/* a page may have been busy: nothing stays behind */
	while ((n = op_pageout(w, 0, w->nr)) >= 0 && n < w->nr)
		usleep(1000);
	return n < 0 ? n : slots;
}

FIXTURE(neighbours)
{
	char *cgroup[MAX_CGROUPS];
	struct worker worker[MAX_CGROUPS];
	int nr;
	long nr_pages;
	long nr_slots;
	int area;
};

FIXTURE_SETUP(neighbours)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (swap_in_use())
		SKIP(return, "other swap is in use: slot caches stay on");

	self->nr = cpus_between(MIN_CGROUPS, MAX_CGROUPS);
	self->nr_slots = AREA * online_cpus();
	self->nr_pages = (self->nr_slots - SLOT_CACHE) / self->nr;
	if (self->nr_pages > MAX_PAGES)
		self->nr_pages = MAX_PAGES;
	self->area = swap_area_add(self->nr_slots, true);
	ASSERT_GE(self->area, 0);

	shared = shared_alloc(sizeof(*shared));
	ASSERT_NE(NULL, shared);
	ASSERT_EQ(0, owners_init(self->nr_slots));
	shared->workers = self->nr;
	why = workers_setup(self->worker, self->cgroup, self->nr, self->nr_pages,
			    MADV_NOHUGEPAGE);
	ASSERT_STREQ("", why ?: "");
}

FIXTURE_TEARDOWN(neighbours)
{
	workers_kill(self->worker, self->nr);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* Each cgroup pays for what it has swapped out: no more, no less. */
static void check_exact(struct __test_metadata *_metadata,
			struct _test_data_neighbours *self)
{
	EXPECT_STREQ("", memcg_check_workers(self->cgroup, self->worker,
					     self->nr) ?: "");
}

TEST_F_TIMEOUT(neighbours, of_different_cgroups, TEST_SECONDS)
{
	long n, pairs, mixed, percent, least = 100, slots = 0;
	int i, round;

	for (round = 1; round <= ROUNDS; round++) {
		for (i = 0; i < self->nr; i++)
			shared->done[i] = 0;
		for (i = 0; i < self->nr; i++)
			worker_send(&self->worker[i], op_neighbours, i, round);
		for (i = 0; i < self->nr; i++) {
			n = worker_wait(&self->worker[i]);
			ASSERT_GE(n, 0);
			slots += n;
		}
		/* the first round only turns the slot caches off */
		if (round == 1)
			continue;
		check_exact(_metadata, self);
		mixed = owners_mixed(self->worker, self->nr, 1, &pairs);
		ASSERT_GE(mixed, 0);
		ASSERT_GT(pairs, self->nr * self->nr_pages / 2);
		percent = 100 * mixed / pairs;
		if (percent < least)
			least = percent;
	}

	/* slots become free one by one: the neighbours do not notice */
	worker_kill(&self->worker[0]);
	check_exact(_metadata, self);
	ASSERT_EQ(0, worker_call(&self->worker[1], op_dontneed, 7,
				 self->nr_pages / 2));
	check_exact(_metadata, self);
	ASSERT_EQ(0, worker_call(&self->worker[2], op_verify, 5,
				 self->nr_pages / 2));
	check_exact(_metadata, self);

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, self->nr) ?: "");
	for (i = 1; i < self->nr; i++) {
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 self->nr_pages));
		worker_stop(&self->worker[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, self->nr) ?: "");

	ksft_print_msg("slots exercised: %ld (at least %d)\n", slots,
		       MIN_SLOTS);
	ksft_print_msg("neighbours of different cgroups: %ld %% of %ld (at least %d %%)\n",
		       least, pairs, MIN_MIXED);
	ASSERT_GE(slots, MIN_SLOTS);
	ASSERT_GE(least, MIN_MIXED);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
