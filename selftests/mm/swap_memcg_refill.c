// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap slots that are filled again between those of other cgroups.
 *
 * On a solid-state swap area each CPU fills a cluster of its own, as long as
 * there are free ones: the slots of a cgroup are neighbours, and a record that
 * is written one slot too far is hidden by the next one, of the same cgroup.
 * It is different on a system that has been up for long, where free clusters
 * have run out and a CPU has to take the holes that others have left, one by
 * one or range by range, while the slots at both sides of each hole stay in
 * use: a record that is too long makes a neighbour's cgroup swap for free, one
 * that is left behind in a hole makes somebody pay for ever.
 *
 * That state is made here. Half of the cgroups fill the area, and then give up
 * what has odd offsets; the other half, which is as large, gets these slots.
 * From then on, in turns, everybody reads back what has even, or odd, offsets,
 * and then swaps it out again, all at once on all CPUs. There are no other
 * free slots than the holes, but for those that the caches of the CPUs need,
 * so that it does not depend on timing where pages go, only who gets which.
 * In the last round everybody fills two neighbouring holes of each four. As
 * the slots at both sides of these are of different halves, one border in two
 * is between different cgroups then, whoever gets which; before, almost all.
 *
 * Single pages go through the per-CPU slot caches, which a second area keeps
 * on: it has free slots, but is not used unless the first one is full. That
 * they are on shows in slots that are in use while no page has them. Folios
 * of each size that is offered bypass them; there the holes are ranges, and
 * the neighbours are those at both sides of a border between two ranges.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define MIN_CPUS	4
#define MAX_CPUS	32
#define MAX_WORKERS	(2 * MAX_CPUS)
#define CLUSTER		512L		/* slots */
#define TURNS		3
#define MIN_MIXED	30		/* per cent of the borders */
#define SPAN		64		/* pages swapped out at once */
/* of four neighbouring ranges, those with even, with odd offsets, a pair */
#define EVEN		0x5
#define ODD		0xa
#define PAIR		0x3
/*
 * Slots for each CPU that no page has: what its cache may hold back, and some
 * as the halves are not equal to the last slot.
 */
#define SLACK		(SLOT_CACHE + 16)

/* Of the worker: the ranges that it is to fill. */
static bool *refill;

/* Fill them, and swap out what is not; how many were filled. */
static long op_refill(struct worker *w, long n, long gen)
{
	long span = n < SPAN ? SPAN : n;
	long i, k, ret, filled = 0, own = 0;

	for (i = 0; i < w->nr; i += n) {
		if (!refill || refill[i / n]) {
			for (k = 0; k < n; k++)
				page_write(w, i + k, gen);
			filled++;
		}
		if ((i + n) % span == 0 || i + n == w->nr) {
			k = i / span * span;
			ret = op_pageout(w, k, i + n - k);
			if (ret < 0)
				return ret;
		}
		own += w->gen[i] ? n : 0;
	}
	/* a page may have been busy: nothing stays behind */
	while ((ret = op_pageout(w, 0, w->nr)) >= 0 && ret < own)
		usleep(1000);
	return ret < 0 ? ret : filled;
}

/* Give up what was read, for a new folio of the same size. */
static int give_up(struct worker *w, long first, long n)
{
	size_t size = n * psize();
	char *mem = w->mem + first * psize();

	if (n < CLUSTER)
		return op_dontneed(w, first, n);
	/* that leaves a page table, where the largest ones need none */
	memset(w->gen + first, 0, n * sizeof(*w->gen));
	if (mmap(mem, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	return madvise(mem, size, MADV_HUGEPAGE);
}

/* Read what has certain offsets, and give it up; how many ranges. */
static long op_punch(struct worker *w, long n, long offsets)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	long i, punched = 0;

	if (!refill)
		refill = calloc(w->nr / n, sizeof(*refill));
	if (!off || !refill || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i += n) {
		refill[i / n] = off[i] && offsets & 1 << off[i] / n % 4;
		if (!refill[i / n])
			continue;
		if (op_verify(w, i, n) || give_up(w, i, n))
			return -EIO;
		punched++;
	}
	free(off);
	return punched;
}

FIXTURE(refill)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int cpus;
	int nr;				/* of workers: two for each CPU */
	long n;				/* slots of a range */
	long ranges;			/* of each worker of the first half */
	int area;
};

FIXTURE_VARIANT(refill)
{
	unsigned int kb;		/* 0: single pages */
};

FIXTURE_VARIANT_ADD(refill, single) { .kb = 0 };
FIXTURE_VARIANT_ADD(refill, 16kB) { .kb = 16 };
FIXTURE_VARIANT_ADD(refill, 32kB) { .kb = 32 };
FIXTURE_VARIANT_ADD(refill, 64kB) { .kb = 64 };
FIXTURE_VARIANT_ADD(refill, 128kB) { .kb = 128 };
FIXTURE_VARIANT_ADD(refill, 256kB) { .kb = 256 };
FIXTURE_VARIANT_ADD(refill, 512kB) { .kb = 512 };
FIXTURE_VARIANT_ADD(refill, 1024kB) { .kb = 1024 };
FIXTURE_VARIANT_ADD(refill, 2048kB) { .kb = 2048 };

