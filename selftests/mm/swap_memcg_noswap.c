// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory cgroups on a host that has no swap, or no longer has.
 *
 * A process that exits has its page tables taken down, and for a range of swap
 * entries the kernel looks up whose they are. Where there never was a swap
 * area there is no map to look into, and after swapoff it is gone. There are
 * no swap entries either, but the kernel has been there all the same: a page
 * table entry that was damaged, in production, looked like one, and an exit
 * followed a map pointer that was NULL. Everything else that is neither a page
 * nor nothing must not even come close: a page that is being migrated, a
 * marker that poisons an address.
 *
 * So processes fork, share, free and exit on all CPUs, with small and huge
 * pages, while memory is compacted, which replaces pages by migration entries
 * for a moment, and with markers between the pages. MADV_PAGEOUT, MADV_FREE
 * and MADV_WILLNEED walk the same tables. Cgroups come and go. Nobody may pay
 * for swap, and no removed cgroup may stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define MIN_WORKERS	4
#define MAX_WORKERS	16
#define NR_PAGES	512		/* of each worker: one huge page */
#define LIVES		3		/* of a cgroup */
#define ROUNDS		2		/* of a life */
#define SWAP_ROUNDS	2
#define MIN_MARKERS	64		/* of each worker and life */
#define HUGE		"/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled"

FIXTURE(swap_memcg_noswap)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	struct worker compactor;
	int nr;
};

/* Poisoned addresses here and there: entries that are neither page nor swap. */
static long op_markers(struct worker *w, long unused_a, long unused_b)
{
#ifdef UFFDIO_POISON
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_POISON };
	struct uffdio_register range = {
		.range = { (unsigned long)w->mem, w->nr * psize() },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_poison poison = { .range.len = psize() };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	long i, n = 0;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return -EOPNOTSUPP;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		return -errno;
	for (i = 3; i < w->nr; i += 7) {
		if (op_dontneed(w, i, 1))
			return -errno;
		poison.range.start = (unsigned long)w->mem + i * psize();
		if (ioctl(fd, UFFDIO_POISON, &poison))
			return -errno;
		n++;
	}
	/* they stay when the file is closed, which the walkers may not mind */
	close(fd);
	if (madvise(w->mem + psize(), 20 * psize(), MADV_FREE) ||
	    op_pageout(w, 0, w->nr) < 0)
		return -errno;
	/* EBADF: there is nothing to read ahead from */
	op_willneed(w, 0, w->nr);
	if (op_dontneed(w, w->nr / 2, w->nr / 4))
		return -errno;
	return n;
#else
	return -EOPNOTSUPP;
#endif
}

