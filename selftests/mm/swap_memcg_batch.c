// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap entries of one process that belong to two cgroups, freed in batches.
 *
 * A process that is moved to another cgroup leaves what it has in memory to
 * the first one, and what it touches from then on belongs to the second. All
 * of it can end up side by side, in the page table and in the swap area. When
 * the process exits, or unmaps it, entries that follow each other are freed
 * in one batch, for which one cgroup is looked up: where a batch goes on
 * beyond the last entry of a cgroup, one cgroup gets back what the other one
 * has paid, and both are wrong for ever, one with swap that nobody has, the
 * other with a counter below zero. A batch that crosses from one cluster of
 * slots into the next is freed in another way, slot by slot, as is one whose
 * slots are no neighbours any more, because some of its pages have been read.
 *
 * Here a process touches blocks of its memory in one cgroup and those between
 * them in the other, and one CPU swaps it out in the order of its addresses.
 * The blocks have a length of one page, of three, of changing odd numbers, or
 * of three large folios; their borders never fall together with those of
 * clusters, nor do those of clusters with those of page tables. That slots of
 * both cgroups are neighbours, and that blocks go across clusters, is read
 * from pagemap just before they are freed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_CGROUPS	2
#define CLUSTER		512		/* slots */
#define NR_PAGES	2048
#define MAX_LENGTHS	5
#define STRETCH		64
/* pages at the start that are swapped out last: see op_out() */
#define SHIFT		(7 * 16)

/* What is swapped out just now, by cgroup, and how it lies. */
static struct layout {
	bool second[NR_PAGES];		/* page is of the second cgroup */
	long keep;			/* pages at a border, see to_read() */
	long own[NR_CGROUPS];
	long mixed;			/* neighbours of different cgroups */
	long across;			/* those of one, in different clusters */
	long border;			/* a page that begins a cluster */
} *layout;

/* Touch the blocks of one cgroup only. */
static long op_touch(struct worker *w, long second, long unused)
{
	long i;

	for (i = 0; i < w->nr; i++)
		if (layout->second[i] == second)
			page_write(w, i, 1);
	return 0;
}

/* Swap all of it out, so that clusters do not begin where page tables do. */
static long op_out(struct worker *w, long unused_a, long unused_b)
{
	long i, n, own = 0;

	for (i = 0; i < w->nr; i++)
		own += !!w->gen[i];
	if (op_pageout(w, SHIFT, w->nr - SHIFT) < 0)
		return -errno;
	/* a page may have been busy: nothing stays behind */
	while ((n = op_pageout(w, 0, w->nr)) >= 0 && n < own)
		usleep(1000);
	return n;
}

static long op_look(struct worker *w, long unused_a, long unused_b)
{
	static __u64 off[NR_PAGES];
	bool same;
	long i;

	if (swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i++) {
		if (!off[i])
			continue;
		layout->own[layout->second[i]]++;
		/* a batch ends with a page table, at the latest */
		if (!(i % CLUSTER) || off[i] != off[i - 1] + 1)
			continue;
		same = layout->second[i] == layout->second[i - 1];
		layout->mixed += !same;
		if (off[i] % CLUSTER)
			continue;
		layout->across += same;
		if (same || !layout->border)
			layout->border = i;
	}
	return 0;
}

static int give_up(struct worker *w, long first, long nr, bool unmap)
{
	if (!unmap)
		return op_dontneed(w, first, nr);
	memset(w->gen + first, 0, nr * sizeof(*w->gen));
	return munmap(w->mem + first * psize(), nr * psize());
}

/* Across a border between clusters, at once. */
static long op_across(struct worker *w, long unmap, long unused)
{
	return give_up(w, layout->border - 3, 5, unmap);
}

/* What begins and ends anywhere, in pieces of odd lengths. */
static long op_pieces(struct worker *w, long unmap, long unused)
{
	long i, nr;

	for (i = 1, nr = 1; i + nr < w->nr; i += 2 * nr, nr = nr % 61 + 2)
		if (give_up(w, i, nr, unmap))
			return -errno;
	return 0;
}

