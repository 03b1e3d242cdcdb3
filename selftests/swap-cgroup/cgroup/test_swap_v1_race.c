// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two races of swap accounting on cgroup v1, in 6.12.
 *
 * These are reproducers for kernels in which the window is made wider by a
 * delay. Without one, the first race is met in some runs and the second one
 * rarely or never, so a pass says little about a kernel that is not patched
 * for that; a failure says that it has the bug, and leaves counters and ids
 * that are wrong until the next boot.
 *
 * - Charge moving stored the new id of a swap entry before it had taken a
 *   reference to that id. A process that shares the entry and reads it in
 *   between the two drops the last reference of a cgroup that is alive and has
 *   no other swap ("refcount_t: addition on 0; use-after-free"). Swap of that
 *   cgroup is then charged to its parent, or to none.
 * - A range of swap entries is freed with the id of its first one, after their
 *   ids were compared. While its pages are in the swap cache, no entry has an
 *   id and all are alike. If reclaim takes the pages out of the swap cache
 *   after that, the entries get ids of different cgroups, and one cgroup gets
 *   back what another one was charged.
 */
#include <errno.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PAGES	512L
#define RANGE		64		/* pages that are unmapped at once */
#define ROUNDS		4
#define WORKER_CPU	2		/* the two that reclaim are on 0 and 1 */

static long *nr_begun;			/* ranges that are or were unmapped */

static long op_unmap(struct worker *w, long a, long b)
{
	long i, ret = 0;

	for (i = 0; i < w->nr && !ret; i += RANGE) {
		WRITE_ONCE(*nr_begun, i / RANGE + 1);
		ret = op_dontneed(w, i, RANGE);
	}
	return ret;
}

/* Nothing of this process is reclaimed, or only its pages for the test. */
static long op_lock(struct worker *w, long pages_too, long b)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return -errno;
	return pages_too || !munlock(w->mem, w->nr * psize()) ? 0 : -errno;
}

/*
 * Reclaim all that can be: the limit is too low and is refused in the end.
 * (memory.force_empty may wait for the other CPU, and so for the unmap.)
 */
static long op_reclaim(struct worker *w, long cgroup, long b)
{
	return memcg_limit((char *)cgroup, "memory.limit_in_bytes", 1);
}

FIXTURE(race)
{
	struct v1_cgroups v1;
};

FIXTURE_SETUP(race)
{
	ASSERT_EQ(0, v1_setup(&self->v1, 8 * NR_PAGES, 0));
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, v1_end(&self->v1));
}

TEST_F_TIMEOUT(race, move_to_cgroup_without_swap, TEST_SECONDS)
{
	/* there and back 14 times, with 14 entries at least */
	EXPECT_EQ(0, v1_concurrent_move(&self->v1, 4, 14, 14));
}

/* Even pages of one cgroup and odd ones of the other. */
static int swap_out_halves(struct v1_cgroups *v, int gen)
{
	struct worker *w = &v->process;
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = v1_move(v, w->pid, i, false) ?: worker_call(w, op_write_half, i, gen);
	return ret ?: worker_pageout(w, NR_PAGES);
}

TEST_F_TIMEOUT(race, unmapped_while_reclaimed, TEST_SECONDS)
{
	struct v1_cgroups *v = &self->v1;
	struct worker *w = &v->process;
	int i, n, round;

	nr_begun = shared_alloc(sizeof(*nr_begun));
	ASSERT_NE(NULL, nr_begun);
	ASSERT_EQ(0, workers_call(v->worker, 2, op_lock, true));
	ASSERT_EQ(0, worker_start(w, v->cgroup[0], WORKER_CPU));
	ASSERT_EQ(0, worker_call(w, op_map, NR_PAGES, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, worker_call(w, op_lock, false));
	for (round = 1; round <= ROUNDS; round++) {
		ASSERT_EQ(0, swap_out_halves(v, round));
		ASSERT_EQ(0, worker_call(w, op_willneed, 0, NR_PAGES));
		for (i = 0; i < 2; i++) {
			/* all are in the swap cache, where v1 does not charge them */
			ASSERT_EQ(0, v1_swap(v, i));
			/*
			 * Pages that were read back are active, and reclaim
			 * gives up if there are no others by the statistics,
			 * which lag by up to 2 s but are flushed by a reader.
			 */
			memcg_stat(v->cgroup[i], "swap");
		}
		WRITE_ONCE(*nr_begun, 0);
		worker_send(w, op_unmap);
		/* reclaim begins when range after range is being unmapped */
		for (n = 0; n < 10000 && READ_ONCE(*nr_begun) < round; n++)
			usleep(500);
		for (i = 0; i < 2; i++)
			worker_send(&v->worker[i], op_reclaim, (long)v->cgroup[i]);
		EXPECT_EQ(0, worker_wait(w));
		for (i = 0; i < 2; i++)
			EXPECT_EQ(-EBUSY, worker_wait(&v->worker[i]));
		EXPECT_EQ(0, worker_call(w, op_swapped, 0, NR_PAGES));
		ASSERT_EQ(0, check_v1_swap(v));
	}
	EXPECT_EQ(0, check_v1_end(v));
}

int main(int argc, char **argv)
{
	v1_test_init();
	return test_harness_run(argc, argv);
}