/* A child that shares the markers and leaves before its parent. */
static long op_fork_markers(struct worker *w, long nr, long unused)
{
	int status;
	pid_t pid;

	while (nr--) {
		pid = fork();
		if (!pid)
			_exit(op_dontneed(w, w->nr / 8, w->nr / 5) ? 1 : 0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return -ECHILD;
		__atomic_add_fetch(&churn->ended, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Until it is killed. */
static long op_compact(struct worker *w, long unused_a, long unused_b)
{
	while (write_text("/proc/sys/vm/compact_memory", "1", 1) > 0)
		;
	return -errno;
}

FIXTURE_SETUP(swap_memcg_noswap)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (swap_in_use())
		SKIP(return, "swap is in use");
	ASSERT_TRUE(churn_init());
	if (!access(HUGE, W_OK))
		ASSERT_EQ(0, setting_write(HUGE, "madvise", NULL));
	self->nr = cpus_between(MIN_WORKERS, MAX_WORKERS);
}

FIXTURE_TEARDOWN(swap_memcg_noswap)
{
	workers_kill(self->worker, self->nr);
	worker_kill(&self->compactor);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* All cgroups live, with what is in them, and are removed; the markers. */
static long one_life(struct __test_metadata *_metadata,
		     struct _test_data_swap_memcg_noswap *self, int life)
{
	struct worker *w = self->worker;
	long n, markers = 0;
	int i;

	for (i = 0; i < self->nr; i++) {
		self->cgroup[i] = memcg_add("life", i);
		ASSERT_NE(NULL, self->cgroup[i]);
		ASSERT_EQ(0, worker_start(&w[i], self->cgroup[i], i));
		ASSERT_EQ(0, worker_call(&w[i], op_map, NR_PAGES, (i + life) % 2 ?
					 MADV_HUGEPAGE : MADV_NOHUGEPAGE));
	}
	for (i = 0; i < self->nr; i++)
		worker_send(&w[i], op_fork_churn, ROUNDS, i + life);
	for (i = 0; i < self->nr; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	for (i = 0; i < self->nr; i++)
		worker_send(&w[i], op_markers, 0, 0);
	for (i = 0; i < self->nr; i++) {
		n = worker_wait(&w[i]);
		/* a kernel without userfaultfd(), or without markers */
		if (n == -EOPNOTSUPP)
			continue;
		ASSERT_GE(n, MIN_MARKERS);
		markers += n;
	}
	for (i = 0; i < self->nr; i++)
		worker_send(&w[i], op_fork_markers, 4, 0);
	for (i = 0; i < self->nr; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));

	EXPECT_STREQ("", memcg_check_empty(self->cgroup, self->nr) ?: "");
	for (i = 0; i < self->nr; i++) {
		if (i % 2)
			worker_kill(&w[i]);
		else
			worker_stop(&w[i]);
		churn->ended++;
	}
	EXPECT_EQ(0, swap_slots_used());
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, self->nr) ?: "");
	return markers;
}

static void all_lives(struct __test_metadata *_metadata,
		      struct _test_data_swap_memcg_noswap *self)
{
	long least = LIVES * self->nr * (ROUNDS * CHURN_CHILDREN + 5);
	long moved = vm_event("pgmigrate_success"), markers = 0;
	int life;

	/* without compaction in the kernel this one ends at once */
	ASSERT_EQ(0, worker_start(&self->compactor, NULL, 0));
	worker_send(&self->compactor, op_compact, 0, 0);
	for (life = 0; life < LIVES; life++)
		markers += one_life(_metadata, self, life);
	worker_kill(&self->compactor);

	ksft_print_msg("exits: %lu (at least %ld), %lu of them killed\n",
		       churn->ended, least, churn->killed);
	/* to pagemap, a page that is being migrated is swapped out */
	ksft_print_msg("markers: %ld, pages migrated: %ld, seen while they were: %lu\n",
		       markers, vm_event("pgmigrate_success") - moved, churn->slots);
	if (!access("/proc/sys/vm/compact_memory", W_OK))
		ASSERT_GT(vm_event("pgmigrate_success") - moved, 0);
	ASSERT_GE(churn->ended, least);
	ASSERT_GE(churn->killed, LIVES * self->nr * ROUNDS * CHURN_CHILDREN / 2);
}

TEST_F_TIMEOUT(swap_memcg_noswap, no_swap_area, TEST_SECONDS)
{
	all_lives(_metadata, self);
}

TEST_F_TIMEOUT(swap_memcg_noswap, after_swapoff, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	long slots = 0, n;
	int area, round;

	self->cgroup[0] = memcg_add("swapper", 0);
	ASSERT_NE(NULL, self->cgroup[0]);
	ASSERT_EQ(0, worker_start(w, self->cgroup[0], 0));
	ASSERT_EQ(0, worker_call(w, op_map, NR_PAGES, MADV_NOHUGEPAGE));
	for (round = 1; round <= SWAP_ROUNDS; round++) {
		area = swap_area_add(2 * NR_PAGES, false);
		ASSERT_GE(area, 0);
		ASSERT_EQ(0, worker_call(w, op_fill, round, 0));
		n = worker_call(w, op_pageout, 0, NR_PAGES);
		ASSERT_GT(n, 0);
		slots += n;
		EXPECT_STREQ("", memcg_check_slots(0) ?: "");
		ASSERT_EQ(0, swap_area_off(area));
		ASSERT_EQ(0, swap_areas_remove());
		EXPECT_STREQ("", memcg_check_empty(self->cgroup, 1) ?: "");
		EXPECT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	}
	worker_stop(w);
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, 1) ?: "");
	ksft_print_msg("slots of areas that are gone: %ld (at least %d)\n",
		       slots, NR_PAGES);
	ASSERT_GE(slots, NR_PAGES);
	all_lives(_metadata, self);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