static long op_rest(struct worker *w, long unmap, long unused)
{
	return give_up(w, 0, w->nr, unmap);
}

/*
 * Every other stretch stays as it is, for the batch to have neighbours left,
 * and so do folios at a border that is to be crossed.
 */
static bool to_read(long i)
{
	return i / STRETCH % 2 && labs(i - layout->border) > layout->keep;
}

/* One page of nine, so that what was swapped out whole is so no longer. */
static long op_single(struct worker *w, long unused_a, long unused_b)
{
	long i;

	for (i = 4; i < w->nr; i += 9)
		if (to_read(i) && op_dontneed(w, i, 1))
			return -errno;
	return 0;
}

static long op_read(struct worker *w, long step, long unused)
{
	long i;

	for (i = 0; i < w->nr; i += step)
		if (to_read(i) && !page_check(w, i))
			return -EIO;
	return 0;
}

FIXTURE(batch)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker;
	long blocks;
	long mixed;			/* freed, as in struct layout */
	long across;
	bool expect_across;		/* blocks are longer than a page */
	int area;
};

FIXTURE_VARIANT(batch)
{
	unsigned int kb;		/* of each folio, 0: single pages */
	int folios[MAX_LENGTHS];	/* of each block, and so on */
	int nr;				/* odd: both cgroups have them all */
};

FIXTURE_VARIANT_ADD(batch, blocks_of_1) { .folios = { 1 }, .nr = 1 };
FIXTURE_VARIANT_ADD(batch, blocks_of_3) { .folios = { 3 }, .nr = 1 };
FIXTURE_VARIANT_ADD(batch, odd_blocks) {
	.folios = { 7, 13, 1, 5, 3 },
	.nr = 5,
};

FIXTURE_VARIANT_ADD(batch, folios_16kB) {
	.kb = 16,
	.folios = { 3 },
	.nr = 1,
};

FIXTURE_VARIANT_ADD(batch, folios_64kB) {
	.kb = 64,
	.folios = { 3 },
	.nr = 1,
};

FIXTURE_SETUP(batch)
{
	long i, n = variant->kb ? variant->kb * 1024L / psize() : 1, left;
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (variant->kb && folio_swpout(variant->kb) < 0)
		SKIP(return, "no folios of %u kB", variant->kb);
	folio_only(variant->kb);
	self->area = swap_area_add(2 * NR_PAGES, false);
	ASSERT_GE(self->area, 0);

	layout = shared_alloc(sizeof(*layout));
	ASSERT_NE(NULL, layout);
	layout->keep = 2 * n;
	self->expect_across = variant->nr > 1 || variant->folios[0] > 1;
	for (i = 0; i < NR_PAGES; self->blocks++) {
		left = n * variant->folios[self->blocks % variant->nr];
		for (; left && i < NR_PAGES; left--, i++)
			layout->second[i] = self->blocks % 2;
	}

	for (i = 0; i < NR_CGROUPS; i++) {
		self->cgroup[i] = memcg_add("batch", i);
		ASSERT_NE(NULL, self->cgroup[i]);
	}
	ASSERT_EQ(0, worker_start(&self->worker, self->cgroup[0], 0));
	ASSERT_EQ(0, worker_call(&self->worker, op_map, NR_PAGES,
				 variant->kb ? MADV_HUGEPAGE :
				 MADV_NOHUGEPAGE));
	ASSERT_EQ(0, worker_call(&self->worker, op_touch, 0, 0));
	ASSERT_EQ(0, cg_enter(self->cgroup[1], self->worker.pid));
	ASSERT_EQ(0, worker_call(&self->worker, op_touch, 1, 0));
	ASSERT_EQ(NR_PAGES, worker_call(&self->worker, op_out, 0, 0));
}

