// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several swap areas at once, of several kinds.
 *
 * Each area has a map of its own, of its own size, and a slot's record is
 * found by area and offset. Confuse two areas, and offset 17 of the one is
 * charged to whom offset 17 of the other belongs; be one off, and the last
 * slot of an area has no record, or the first of the next page of the map has
 * two. An area is rarely full to its last slot, so that this goes unnoticed.
 * Three allocators hand out slots: by clusters for solid-state devices, large
 * folios only on devices, and by scanning for rotational ones; a swap file has
 * no device of its own.
 *
 * Which area a page is in is seen in pagemap. An area of a high priority is
 * filled before one of a lower priority is used, areas of the same priority
 * are used in turn. In each state the counts of all cgroups must be exact, for
 * all areas together, and so must what is in use in each area. When an area
 * goes away, only its pages come back.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR		3		/* cgroups, with a worker each */
#define NR_PAGES	300		/* of each worker */
#define SLOTS		500		/* in the first area */
#define LAST_SLOT	8		/* times that it changes hands */
#define BELOW		8		/* the priority of the first area */

static long op_types(struct worker *w, long type, long unused)
{
	__u64 ent[NR_PAGES];
	long i, n = 0;

	if (swap_entries(w, 0, w->nr, ent))
		return -EIO;
	for (i = 0; i < w->nr; i++)
		n += ent[i] && SWAP_TYPE(ent[i]) == type;
	return n;
}

/* Type and offset of a page. */
static long op_entry(struct worker *w, long page, long unused)
{
	__u64 ent;

	return swap_entries(w, page, 1, &ent) ? -EIO : (long)ent;
}

/*
 * Swap out all pages. One that is still being written then stays in the swap
 * cache, and its slot cannot be freed: read it, so that it is swapped out once
 * more, without being written. True when there was none.
 */
static bool settled(struct worker *w, long nr)
{
	unsigned char cached[NR_PAGES];
	long i, n = 0;

	if (op_pageout(w, 0, nr) != nr || mincore(w->mem, nr * psize(), cached))
		return false;
	for (i = 0; i < nr; i++) {
		if (!(cached[i] & 1))
			continue;
		op_verify(w, i, 1);
		n++;
	}
	return !n;
}

static long op_settle(struct worker *w, long nr, long unused)
{
	return wait_until(settled(w, nr)) ? 0 : -EAGAIN;
}

/* Swap out a page, to learn in which area it is. */
static long op_probe(struct worker *w, long unused_a, long unused_b)
{
	long ent;

	page_write(w, 0, 1);
	if (op_settle(w, 1, 0))
		return -EAGAIN;
	ent = op_entry(w, 0, 0);
	return op_dontneed(w, 0, 1) ? -EIO : (long)SWAP_TYPE(ent);
}

FIXTURE(areas)
{
	char *cgroup[NR];
	struct worker worker[NR];
	int area[2];
	long type;			/* of the first area */
};

FIXTURE_VARIANT(areas)
{
	enum area_kind kind;		/* of the first area */
};

FIXTURE_VARIANT_ADD(areas, solid_state)
{
	.kind = AREA_SOLID_STATE,
};

FIXTURE_VARIANT_ADD(areas, rotational)
{
	.kind = AREA_ROTATIONAL,
};

FIXTURE_VARIANT_ADD(areas, file)
{
	.kind = AREA_FILE,
};

FIXTURE_SETUP(areas)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (swap_in_use())
		SKIP(return, "other swap is in use");
	self->area[0] = swap_area_add_kind(SLOTS + 1, variant->kind, BELOW);
	if (variant->kind == AREA_FILE && self->area[0] < 0)
		SKIP(return, "no swap file in this directory: %s",
		     strerror(-self->area[0]));
	ASSERT_GE(self->area[0], 0);

	why = workers_setup(self->worker, self->cgroup, NR, NR_PAGES,
			    MADV_NOHUGEPAGE);
	ASSERT_STREQ("", why ?: "");
	/* while it is the only one */
	self->type = worker_call(&self->worker[0], op_probe, 0, 0);
	ASSERT_GE(self->type, 0);
}

FIXTURE_TEARDOWN(areas)
{
	workers_kill(self->worker, NR);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/*
 * Each cgroup pays for what it has swapped out, wherever, and each area has in
 * use what pagemap says is in it, which is returned for the first one.
 */
static long check_exact(struct __test_metadata *_metadata,
			struct _test_data_areas *self)
{
	long sum, first = 0;
	int i;

	EXPECT_STREQ("", memcg_check_workers(self->cgroup, self->worker,
					     NR) ?: "");
	for (i = 0; i < NR; i++)
		first += worker_call(&self->worker[i], op_types, self->type, 0);
	EXPECT_EQ(first, swap_area_used(self->area[0]));
	sum = memcg_swap(memcg_parent());
	if (self->area[1])
		EXPECT_EQ(sum - first, swap_area_used(self->area[1]));
	return first;
}

/* Write all pages anew, which frees their slots, and swap them out. */
static void swap_out(struct __test_metadata *_metadata, struct worker *w,
		     int nr, long gen)
{
	int i;

	for (i = 0; i < nr; i++)
		worker_send(&w[i], op_fill, gen, 0);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	/* or else some slots are kept back, and a full area is not full */
	ASSERT_EQ(0, swap_drain_slot_caches());
	/* nor are pages, in the batch of the CPU that has read them */
	lru_drain();
	for (i = 0; i < nr; i++)
		worker_send(&w[i], op_pageout, 0, NR_PAGES);
	for (i = 0; i < nr; i++)
		ASSERT_LT(0, worker_wait(&w[i]));
	for (i = 0; i < nr; i++)
		ASSERT_EQ(0, worker_call(&w[i], op_settle, NR_PAGES, 0));
}

static void check_pages(struct __test_metadata *_metadata,
			struct _test_data_areas *self)
{
	int i;

	for (i = 0; i < NR; i++)
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 NR_PAGES));
}

