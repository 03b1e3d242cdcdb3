// SPDX-License-Identifier: GPL-2.0-only
/*
 * Neighbouring swap slots that are charged to different memory cgroups.
 *
 * The kernel keeps the cgroup of each swap slot as a 16-bit id, in an array.
 * When CPUs write neighbouring ids at the same time none may be lost, as would
 * happen where a store of 16 bits is really one of 32, and no range may be
 * written one slot too long. Most workloads do not notice: a CPU allocates
 * slots in batches or clusters, so that the neighbours are charged to the same
 * cgroup. Two tests make them differ, which they verify by pagemap:
 *
 * - neighbours: a rotational swap area, which has no clusters, and is too small
 *   for the per-CPU slot caches. Slots are allocated one by one.
 * - holes: an area without free clusters, as on a system that has been up for
 *   long. Every other slot (or range of a large folio) is freed, and allocated
 *   to a task of another cgroup, through the per-CPU slot caches.
 *
 * This rests on the swap slot allocator of Linux 6.12, and fails without it.
 */
#include <limits.h>
#include <sched.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define MAX_CPUS	32
#define MAX_WORKERS	(2 * MAX_CPUS)
#define ROUNDS		6
#define LEAD		2		/* pages that a worker may be ahead */
#define MIN_MIXED	30		/* per cent */
/*
 * Free slots for each CPU: with more than the first number the kernel turns
 * the slot caches on, with less than the second it turns them off.
 */
#define CACHES_ON	(5 * SLOT_CACHE)
#define CACHES_OFF	(2 * SLOT_CACHE)
/* Slots for each CPU that its cache may hold, and some more. */
#define SPARE		(SLOT_CACHE + 16)

/* The worker (plus 1) of each swap slot, 0 if it is free. */
static int *slot;
static long nr_slots;

static int slots_init(long nr)
{
	nr_slots = nr;
	slot = shared_alloc(nr * sizeof(*slot));
	return slot ? 0 : -ENOMEM;
}

static long op_slots(struct worker *w, long me, long b)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	long i;

	if (!off || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i++)
		if (off[i] && off[i] < nr_slots)
			slot[off[i]] = me + 1;
	free(off);
	return 0;
}

/* Enough borders between aligned ranges of @n slots are between two cgroups. */
static int check_borders(struct worker *w, int nr, long n, long min)
{
	long i, borders = 0, mixed = 0;

	memset(slot, 0, nr_slots * sizeof(*slot));
	for (i = 0; i < nr; i++)
		if (worker_call(&w[i], op_slots, i))
			return -1;
	for (i = n; i < nr_slots; i += n) {
		borders += slot[i - 1] && slot[i];
		mixed += slot[i - 1] && slot[i] && slot[i - 1] != slot[i];
	}
	ksft_print_msg("%ld of %ld borders are between cgroups (at least %d%% of %ld)\n",
		       mixed, borders, MIN_MIXED, min);
	return borders < min || 100 * mixed < MIN_MIXED * borders;
}

/* Slots become free, of one worker, then all; the neighbours do not notice. */
static int check_free(char **cgroup, struct worker *w, int nr, int area)
{
	worker_kill(&w[0]);
	return check_workers(cgroup, w, nr) ?: check_end(area, cgroup, nr, w, nr);
}

/* slot by slot */

static long *done;			/* pages, by worker */

/* Write and swap out every other page, at the pace of the slowest worker. */
static long op_write_lockstep(struct worker *w, long me, long round)
{
	time_t begin;
	long i, n;

	for (i = 0; i < w->nr; i++) {
		begin = seconds();
		for (n = 0; done[n] >= 0; n++) {
			while (READ_ONCE(done[n]) + LEAD <= i) {
				sched_yield();
				if (!wait_more(begin))
					return -ETIMEDOUT;
			}
		}
		if (round == 1 || (i + round) % 2) {
			if (!page_check(w, i))
				return -EIO;
			page_write(w, i, round);
			n = op_pageout(w, i, 1);
			if (n < 0)
				return n;
		}
		WRITE_ONCE(done[me], i + 1);
	}
	return 0;
}

FIXTURE(neighbours)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int nr;
	long pages;			/* of each */
	int area;
};

FIXTURE_SETUP(neighbours)
{
	long slots = (CACHES_ON - 1) * online_cpus();

	ASSERT_EQ(0, swap_test_begin());
	self->nr = cpus_between(4, MAX_WORKERS);
	/* so many that the caches are turned off when all are swapped out */
	self->pages = (slots - CACHES_OFF / 2 * online_cpus()) / self->nr;
	self->area = swap_area_add(slots, AREA_ROTATIONAL);
	ASSERT_GE(self->area, 0);
	ASSERT_EQ(0, slots_init(slots));
	done = shared_alloc((self->nr + 1) * sizeof(*done));
	ASSERT_NE(NULL, done);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, self->nr, self->pages,
				   MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(neighbours)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_end());
}

TEST_F_TIMEOUT(neighbours, of_other_cgroups, TEST_SECONDS)
{
	int i, round;

	for (round = 1; round <= ROUNDS; round++) {
		memset(done, 0, self->nr * sizeof(*done));
		done[self->nr] = -1;
		for (i = 0; i < self->nr; i++)
			worker_send(&self->worker[i], op_write_lockstep, i, round);
		for (i = 0; i < self->nr; i++)
			ASSERT_EQ(0, worker_wait(&self->worker[i]));
		ASSERT_EQ(0, workers_pageout(self->worker, self->nr, self->pages));
		ASSERT_EQ(0, check_workers(self->cgroup, self->worker, self->nr));
		/* the first round only turns the slot caches off */
		if (round > 1)
			ASSERT_EQ(0, check_borders(self->worker, self->nr, 1,
						   self->nr * self->pages / 2));
	}
	ASSERT_EQ(0, check_free(self->cgroup, self->worker, self->nr, self->area));
}

