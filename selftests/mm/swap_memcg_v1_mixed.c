// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap ranges whose slots belong to two cgroups, cgroup v1.
 *
 * Neighbouring pages of one process can be charged to different cgroups: it
 * has moved between touching them, or their charges were moved one by one. If
 * they are neighbours in swap too, a batch that frees or reads them in must
 * end where the cgroup changes. It compares ids for that, but while a page is
 * still in the swap cache its slot has no id with cgroup v1, and the page may
 * leave the cache, or be moved, between the comparison and the batch: then one
 * cgroup gets back what another one has paid, and kernels with CONFIG_DEBUG_VM
 * say "kernel BUG at mm/swap_cgroup.c". The first test has such ranges in
 * silence, the second one provokes the race: threads swap out, fault and unmap
 * the same blocks while their process is moved, with and without charges.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	512
#define SWAPPED		32		/* that keep the id of each cgroup */
#define BLOCK		16		/* pages */
#define NR_BLOCKS	(NR_PAGES / BLOCK)
#define MOVES		12
#define MIN_BLOCKS	500		/* unmapped and written again */
#define MIN_PAGEOUTS	60		/* of a block */
#define THP64		"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/"

static struct {
	bool stop;
	unsigned long blocks;		/* unmapped in part, written again */
	unsigned long faults;
	unsigned long pageouts;
	bool bad;
} *storm;

static pthread_mutex_t block_lock[NR_BLOCKS];

static long op_swapped_half(struct worker *w, long parity, long unused)
{
	__u64 off[NR_PAGES];
	long i, n = 0;

	if (swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = parity; i < w->nr; i += 2)
		n += !!off[i];
	return n;
}

/* Neighbours in memory that are neighbours in swap. */
static long op_adjacent(struct worker *w, long unused_a, long unused_b)
{
	__u64 off[NR_PAGES];
	long i, n = 0;

	if (swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 1; i < w->nr; i++)
		n += off[i - 1] && off[i] == off[i - 1] + 1;
	return n;
}

/* Fork a child that shares the even pages only; its pid. */
static long op_fork_half(struct worker *w, long unused_a, long unused_b)
{
	int ready[2];
	pid_t pid;
	char c;
	long i;

	if (pipe(ready))
		return -errno;
	pid = fork();
	if (!pid) {
		for (i = 1; i < w->nr; i += 2)
			madvise(w->mem + i * psize(), psize(), MADV_DONTNEED);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &c, 1) != 1)
		pid = -EIO;
	close(ready[0]);
	return pid;
}