static void check_nothing_left(struct __test_metadata *_metadata,
			       struct _test_data_areas *self)
{
	int i;

	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");
	check_pages(_metadata, self);
	for (i = 0; i < NR; i++)
		worker_stop(&self->worker[i]);
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR) ?: "");
}

TEST_F_TIMEOUT(areas, high_priority_first, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long first;
	int i;

	self->area[1] = swap_area_add_kind(4 * NR * NR_PAGES, AREA_SOLID_STATE,
					   BELOW + 1);
	ASSERT_GT(self->area[1], 0);

	swap_out(_metadata, w, NR, 1);
	first = check_exact(_metadata, self);
	/* but for what the other CPUs have taken and not used */
	EXPECT_GE(first, SLOTS - SLOT_CACHE * online_cpus());

	/* one after the other, nothing is kept back: to the last slot */
	for (i = 0; i < NR; i++) {
		swap_out(_metadata, &w[i], 1, 2 + i);
		first = check_exact(_metadata, self);
	}
	ASSERT_EQ(SLOTS, first);

	/* it goes away: its pages are in memory, the others where they were */
	ASSERT_EQ(0, swap_area_off(self->area[0]));
	EXPECT_EQ(0, check_exact(_metadata, self));
	EXPECT_EQ(NR * NR_PAGES - SLOTS, swap_area_used(self->area[1]));
	lru_drain();
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_call(&w[i], op_settle, NR_PAGES, 0));
	EXPECT_EQ(0, check_exact(_metadata, self));

	/* and comes back, as empty as a new one: the other one goes away */
	ASSERT_EQ(0, swap_area_on(self->area[0]));
	EXPECT_EQ(0, check_exact(_metadata, self));
	swap_out(_metadata, w, 1, 8);
	EXPECT_EQ(NR_PAGES, check_exact(_metadata, self));
	ASSERT_EQ(0, swap_area_off(self->area[1]));
	EXPECT_EQ(NR_PAGES, check_exact(_metadata, self));
	check_pages(_metadata, self);
	ASSERT_EQ(0, swap_area_off(self->area[0]));
	check_nothing_left(_metadata, self);
}

TEST_F_TIMEOUT(areas, same_priority_in_turn, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long first, all = NR * NR_PAGES;
	int i;

	self->area[1] = swap_area_add_kind(4 * all, AREA_SOLID_STATE, BELOW);
	ASSERT_GT(self->area[1], 0);

	swap_out(_metadata, w, NR, 1);
	first = check_exact(_metadata, self);
	ksft_print_msg("slots in the first area: %ld of %ld (at least %ld)\n",
		       first, all, all / 4);
	ASSERT_GE(first, all / 4);
	ASSERT_GE(all - first, all / 4);

	/* slots are freed here and there, in both areas */
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_call(&w[i], op_dontneed, 11 * i, 150));
	check_exact(_metadata, self);
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_call(&w[i], op_write_half, i % 2, 2));
	for (i = 0; i < NR; i++)
		ASSERT_LT(0, worker_call(&w[i], op_pageout, 0, NR_PAGES));
	/* it holds what is there, and takes no new pages */
	first = check_exact(_metadata, self);
	ASSERT_GT(first, 0);

	ASSERT_EQ(0, swap_area_off(self->area[1]));
	ASSERT_EQ(first, check_exact(_metadata, self));
	ASSERT_EQ(0, swap_area_off(self->area[0]));
	check_nothing_left(_metadata, self);
}

/* All that is swapped out, in the only area that there is. */
static long swapped(struct _test_data_areas *self)
{
	long n = 0;
	int i;

	for (i = 0; i < NR; i++)
		n += worker_call(&self->worker[i], op_pageout, 0, NR_PAGES);
	return n;
}

TEST_F_TIMEOUT(areas, last_slot, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long page, ent, times = 0;
	int i, from, to;

	for (i = 0; i < NR; i++)
		worker_send(&w[i], op_fill, 1, 0);
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	for (i = 0; i < NR; i++)
		worker_send(&w[i], op_pageout, 0, NR_PAGES);
	for (i = 0; i < NR; i++)
		ASSERT_LE(0, worker_wait(&w[i]));
	ASSERT_TRUE(wait_until(swapped(self) == SLOTS));
	ASSERT_EQ(SLOTS, check_exact(_metadata, self));

	/* the only free slot is given up by one and taken by another one */
	for (i = 0; i < LAST_SLOT; i++) {
		from = i % NR;
		to = (i + 1) % NR;
		for (page = ent = 0; page < NR_PAGES && !ent; page++)
			ent = worker_call(&w[from], op_entry, page, 0);
		if (!ent)
			continue;
		page--;
		ASSERT_EQ(0, worker_call(&w[from], op_dontneed, page, 1));
		ASSERT_EQ(SLOTS - 1, check_exact(_metadata, self));
		/* not the one that was dropped: it is not there any more */
		ASSERT_LE(0, worker_call(&w[to], op_pageout, 0, NR_PAGES));
		if (check_exact(_metadata, self) != SLOTS)
			ASSERT_TRUE(wait_until(swapped(self) == SLOTS));
		ASSERT_EQ(SLOTS, check_exact(_metadata, self));
		times++;
	}
	ksft_print_msg("last slot: changed hands %ld times (at least %d)\n",
		       times, LAST_SLOT / 2);
	ASSERT_GE(times, LAST_SLOT / 2);
	check_pages(_metadata, self);
	ASSERT_EQ(0, swap_area_off(self->area[0]));
	check_nothing_left(_metadata, self);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