/* range by range */

static long freed = LONG_MAX;		/* ranges of the worker, in its last turn */

/* Fill as many empty ranges of @n pages as were freed, and swap them out. */
static long op_refill(struct worker *w, long n, long max)
{
	static __u32 gen;
	long i, k;

	gen++;
	for (i = 0; i < w->nr; i += n) {
		if (w->gen[i] || freed <= 0 || i / n >= max)
			continue;
		for (k = 0; k < n; k++)
			page_write(w, i + k, gen);
		freed--;
	}
	i = op_pageout(w, 0, w->nr);
	return i < 0 ? i : 0;
}

/* Read the ranges of odd (1) or even (0) numbers, and free them. */
static long op_free(struct worker *w, long n, long odd)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	size_t size = n * psize();
	char *mem = w->mem;
	long i;

	if (!off || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (freed = 0, i = 0; i < w->nr; i += n, mem += size) {
		if (!off[i] || off[i] / n % 2 != odd)
			continue;
		if (op_verify(w, i, n) || op_dontneed(w, i, n))
			return -EIO;
		/* a page table that stays is in the way of the largest folios */
		if (n == swap_cluster_slots() &&
		    (mmap(mem, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			  MAP_FIXED, -1, 0) == MAP_FAILED || madvise(mem, size, MADV_HUGEPAGE)))
			return -errno;
		freed++;
	}
	free(off);
	return freed;
}

FIXTURE(holes)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int half, nr;			/* half of the workers, all */
	long n;				/* slots of a range */
	long ranges;			/* of each worker of the first half */
	int area;
};

FIXTURE_VARIANT(holes)
{
	long n;
};

FIXTURE_VARIANT_ADD(holes, page) { .n = 1 };
FIXTURE_VARIANT_ADD(holes, 4_pages) { .n = 4 };
FIXTURE_VARIANT_ADD(holes, 32_pages) { .n = 32 };
FIXTURE_VARIANT_ADD(holes, huge_page) { .n = 0 };

FIXTURE_SETUP(holes)
{
	long slots, pages, n, kb;

	n = variant->n ?: swap_cluster_slots();
	kb = n > 1 ? n * psize() / 1024 : 0;
	if (kb && !thp_swap_supported(kb))
		SKIP(return, "no folios of %ld kB", kb);
	ASSERT_EQ(0, swap_test_begin());
	ASSERT_EQ(0, folio_only(kb));

	self->n = n;
	self->half = cpus_between(4, MAX_CPUS);
	self->nr = 2 * self->half;
	/* clusters for each CPU; for large folios the first has the header */
	pages = (n == 1 || n == swap_cluster_slots() ? 2 : 1) * swap_cluster_slots();
	slots = self->half * pages + (n > 1 ? swap_cluster_slots() : 0);
	self->ranges = (pages - (n == 1 ? SPARE + 1 : 0)) / n;
	self->area = swap_area_add(slots, AREA_SSD);
	ASSERT_GE(self->area, 0);
	/* one that keeps the slot caches on, but is not used */
	ASSERT_GE(swap_area_add(slots + CACHES_ON * online_cpus(), AREA_LAST), 0);
	ASSERT_EQ(0, slots_init(slots));
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, self->nr, self->ranges * n,
				   n > 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(holes)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_end());
}

static void refill(struct __test_metadata *_metadata, FIXTURE_DATA(holes) *self, int first,
		       int nr, long max)
{
	struct worker *w = &self->worker[first];

	ASSERT_EQ(0, workers_call(w, nr, op_refill, self->n, max));
	ASSERT_EQ(0, workers_pageout(w, nr, self->ranges * self->n));
}

TEST_F_TIMEOUT(holes, between_other_cgroups, TEST_SECONDS)
{
	long n = self->n, min = self->half * self->ranges / 2, used, pages;
	struct worker *w = self->worker;
	int odd;

	/* one half fills the area and frees the odd ranges, which the other gets */
	refill(_metadata, self, 0, self->half, self->ranges);
	ASSERT_GE(workers_call(w, self->half, op_free, n, 1),
		  min - (self->half < min / 4 ? self->half : min / 4));
	ASSERT_EQ(0, check_workers(self->cgroup, w, self->nr));
	refill(_metadata, self, self->half, self->half, self->ranges / 2);

	for (odd = 1; odd >= 0; odd--) {
		ASSERT_GT(workers_call(w, self->nr, op_free, n, odd), 0);
		used = swap_slots_used();
		pages = workers_call(w, self->nr, op_swapped, 0, self->ranges * n);
		ASSERT_GE(pages, 0);
		/* of single pages, the slot caches hold what was freed */
		if (n == 1)
			ASSERT_GT(used, pages);
		ASSERT_EQ(0, check_workers(self->cgroup, w, self->nr));
		refill(_metadata, self, 0, self->nr, self->ranges);
		ASSERT_EQ(0, check_workers(self->cgroup, w, self->nr));
		ASSERT_EQ(swap_slots_used(), swap_area_used(self->area));
		ASSERT_GE(workers_call(w, self->nr, op_ranges, n), min);
		ASSERT_EQ(0, check_borders(w, self->nr, n, min));
	}
	ASSERT_EQ(0, check_free(self->cgroup, w, self->nr, self->area));
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V2);
	return test_harness_run(argc, argv);
}