FIXTURE_SETUP(refill)
{
	long slots, pages;
	const char *why;
	int i;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->kb && folio_swpout(variant->kb) < 0)
		SKIP(return, "no folios of %u kB", variant->kb);
	folio_only(variant->kb);

	self->cpus = cpus_between(MIN_CPUS, MAX_CPUS);
	self->nr = 2 * self->cpus;
	self->n = variant->kb ? variant->kb * 1024L / psize() : 1;

	/* clusters of each CPU: more for single pages, and of two ranges */
	pages = CLUSTER * (self->n == 1 || self->n > CLUSTER / 4 ? 2 : 1);
	if (CLUSTER % self->n)
		SKIP(return, "no ranges of %ld slots", self->n);
	slots = self->cpus * pages;
	if (self->n == 1)
		pages -= SLACK + 1;
	else
		/* the first one has the header, and is for single pages */
		slots += CLUSTER;
	self->ranges = pages / self->n;
	self->area = swap_area_add(slots, false);
	ASSERT_GE(self->area, 0);
	ASSERT_LE(0, swap_area_spare(slots + SLOT_CACHE_ON * online_cpus()));

	ASSERT_EQ(0, owners_init(slots));
	for (i = 0; i < self->nr; i++) {
		self->cgroup[i] = memcg_add("refill", i);
		ASSERT_NE(NULL, self->cgroup[i]);
		ASSERT_EQ(0, worker_start(&self->worker[i], self->cgroup[i],
					  i % self->cpus));
		if (i == self->cpus)
			pages = self->ranges / 2 * self->n;
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, pages,
					 self->n > 1 ? MADV_HUGEPAGE :
					 MADV_NOHUGEPAGE));
	}
}

FIXTURE_TEARDOWN(refill)
{
	workers_kill(self->worker, self->nr);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

static void check_exact(struct __test_metadata *_metadata,
			struct _test_data_refill *self, const char *when)
{
	EXPECT_STREQ("", memcg_check_workers(self->cgroup, self->worker,
					     self->nr) ?: "") {
		TH_LOG("%s", when);
	}
}

static long all(struct __test_metadata *_metadata,
		struct _test_data_refill *self, int first, int nr,
		worker_fn fn, long b)
{
	long sum = workers_call(&self->worker[first], nr, fn, self->n, b);

	ASSERT_GE(sum, 0);
	return sum;
}

/* Slots in use that no page has: of the caches, before they are emptied. */
static long slots_held(struct __test_metadata *_metadata,
		       struct _test_data_refill *self)
{
	long used = swap_slots_used();

	return used - all(_metadata, self, 0, self->nr, op_own, 0);
}

static void lower(long *least, long n)
{
	if (n < *least)
		*least = n;
}

TEST_F_TIMEOUT(refill, between_other_cgroups, TEST_SECONDS)
{
	static const int turn[TURNS] = { ODD, EVEN, PAIR };
	long ranges = self->cpus * self->ranges, filled = 0;
	long held = LONG_MAX, whole = LONG_MAX, borders = LONG_MAX;
	long percent = 100, mixed, n;
	/* large folios: odd ones have just been filled, and sizes are many */
	int i, first = self->n > 1, half = self->cpus;

	/* one half takes it all and gives up odd offsets, the other has them */
	all(_metadata, self, 0, half, op_refill, 1);
	check_exact(_metadata, self, "filled");
	all(_metadata, self, 0, half, op_punch, ODD);
	check_exact(_metadata, self, "odd ones given up");
	all(_metadata, self, half, half, op_refill, 1);
	check_exact(_metadata, self, "filled by others");

	for (i = first; i < TURNS; i++) {
		all(_metadata, self, 0, self->nr, op_punch, turn[i]);
		lower(&held, slots_held(_metadata, self));
		check_exact(_metadata, self, "read back");

		filled += all(_metadata, self, 0, self->nr, op_refill, i + 2);
		check_exact(_metadata, self, "filled again");
		lower(&whole, all(_metadata, self, 0, self->nr, op_ranges, 0));

		mixed = owners_mixed(self->worker, self->nr, self->n, &n);
		ASSERT_GE(mixed, 0);
		ASSERT_GT(n, 0);
		lower(&borders, n);
		lower(&percent, 100 * mixed / n);
	}

	/* they become free one by one: the neighbours do not notice */
	worker_kill(&self->worker[0]);
	check_exact(_metadata, self, "one has exited");
	n = self->ranges / 2 * self->n;
	ASSERT_EQ(0, worker_call(&self->worker[half], op_dontneed, 1, n - 2));
	check_exact(_metadata, self, "one has unmapped most");

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, self->nr) ?: "");
	for (i = 1; i < self->nr; i++) {
		n = i < half ? self->ranges : self->ranges / 2;
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 n * self->n));
		worker_stop(&self->worker[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, self->nr) ?: "");

	n = (TURNS - first) * ranges / 4;
	ksft_print_msg("ranges of %ld slots filled again: %ld (at least %ld)\n",
		       self->n, filled, n);
	ksft_print_msg("whole: %ld (at least %ld)\n", whole, ranges / 2);
	ksft_print_msg("borders of different cgroups: %ld %% of %ld (at least %d %% of %ld)\n",
		       percent, borders, MIN_MIXED, ranges / 2);
	ASSERT_GE(filled, n);
	ASSERT_GE(whole, ranges / 2);
	ASSERT_GE(borders, ranges / 2);
	ASSERT_GE(percent, MIN_MIXED);
	if (self->n > 1)
		return;
	n = online_cpus() < self->cpus ? online_cpus() : self->cpus;
	ksft_print_msg("slots held by caches: %ld (at least %ld)\n", held, n);
	ASSERT_GE(held, n);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