static long op_reap(struct worker *w, long pid, long unused)
{
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

static void *pageout_thread(void *arg)
{
	struct worker *w = arg;
	long i;

	cpu_pin(1);
	for (i = 0; !__atomic_load_n(&storm->stop, __ATOMIC_RELAXED); i++) {
		madvise(w->mem + i * 5 % NR_BLOCKS * BLOCK * psize(),
			BLOCK * psize(), MADV_PAGEOUT);
		__atomic_add_fetch(&storm->pageouts, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *fault_thread(void *arg)
{
	struct worker *w = arg;
	long i, n;

	cpu_pin(2);
	for (i = 0; !__atomic_load_n(&storm->stop, __ATOMIC_RELAXED); i++) {
		n = i * 7 % NR_BLOCKS;
		pthread_mutex_lock(&block_lock[n]);
		if (op_verify(w, n * BLOCK + i % BLOCK, 1))
			storm->bad = true;
		pthread_mutex_unlock(&block_lock[n]);
		storm->faults++;
		if (i % 64 == 0)
			usleep(100);
	}
	return NULL;
}

/* Until the test has moved this process often enough. */
static long op_storm(struct worker *w, long unused_a, long unused_b)
{
	pthread_t pageout, fault;
	long i, k, n, first;

	for (i = 0; i < NR_BLOCKS; i++)
		pthread_mutex_init(&block_lock[i], NULL);
	if (pthread_create(&pageout, NULL, pageout_thread, w) ||
	    pthread_create(&fault, NULL, fault_thread, w))
		return -EAGAIN;
	for (i = 0; !__atomic_load_n(&storm->stop, __ATOMIC_RELAXED); i++) {
		n = i * 3 % NR_BLOCKS;
		first = n * BLOCK + i % 3;
		pthread_mutex_lock(&block_lock[n]);
		if (op_dontneed(w, first, BLOCK - 3))
			storm->bad = true;
		for (k = 0; k < BLOCK - 3; k++)
			page_write(w, first + k, i + 1);
		pthread_mutex_unlock(&block_lock[n]);
		__atomic_add_fetch(&storm->blocks, 1, __ATOMIC_RELAXED);
	}
	pthread_join(pageout, NULL);
	pthread_join(fault, NULL);
	return storm->bad ? -EIO : op_verify(w, 0, w->nr);
}

FIXTURE(mixed)
{
	struct pair pair;
	struct worker worker;
};

FIXTURE_VARIANT(mixed)
{
	bool charge_moved;		/* or else the task has moved */
	bool large;
};

FIXTURE_VARIANT_ADD(mixed, task_moved) { };
FIXTURE_VARIANT_ADD(mixed, charge_moved) { .charge_moved = true };
FIXTURE_VARIANT_ADD(mixed, charge_moved_large) {
	.charge_moved = true, .large = true,
};

FIXTURE_SETUP(mixed)
{
	const char *why;

	why = pair_setup(&self->pair, 8 * NR_PAGES, SWAPPED);
	if (why)
		SKIP(return, "%s", why);
	if (variant->charge_moved && !pair_can_move_charges(&self->pair))
		SKIP(return, "this kernel does not move charges");
	if (variant->large && setting_write(THP64 "enabled", "madvise", NULL))
		SKIP(return, "no folios of 64 kB");
	storm = shared_alloc(sizeof(*storm));
	ASSERT_NE(NULL, storm);
	ASSERT_EQ(0, setting_write("/proc/sys/vm/page-cluster", "0", NULL));
	ASSERT_EQ(0, worker_start(&self->worker, self->pair.cgroup[0], 0));
	ASSERT_EQ(0, worker_call(&self->worker, op_map, NR_PAGES,
				 variant->large ? MADV_HUGEPAGE :
						  MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(mixed)
{
	worker_kill(&self->worker);
	pair_kill(&self->pair);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* Each cgroup pays for its half of the pages that are in swap. */
static void check_halves(struct __test_metadata *_metadata,
			 struct _test_data_mixed *self, int owner_of_even)
{
	long even, odd;

	even = worker_call(&self->worker, op_swapped_half, 0, 0);
	odd = worker_call(&self->worker, op_swapped_half, 1, 0);
	EXPECT_EQ(even, pair_swap(&self->pair, owner_of_even));
	EXPECT_EQ(odd, pair_swap(&self->pair, !owner_of_even));
	EXPECT_STREQ("", memcg_check_slots(NR_PAGES) ?: "");
}

TEST_F_TIMEOUT(mixed, range_of_two_cgroups, TEST_SECONDS)
{
	struct worker child = {}, *w = &self->worker;
	int owner_of_even = variant->charge_moved;
	struct pair *p = &self->pair;
	long adjacent;

	if (variant->charge_moved) {
		ASSERT_EQ(0, worker_call(w, op_fill, 1, 0));
	} else {
		ASSERT_EQ(0, worker_call(w, op_write_half, 0, 1));
		ASSERT_EQ(0, pair_move(p, w, 1, false));
		ASSERT_EQ(0, worker_call(w, op_write_half, 1, 2));
	}
	ASSERT_TRUE(wait_until(worker_call(w, op_pageout, 0, NR_PAGES) ==
			       NR_PAGES));
	if (variant->charge_moved) {
		child.pid = worker_call(w, op_fork_half, 0, 0);
		ASSERT_GT(child.pid, 0);
		ASSERT_EQ(0, pair_move(p, &child, 1, true));
		ASSERT_EQ(0, worker_call(w, op_reap, child.pid, 0));
	}
	adjacent = worker_call(w, op_adjacent, 0, 0);
	check_halves(_metadata, self, owner_of_even);

	/* odd ranges of both: unmapped, read, and freed at exit */
	ASSERT_EQ(0, worker_call(w, op_dontneed, 33, NR_PAGES / 4 + 1));
	ASSERT_EQ(0, swap_drain_slot_caches());
	check_halves(_metadata, self, owner_of_even);
	ASSERT_EQ(0, worker_call(w, op_verify, NR_PAGES / 2 + 1, NR_PAGES / 4));
	ASSERT_EQ(0, swap_drain_slot_caches());
	check_halves(_metadata, self, owner_of_even);
	worker_kill(w);

	ASSERT_STREQ("", pair_finish(p) ?: "");
	ksft_print_msg("neighbours of two cgroups: %ld (at least %d)\n",
		       adjacent, NR_PAGES / 2);
	ASSERT_GE(adjacent, NR_PAGES / 2);
}

TEST_F_TIMEOUT(mixed, while_the_task_moves, TEST_SECONDS)
{
	struct worker *w = &self->worker;
	unsigned long during = 0;
	int i;

	ASSERT_EQ(0, worker_call(w, op_fill, 1, 0));
	worker_send(w, op_storm, 0, 0);
	for (i = 1; i <= MOVES; i++) {
		/* while the storm goes on: not all moves at its beginning */
		wait_until(__atomic_load_n(&storm->blocks, __ATOMIC_RELAXED) >=
			   (unsigned long)i * MIN_BLOCKS / (MOVES + 1) &&
			   __atomic_load_n(&storm->pageouts, __ATOMIC_RELAXED) >=
			   (unsigned long)i * MIN_PAGEOUTS / (MOVES + 1));
		during -= storm->pageouts + storm->blocks;
		ASSERT_EQ(0, pair_move(&self->pair, w, i % 2,
				       variant->charge_moved && i % 4 < 2));
		during += storm->pageouts + storm->blocks;
	}
	wait_until(__atomic_load_n(&storm->blocks, __ATOMIC_RELAXED) >=
		   MIN_BLOCKS &&
		   __atomic_load_n(&storm->pageouts, __ATOMIC_RELAXED) >=
		   MIN_PAGEOUTS);
	__atomic_store_n(&storm->stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, worker_wait(w));
	worker_kill(w);

	ASSERT_STREQ("", pair_finish(&self->pair) ?: "");
	ksft_print_msg("moves: %d, blocks unmapped or swapped out meanwhile: %lu (at least 1)\n",
		       MOVES, during);
	ksft_print_msg("blocks unmapped: %lu (at least %d)\n", storm->blocks,
		       MIN_BLOCKS);
	ksft_print_msg("blocks swapped out: %lu (at least %d), reads: %lu\n",
		       storm->pageouts, MIN_PAGEOUTS, storm->faults);
	ASSERT_GE(storm->blocks, MIN_BLOCKS);
	ASSERT_GE(storm->pageouts, MIN_PAGEOUTS);
	ASSERT_GT(storm->faults, 0);
	ASSERT_GT(during, 0);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