FIXTURE_TEARDOWN(batch)
{
	worker_kill(&self->worker);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* Each cgroup pays for what it has, also as the process is in the second. */
static void check_exact(struct __test_metadata *_metadata,
			struct _test_data_batch *self, const char *when)
{
	long ret;
	int i;

	EXPECT_STREQ("", memcg_check_slots(0) ?: "") {
		TH_LOG("%s", when);
	}
	/* nothing, when it has exited */
	memset(layout->own, 0, sizeof(*layout) - offsetof(struct layout, own));
	ret = self->worker.pid ? worker_call(&self->worker, op_look, 0, 0) : 0;
	ASSERT_EQ(0, ret);
	for (i = 0; i < NR_CGROUPS; i++) {
		EXPECT_EQ(layout->own[i],
			  memcg_swap(self->cgroup[i])) {
			TH_LOG("of cgroup %d, %s", i, when);
		}
	}
}

/* Run @fn, which frees some; count neighbours that are so no longer. */
static void free_some(struct __test_metadata *_metadata,
		      struct _test_data_batch *self, worker_fn fn, long unmap,
		      const char *when)
{
	long mixed = layout->mixed, across = layout->across, ret = 0;

	if (fn)
		ret = worker_call(&self->worker, fn, unmap, 0);
	else
		worker_kill(&self->worker);
	ASSERT_EQ(0, ret);
	check_exact(_metadata, self, when);
	self->mixed += mixed - layout->mixed;
	self->across += across - layout->across;
}

static void finish(struct __test_metadata *_metadata,
		   struct _test_data_batch *self, long mixed)
{
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR_CGROUPS) ?: "");
	worker_kill(&self->worker);
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR_CGROUPS) ?: "");

	ksft_print_msg("neighbours of different cgroups freed: %ld (at least %ld)\n",
		       self->mixed, mixed);
	ksft_print_msg("neighbours in different clusters freed: %ld (at least %d)\n",
		       self->across, self->expect_across);
	ASSERT_GE(self->mixed, mixed);
	ASSERT_GE(self->across, self->expect_across);
}

TEST_F_TIMEOUT(batch, exit, TEST_SECONDS)
{
	check_exact(_metadata, self, "swapped out");
	free_some(_metadata, self, NULL, 0, "it has exited");
	finish(_metadata, self, self->blocks / 2);
}

/* What is read comes out of the batch; swapped out again, it lies elsewhere. */
TEST_F_TIMEOUT(batch, exit_after_reading, TEST_SECONDS)
{
	check_exact(_metadata, self, "swapped out");
	ASSERT_EQ(0, worker_call(&self->worker, op_single, 0, 0));
	check_exact(_metadata, self, "single pages unmapped");
	ASSERT_EQ(0, worker_call(&self->worker, op_read, 5, 0));
	check_exact(_metadata, self, "some read");
	ASSERT_LT(0, worker_call(&self->worker, op_out, 0, 0));
	check_exact(_metadata, self, "swapped out again");
	ASSERT_EQ(0, worker_call(&self->worker, op_read, 7, 0));
	check_exact(_metadata, self, "others read");
	free_some(_metadata, self, NULL, 0, "it has exited");
	finish(_metadata, self, self->blocks / 4);
}

static void in_pieces(struct __test_metadata *_metadata,
		      struct _test_data_batch *self, long unmap)
{
	check_exact(_metadata, self, "swapped out");
	ASSERT_LT(3, layout->border);
	free_some(_metadata, self, op_across, unmap, "across clusters");
	/* by one call, and it was one batch */
	ASSERT_EQ(self->expect_across, self->across);
	free_some(_metadata, self, op_pieces, unmap, "in pieces");
	free_some(_metadata, self, op_rest, unmap, "the rest");
	finish(_metadata, self, self->blocks / 2);
}

TEST_F_TIMEOUT(batch, dontneed, TEST_SECONDS)
{
	in_pieces(_metadata, self, false);
}

TEST_F_TIMEOUT(batch, munmap, TEST_SECONDS)
{
	in_pieces(_metadata, self, true);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
